// Parts of the front end that need no browser, built as the page is; what is wrong ends this with an error.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , ui, folder] = process.argv;
const { build } = await import(pathToFileURL(join(ui, "node_modules/esbuild/lib/main.js")).href);
const out = await mkdtemp(join(folder, "front-end-"));
await build({
  absWorkingDir: ui,
  stdin: {
    contents: ["markdown", "text", "spot", "layout", "layouts"].map((name) => `export * from "./src/${name}";`).join("\n"),
    resolveDir: ui,
  },
  outfile: join(out, "built.mjs"),
  bundle: true,
  format: "esm",
  platform: "node",
  jsx: "automatic",
  jsxImportSource: "preact",
});
const { Markdown, shown, visible, codeId, clusteredLayout, Layouts } = await import(pathToFileURL(join(out, "built.mjs")).href);
await rm(out, { recursive: true });

/** All text in elements, components left alone. */
function textOf(node) {
  if (node === null || node === undefined || typeof node === "boolean") return "";
  if (typeof node !== "object") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  return textOf(node.props.children);
}

/** The names of elements inside a document. */
function elements(text) {
  const found = [];
  const walk = (node) => {
    if (Array.isArray(node)) node.forEach(walk);
    else if (node && typeof node === "object") {
      if (typeof node.type === "string") found.push(node.props.role === "heading" ? "heading" : node.type);
      walk(node.props.children);
    }
  };
  walk(Markdown({ text }).props.children);
  return found;
}

// Lines that nearly are something else are read in linear time: each of these would take hours.
const MANY = 400_000;
const spaces = " ".repeat(MANY);
for (const line of [`#${spaces}a\u2028b`, `-${spaces}a\u2028b`, `1.${spaces}a\rb`, `-${spaces}-${spaces}x`, `a${"`".repeat(19_999)}`]) {
  assert.ok(textOf(Markdown({ text: line })).length > 2);
}
const rows = `|${" ".repeat(999)}\n`.repeat(3_000);
assert.ok(textOf(Markdown({ text: rows })).length > 2);
assert.deepEqual(elements("# a\r\n- b\r\n- c\r\n"), ["heading", "ul", "li", "li"]);
assert.deepEqual(elements("| a | b |\n|---|:--:|\n| c | d |"), ["div", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]);
assert.deepEqual(elements("a `b` c ``d"), ["p", "code"]);
assert.equal(textOf(Markdown({ text: "a `b` c ``d" })), "a b c ``d");

// Escapes are text, cells end at bars that are none, and every row has as many cells as the header.
const rowsOf = (text) => {
  const found = [];
  const walk = (node) => {
    if (Array.isArray(node)) node.forEach(walk);
    else if (node && typeof node === "object") {
      if (node.type === "tr") found.push([node.props.children].flat().map(textOf));
      else walk(node.props.children);
    }
  };
  walk(Markdown({ text }).props.children);
  return found;
};
assert.deepEqual(rowsOf("| a | b \\| c |\n|---|---|\n| `x \\| y` | d | e |\n| f |\n| \\\\| g |"), [["a", "b | c"], ["x | y", "d"], ["f", ""], ["\\", "g"]]);
assert.equal(textOf(Markdown({ text: "\\*not\\* \\[a\\](b) C:\\dir `\\*` **a \\** b**" })), "*not* [a](b) C:\\dir \\* a ** b");
assert.equal(textOf(Markdown({ text: "[bad](javascript:alert(1)) [a\\_b](https://e.org/x_(y)) [c](d(e" })), "bad a_b [c](d(e");
assert.ok(textOf(Markdown({ text: "[](((".repeat(4_000) })).length > 2);
assert.ok(textOf(Markdown({ text: "**\\".repeat(6_000) })).length > 2);

// What takes no room is shown, wherever it stands.
for (const code of [0x00ad, 0x034f, 0x115f, 0x1160, 0x200b, 0x202e, 0x2060, 0x206a, 0x206f, 0x3164, 0xfe00, 0xfe0e, 0xfeff, 0xffa0, 0xe0001, 0xe0041, 0xe01ef]) {
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const text = `a${String.fromCodePoint(code)}b`;
  assert.equal(textOf(shown(text)), `a${name}b`);
  assert.equal(visible(text), `a[${name}]b`);
}
for (const plain of ["a b\tc\nd", "Größe", "日本語", "❤\ufe0f", "e\u0301"]) {
  assert.equal(shown(plain), plain);
  assert.equal(visible(plain), plain);
}

// Nodes of a graph lead to ids that the server reads.
const file = { id: "src/c#/a.py", path: "src/c#/a.py", line: 1 };
const symbol = { id: "src/a.py#Listener.hear", path: "src/a.py", line: 12 };
assert.equal(codeId(file, ""), "code:src/c#/a.py:1-41");
assert.equal(codeId(symbol, ""), "code:src/a.py#Listener.hear");
assert.equal(codeId(symbol, "github.com/a/b"), "code:github.com/a/b!src/a.py#Listener.hear");

// Layouts that are asked for at once go to who asked, in whatever order they come.
const { port1, port2 } = new MessageChannel();
const waiting = [];
port2.onmessage = ({ data }) => {
  waiting.unshift({ number: data.number, positions: clusteredLayout(data) });
  if (waiting.length === 2) waiting.forEach((each) => port2.postMessage(each));
};
const layouts = new Layouts(port1);
const small = { groups: ["a"], edges: new Int32Array() };
const large = { groups: ["a", "a", "b"], edges: Int32Array.of(0, 1) };
const found = await Promise.all([layouts.ask(small), layouts.ask(large)]);
assert.deepEqual(found.map((each) => each.length), [2, 6]);
const failed = layouts.ask(small);
layouts.fail("gone");
await assert.rejects(failed, /gone/);
port1.close();
