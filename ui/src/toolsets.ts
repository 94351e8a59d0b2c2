// The enabled toolsets; views of other toolsets are hidden.
let on: readonly string[] = [];

/** Set the enabled toolsets, as reported by the server. */
export function setToolsets(names: readonly string[]): void {
  on = names;
}

/** Whether a toolset is enabled; always true for an empty name. */
export const isOn = (toolset: string): boolean => !toolset || on.includes(toolset);
