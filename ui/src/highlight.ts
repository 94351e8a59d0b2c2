// The highlighter and its languages: most of the bundle, so it is loaded when the first code is shown or nothing else is to be done.
import { common, createLowlight } from "lowlight";

export const lowlight = createLowlight(common);
