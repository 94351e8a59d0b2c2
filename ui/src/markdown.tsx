// Renders Markdown as elements, never as HTML: tags stay text, only web links work, images are shown by name.
import type { ComponentChildren, VNode } from "preact";
import { Code } from "./code";
import { shown, WebLink } from "./text";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
// Adjacent repeats must not match the same text, and the last one must match anything (`s`); otherwise almost matching lines backtrack without end.
const HEADING = /^(#{1,6})\s+(.*)$/s;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/s;
const DIVIDER = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const TABLE_LINE = /^\s*(?:\|\s*)?:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*(?:\|\s*)?$/;
const ESCAPED = /^\\[!-/:-@[-`{-~]/; // a backslash before punctuation
const EVERY_ESCAPED = /\\([!-/:-@[-`{-~])/g;
const MAX_TARGET_CHARACTERS = 3_000;
const MAX_LINE_CHARACTERS = 20_000;
const MAX_RULE_CHARACTERS = 1_000;
const MAX_QUOTE_DEPTH = 8;

/** Render a document. */
export function Markdown({ text }: { text: string }): VNode {
  return <div class="prose">{blocks(text.split(/\r?\n/))}</div>;
}

function blocks(lines: string[], depth = 0): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    const fence = FENCE.exec(line);
    if (!line.trim()) at += 1;
    else if (fence) {
      const end = closing(lines, at + 1, fence[1]!);
      found.push(<Code text={lines.slice(at + 1, end).join("\n")} language={fence[2]!} />);
      at = end + 1;
    } else if (DIVIDER.test(line)) {
      found.push(<hr />);
      at += 1;
    } else if (HEADING.test(line)) {
      const [, marks, words] = HEADING.exec(line)!;
      found.push(<div class={`heading h${marks!.length}`} role="heading" aria-level={Math.min(6, marks!.length + 2)}>{inline(words!)}</div>);
      at += 1;
    } else if (line.startsWith(">") && depth < MAX_QUOTE_DEPTH) {
      const end = run(lines, at, (each) => each.startsWith(">"));
      found.push(<blockquote>{blocks(lines.slice(at, end).map((each) => each.replace(/^> ?/, "")), depth + 1)}</blockquote>);
      at = end;
    } else if (ITEM.test(line)) {
      const end = run(lines, at, (each) => ITEM.test(each) || /^\s{2,}\S/.test(each));
      found.push(list(lines.slice(at, end)));
      at = end;
    } else if (isTableStart(lines, at)) {
      const end = run(lines, at + 2, (each) => each.includes("|"));
      found.push(table([line, ...lines.slice(at + 2, end)]));
      at = end;
    } else {
      let end = at + 1;
      while (end < lines.length && !isBlockStart(lines, end)) end += 1;
      found.push(<p>{inline(lines.slice(at, end).join("\n"))}</p>);
      at = end;
    }
  }
  return found;
}

function isTableStart(lines: string[], at: number): boolean {
  return lines[at]!.includes("|") && TABLE_LINE.test((lines[at + 1] ?? "").slice(0, MAX_RULE_CHARACTERS));
}

function isBlockStart(lines: string[], at: number): boolean {
  const line = lines[at]!;
  return !line.trim() || FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || isTableStart(lines, at);
}

function closing(lines: string[], from: number, fence: string): number {
  let at = from;
  while (at < lines.length && !lines[at]!.trimStart().startsWith(fence)) at += 1;
  return at;
}

function run(lines: string[], from: number, belongs: (line: string) => boolean): number {
  let at = from;
  while (at < lines.length && belongs(lines[at]!)) at += 1;
  return Math.max(at, from);
}

function list(lines: string[]): VNode {
  const items: { indent: number; words: string }[] = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    const last = items.at(-1);
    if (item) items.push({ indent: Math.min(4, Math.floor(item[1]!.length / 2)), words: item[3]! });
    else if (last) last.words += `\n${line.trim()}`;
  }
  const numbered = /^\s*\d/.test(lines[0]!);
  const inside = items.map((item) => <li class={`indent-${item.indent}`}>{inline(item.words)}</li>);
  return numbered ? <ol>{inside}</ol> : <ul>{inside}</ul>;
}

