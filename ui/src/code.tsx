// Code with syntax highlighting: the highlighter's token tree is rendered as elements, never as HTML.
import type { Element, RootContent } from "hast";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { lowlight } from "./highlight";
import { CopyButton } from "./parts";
import { shown } from "./text";

let highlighter: typeof lowlight | undefined;

/** Load the highlighter. */
export async function loadHighlighter(): Promise<void> {
  highlighter = (await import("./highlight")).lowlight;
}

const MAX_COLOURED_CHARACTERS = 60_000; // longer code is shown without colours, to keep the page responsive
const BY_EXTENSION: Record<string, string> = {
  py: "python", pyi: "python", ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", jsx: "javascript",
  mjs: "javascript", cjs: "javascript", rs: "rust", go: "go", java: "java", kt: "kotlin", cs: "csharp", rb: "ruby", php: "php",
  c: "c", h: "c", cc: "cpp", cpp: "cpp", hpp: "cpp", sh: "bash", bash: "bash", zsh: "bash", json: "json", yml: "yaml",
  yaml: "yaml", toml: "ini", ini: "ini", md: "markdown", html: "xml", xml: "xml", svg: "xml", css: "css", scss: "scss",
  sql: "sql", swift: "swift", lua: "lua", pl: "perl", r: "r", diff: "diff", patch: "diff", graphql: "graphql", mk: "makefile",
};

/** Return the highlighter's name for the language of a file; empty if it has none. */
export function languageOf(path: string): string {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  if (name === "makefile") return "makefile";
  return BY_EXTENSION[name.split(".").at(-1) ?? ""] ?? "";
}

/** A block of code. With `firstLine`, lines are numbered, and the numbers are links that `link` returns. */
export function Code(props: { text: string; language: string; firstLine?: number; link?: (line: number) => string | undefined }): VNode {
  const { text, firstLine, link } = props;
  const language = BY_EXTENSION[props.language] ?? props.language;
  const isPlain = !language || text.length > MAX_COLOURED_CHARACTERS;
  const [isReady, setReady] = useState(highlighter !== undefined);
  useEffect(() => { if (!isPlain && !isReady) void loadHighlighter().then(() => setReady(true)); }, [isPlain, isReady]);
  const lines = useMemo(() => colouredLines(text, isPlain ? "" : language), [text, language, isReady]);
  if (!isPlain && !isReady) return <pre class="code" tabIndex={0} aria-busy="true"><code>{shown(text)}</code></pre>;
  if (!firstLine) {
    return <div class="code-box"><pre class="code" tabIndex={0}><code>{lines.map((line, index) => <>{index ? "\n" : ""}{line}</>)}</code></pre><CopyButton text={text} /></div>;
  }
  return (
    <pre class="code numbered" tabIndex={0}>
      <code>
        {lines.map((line, index) => {
          const number = firstLine + index;
          const href = link?.(number);
          return (
            <span class="line">
              {href ? <a class="number" href={href} tabIndex={-1} title="open in the editor">{number}</a> : <span class="number">{number}</span>}
              <span class="text">{line}{"\n"}</span>
            </span>
          );
        })}
      </code>
    </pre>
  );
}

function colouredLines(text: string, language: string): ComponentChildren[][] {
  if (!language || !highlighter?.registered(language)) return text.split("\n").map((line) => [shown(line)]);
  const lines: ComponentChildren[][] = [[]];
  const walk = (nodes: RootContent[], classes: string) => {
    for (const node of nodes) {
      if (node.type === "text") {
        node.value.split("\n").forEach((part, index) => {
          if (index) lines.push([]);
          if (part) lines.at(-1)!.push(classes ? <span class={classes}>{shown(part)}</span> : shown(part));
        });
      } else if (node.type === "element") walk(node.children as RootContent[], classesOf(node) || classes);
    }
  };
  walk(highlighter.highlight(language, text).children, "");
  return lines;
}

function classesOf(node: Element): string {
  const names = node.properties["className"];
  return Array.isArray(names) ? names.join(" ") : "";
}
