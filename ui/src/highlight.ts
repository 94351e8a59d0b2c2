// The highlighter and its languages. It is most of the bundle, so it is loaded with the first code or when the page is idle.
import { common, createLowlight } from "lowlight";

export const lowlight = createLowlight(common);