function table(lines: string[]): VNode {
  const [head, ...body] = lines.map(cells);
  const fitted = body.map((row) => head!.map((_, index) => row[index] ?? "")); // as many cells as the header
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="table">
      <table>
        <thead><tr>{head!.map((cell) => <th>{inline(cell)}</th>)}</tr></thead>
        <tbody>{fitted.map((row) => <tr>{row.map((cell) => <td>{inline(cell)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

/** Split a row at its bars, except bars after a backslash, which are text even in code. */
function cells(line: string): string[] {
  const row = line.trim();
  const found: string[] = [];
  let start = row.startsWith("|") ? 1 : 0;
  for (let at = start; at < row.length; at += 1) {
    if (row[at] === "\\") at += 1;
    else if (row[at] === "|") {
      found.push(row.slice(start, at));
      start = at + 1;
    }
  }
  if (start < row.length) found.push(row.slice(start));
  return found.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Render code, emphasis and links of a line; unclosed marks are text. */
function inline(text: string): ComponentChildren[] {
  if (text.length > MAX_LINE_CHARACTERS) return [shown(text)];
  const found: ComponentChildren[] = [];
  let plain = "";
  let at = 0;
  const put = (part: ComponentChildren, next: number) => {
    if (plain) found.push(shown(plain));
    plain = "";
    found.push(part);
    at = next;
  };
  while (at < text.length) {
    const rest = text.slice(at, at + 2);
    const span = spanAt(text, at, rest);
    if (span) put(span.part, span.end);
    else if (ESCAPED.test(rest)) {
      plain += rest[1];
      at += 2;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  if (plain) found.push(shown(plain));
  return found;
}

interface Span {
  part: ComponentChildren;
  end: number;
}

function spanAt(text: string, at: number, two: string): Span | undefined {
  const one = two[0];
  if (one === "`") {
    let marks = 1;
    while (text[at + marks] === "`") marks += 1;
    const end = text.indexOf("`".repeat(marks), at + marks);
    if (end < 0) return { part: "`".repeat(marks), end: at + marks }; // not closed
    return { part: <code>{shown(text.slice(at + marks, end))}</code>, end: end + marks };
  }
  if (two === "**" || two === "__") {
    let end = text.indexOf(two, at + 2);
    while (end > 0 && text[end - 1] === "\\") end = text.indexOf(two, end + 1);
    return end <= at + 2 ? undefined : { part: <strong>{inline(text.slice(at + 2, end))}</strong>, end: end + 2 };
  }
  if (one === "[" || two === "![") return linkAt(text, at, two === "![");
  return undefined;
}

function linkAt(text: string, at: number, isImage: boolean): Span | undefined {
  const open = at + (isImage ? 2 : 1);
  const close = text.indexOf("](", open);
  const end = close < 0 || close - open > 500 ? -1 : closingBracket(text, close + 2);
  if (end < 0) return undefined;
  const label = unescaped(text.slice(open, close));
  const target = unescaped(text.slice(close + 2, end).trim().split(/\s/)[0] ?? "");
  // Remote images are not loaded, because that would reveal the reader to their server.
  const part = isImage ? <em class="picture">[{shown(label || "picture")}]</em> : <WebLink to={target}>{shown(label)}</WebLink>;
  return { part, end: end + 1 };
}

/** Return the index of the bracket that closes a link target; inner brackets are balanced. */
function closingBracket(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < Math.min(text.length, from + MAX_TARGET_CHARACTERS); at += 1) {
    const letter = text[at];
    if (letter === "\\") at += 1;
    else if (letter === "(") depth += 1;
    else if (letter === ")" && (depth -= 1) === 0) return at;
  }
  return -1;
}

const unescaped = (text: string): string => text.replace(EVERY_ESCAPED, "$1");
