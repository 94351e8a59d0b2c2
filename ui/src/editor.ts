// Links that open a file in the editor, built from a template with {path} and {line}.
const TEMPLATES: Record<string, string> = {
  "VS Code": "vscode://file/{path}:{line}",
  Cursor: "cursor://file/{path}:{line}",
  Zed: "zed://file/{path}:{line}",
  IntelliJ: "idea://open?file={path}&line={line}",
};
const KEY = "deltos-editor";
// Templates must begin with an editor's own scheme, never with a script or data scheme.
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const REFUSED = /^(javascript|data|vbscript|blob|file|https?):/i;

export const editors = Object.keys(TEMPLATES);

/** Return the template in use. */
export function editorTemplate(): string {
  const kept = localStorage.getItem(KEY) ?? "";
  return isTemplate(kept) ? kept : TEMPLATES["VS Code"]!;
}

/** Return the template of a known editor. */
export const templateOf = (name: string): string => TEMPLATES[name] ?? "";

/** Whether `text` is a valid template. */
export function isTemplate(text: string): boolean {
  return SCHEME.test(text) && !REFUSED.test(text) && text.includes("{path}");
}

/** Save the template `text`; return false if it is not valid. */
export function setEditorTemplate(text: string): boolean {
  if (!isTemplate(text)) return false;
  localStorage.setItem(KEY, text);
  return true;
}

/** Return the link to a line of a file, or undefined if its absolute path is unknown. */
export function editorLink(file: string, line: number): string | undefined {
  if (!file) return undefined;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return editorTemplate().replace("{path}", path).replace("file//", "file/").replace("{line}", `${Math.max(1, line)}`);
}
