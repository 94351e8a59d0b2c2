// Which toolsets are on: what belongs to another is not offered.
let on: readonly string[] = [];

/** Learn them, once the server has said. */
export function setToolsets(names: readonly string[]): void {
  on = names;
}

/** Whether a toolset is on; what belongs to none always is. */
export const isOn = (toolset: string): boolean => !toolset || on.includes(toolset);
