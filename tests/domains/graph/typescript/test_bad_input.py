"""Source that is invalid, very large or very deeply nested is resolved without errors."""

import pytest

from tests.domains.graph.typescript.resolving import resolve


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "}}}}",
        "class",
        "export",
        "import {",
        "function (",
        "const = ",
        "interface X",
        "type T =",
        "enum",
        "export default",
        "import x from",
        "a ? b",
        "if (",
        "switch (x) {",
        "for (",
        "`${",
        "<div",
        "namespace",
        "@",
        "({ get",
        "class A { get",
        "export { a as",
        "declare module",
        "x = ",
        "new",
        "import('",
        "require(",
        "/** @type",
        "const {a, b: } = c",
        "class A extends { }",
        "interface A { [k",
        "type X = { [K in",
        "label:",
        "a?.",
        "try {",
    ],
)
@pytest.mark.parametrize("path", ["a.ts", "a.tsx", "a.js"])
def test_incomplete_source_is_resolved(path: str, text: str) -> None:
    graph = resolve(
        {path: f"export function before() {{}}\n{text}\n", "b.ts": "import { before } from './a'\nbefore()\n"}
    )
    assert "before" in graph.kinds(path)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 10_000 + "]" * 10_000,
        "x = " + "(" * 10_000 + "y" + ")" * 10_000,
        "x = " + "{a:" * 3_000 + "1" + "}" * 3_000,
        "if (" + "(" * 5_000 + "y" + ")" * 5_000 + ") {}",
        "x = " + "!" * 10_000 + "y",
        "{" * 5_000 + "y" + "}" * 5_000,
        "type T = " + "[" * 5_000 + "U" + "]" * 5_000,
        "x = " + " + ".join(["y"] * 10_000),
        "x = " + " && ".join(["y"] * 10_000),
        "x = " + ", ".join(["y"] * 10_000),
        "type T = " + " | ".join(["U"] * 10_000),
        "x = y" + ".z()" * 5_000,
        "x = " + "a => " * 3_000 + "y",
        "if (a) {} else " * 3_000 + "{}",
    ],
    ids=range(14),
)
def test_deeply_nested_source_is_resolved(text: str) -> None:
    graph = resolve({"a.ts": f"const y = 1\ntype U = 1\n{text}\nconst after = 1\n"})
    assert {"y", "U", "after"} <= set(graph.kinds("a.ts"))


def test_deeply_nested_names_are_noted() -> None:
    graph = resolve({"a.ts": "const y = 1\ntype U = 1\nconst z = " + "[" * 1_000 + "y as U" + "]" * 1_000 + "\n"})
    assert graph.references("a.ts#y") == ["a.ts:3"]
    assert graph.references("a.ts#U") == ["a.ts:3"]


def test_a_generated_file_of_many_lines_is_read() -> None:
    text = "\n".join(f"export const value{number} = {{ id: {number} }}" for number in range(5_000))
    graph = resolve({"big.ts": text, "use.ts": "import { value4999 } from './big'\nvalue4999.id\n"})
    assert graph.references("big.ts#value4999.id") == ["use.ts:2"]


def test_mutually_recursive_inferred_functions_are_resolved_in_time() -> None:
    names = [f"f{number}" for number in range(40)]
    calls = " || ".join(f"{name}()" for name in names)
    text = "\n".join(f"function {name}() {{ return {calls} || new A() }}" for name in names)
    graph = resolve({"a.ts": f"class A {{ m() {{}} }}\n{text}\nf0().m()\n"})
    assert "f39" in graph.kinds("a.ts")


def test_variance_annotations_and_bare_call_signatures_are_parsed() -> None:
    graph = resolve(
        {
            "a.ts": (
                "export interface Box<in out T, out U = T> { t: T; u: U }\n"
                "export interface Make {\n  name: string\n  // with a comment\n  <T>(x: T): Box<T>\n"
                "  /** another */\n  (x: string): Box<string>\n}\n"
                "export const after = 1\n"
            ),
            "b.ts": "import { Make } from './a'\ndeclare const m: Make\nm('x').t\nm.name\n",
        }
    )
    assert graph.kinds("a.ts")["after"] == "variable"
    assert graph.references("a.ts#Box.t") == ["b.ts:3"]
    assert graph.references("a.ts#Make.name") == ["b.ts:4"]
