// Links that open a file in the editor, by a template with {path} and {line}.
const TEMPLATES: Record<string, string> = {
  "VS Code": "vscode://file/{path}:{line}",
  Cursor: "cursor://file/{path}:{line}",
  Zed: "zed://file/{path}:{line}",
  IntelliJ: "idea://open?file={path}&line={line}",
};
const KEY = "deltos-editor";
// What a template may begin with: an editor's own scheme, never script or data.
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const REFUSED = /^(javascript|data|vbscript|blob|file|https?):/i;

export const editors = Object.keys(TEMPLATES);

/** The template in use. */
export function editorTemplate(): string {
  const kept = localStorage.getItem(KEY) ?? "";
  return isTemplate(kept) ? kept : TEMPLATES["VS Code"]!;
}

/** The template of a known editor. */
export const templateOf = (name: string): string => TEMPLATES[name] ?? "";

/** Whether a template leads to an editor. */
export function isTemplate(text: string): boolean {
  return SCHEME.test(text) && !REFUSED.test(text) && text.includes("{path}");
}

/** Use another template from now on; whether it is one. */
export function setEditorTemplate(text: string): boolean {
  if (!isTemplate(text)) return false;
  localStorage.setItem(KEY, text);
  return true;
}

/** The link to a line of a file; none where its place on this machine is not known. */
export function editorLink(file: string, line: number): string | undefined {
  if (!file) return undefined;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return editorTemplate().replace("{path}", path).replace("file//", "file/").replace("{line}", `${Math.max(1, line)}`);
}
