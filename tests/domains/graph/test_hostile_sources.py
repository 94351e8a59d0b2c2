"""Source that was written to make its reader slow, deep or raise: every file gives its facts, soon."""

from __future__ import annotations

from tests.attacked import unread
from tests.attacks import Attacked, run_target

N = 10_000


def test_comments_cannot_stop_the_reader_of_javascript() -> None:
    texts = {
        "an import tag without an end": "/** @import" + "\n" * 2_000 + "*/\nlet x;",
        "import tags": "/** " + "@import a " * N + "*/\nlet x;",
        "import tags and one quote": "/** " + "@importa " * N + " " * N + "from 'x' */\nlet x;",
        "comments that are never closed": "/** " * N,
        "newlines in a comment": "/*" + "\n" * N + "*/\nfunction f() {}",
        "stars in a comment": "/**" + "\n *" * N + "*/\nfunction f() {}",
        "a tag after newlines": "/** @see" + "\n" * N + "*/\nlet x;",
        "braces that are never closed": "/** " + "@typedef {" * N + " */\nlet x;",
        "types inside types": "/** " + "@type {" * N + "}" * N + " */\nlet x;",
        "typedefs with properties": "/** " + "@typedef {Object} A\n@property {B} c\n" * N + "*/\nlet x;",
        "tags without braces": "/** " + "@extends a " * N + "*/\nlet x;",
        "three dots": "/** @type {" + "..." * N + "a} */\nlet x;",
        "dotted names": "let a;/** {@link a" + ".b" * N + "} @type {a" + ".b" * N + "} */\nlet x;",
        "parentheses": "/** @type {" + "(a:" * N + ")" * N + "} */\nlet x;",
        "one comment over many variables": "/** @type {a} " + "b\n" * N + "*/\nvar c = 1" + ", d = 2" * N + ";",
    }
    assert unread({name: ("a.js", text) for name, text in texts.items()}) == {}


def test_comments_cannot_stop_the_reader_of_typescript() -> None:
    texts = {
        "newlines in a comment": "/*" + "\n" * N + "*/\nfunction f() {}\ninterface A<in T> {",
        "comments that are never closed, one on each line": "f(;\n" + "/*\n" * 10_000,
        "newlines before a broken line": "<" + "\n" * N + "in T {",
        "blanks": "interface A<\nin" + " " * N + "T {",
        "parentheses on lines": "interface A {" + "\n  (a" * N + "{",
        "comments before a signature": "interface A {\n" + "  // c\n" * N + "  (a: b): c\n",
    }
    assert unread({name: ("a.ts", text) for name, text in texts.items()}) == {}


def test_what_is_known_of_a_value_stays_small_however_often_it_is_said() -> None:
    texts = {
        "a chain of callbacks": "p" + ".then(x => x)" * 2_000 + ";",
        "callbacks as arguments": "f(" + "a => a, " * N + "b);",
        "guards one after the other": "function f(a) {\n" + "if (!a.f(a)) return;\n" * N + "}",
        "guards in one condition": "x = " + "a.f(a) && " * N + "b;",
        "guards within guards": "x = " + "a.f(a) ? " * 500 + "b" + " : a" * 500 + ";",
        "defaults within defaults": "const " + "{a: " * 500 + "b" + " = x => x}" * 500 + " = z;",
        "many values": "function f() {\n" + "".join(f"if (!(a{i} instanceof B)) return;\n" for i in range(N)) + "}",
        "objects as arguments": "f(" + "{}, " * N + "b);",
    }
    typed = {
        "constraints": "type A<T0" + "".join(f", T{i + 1} extends [T{i}, T{i}]" for i in range(200)) + "> = c;",
        "mapped types": "type A = " + "{[K in K | K]: " * 500 + "b" + "}" * 500 + ";",
    }
    files = {name: ("a.js", text) for name, text in texts.items()}
    assert unread(files | {name: ("a.ts", text) for name, text in typed.items()}) == {}


def test_many_of_a_kind_in_typescript_are_read_in_time() -> None:
    texts = {
        "functions of one name": "function f() {}\n" * N,
        "overloads": "function f(a: b): c;\n" * N,
        "methods of one name": "class A {\n" + "f() {}\n" * N + "}",
        "signatures of one name": "interface A {\n" + "f(a: b): c;\n" * N + "}",
        "namespaces": "".join(f"namespace A {{ export const b{i} = 1; }}\n" for i in range(N)),
        "ambient modules": "".join(f"declare module 'a{i}' {{ const b: c; }}\n" for i in range(N)),
        "variables in blocks": "function f() {\n" + "".join(f"{{ var a{i}; }}\n" for i in range(N)) + "}",
        "a namespace of many parts": "namespace A" + ".B" * N + " {}",
        "dotted types": "type A = B" + ".C" * N + ";",
        "patterns within patterns": "const " + "{a: " * N + "b" + "}" * N + " = x;",
    }
    assert unread({name: ("a.ts", text) for name, text in texts.items()}) == {}


def test_python_is_read_whatever_it_repeats_or_nests() -> None:
    texts = {
        "a line continuation between context managers": "with m, \\\n        n as o:\n    o.p()\n",
        "continuations": "with m" + ", \\\n m" * 1_000 + ": pass\n",
        "a stray character between context managers": "with m, $: pass\n",
        "unary operators": "x = " + "-" * N + "c\n",
        "comparisons": "x = a" + " < a" * N + "\n",
        "context managers": "with " + "a as b, " * N + "c: pass\n",
        "nested strings": "x = " + "f'{" * N + "a" + "}'" * N + "\n",
        "comments in a parameter": "def f(a" + " #\n" * N + ": int = 1): pass\n",
    }
    assert unread({name: ("a.py", text) for name, text in texts.items()}) == {}


def test_brackets_that_never_close_are_read_in_time() -> None:
    paths = "a.py a.ts a.java a.go a.rs a.c a.rb a.php".split()
    assert unread({path: (path, "(\n" * 5 * N) for path in paths}) == {}


def test_long_words_and_lines_cannot_stop_the_outline() -> None:
    texts = {
        "blank lines in a header": ("a.h", "\n" * 8_000),
        "classes after macros": ("a.cpp", "class AAAA B<\n" * N),
        "macros before a class": ("a.cpp", "class " + "AAAA " * N + "B {};"),
        "tags in a heading": ("a.md", "# " + "<a" * N + "\n"),
        "links in a heading": ("a.md", "# " + "[a](" * N + "\n"),
        "angles in a name": ("a.cpp", "void " + "A<" * N + "::f() {}"),
        "a long type": ("a.rs", "impl " + "a" * 200_000 + " { fn f() {} }"),
        "attributes": ("a.cs", "[" * N + "class A {}"),
        "definitions on one line": ("a.js", "function f() {} " * N),
        "annotations": ("a.java", "@A(" * N + "class B {}"),
        "calls of calls": ("a.rb", "go.mod" * 30_000),
    }
    assert unread(texts) == {}


def test_a_name_imported_without_number_is_resolved_in_time(attacked: Attacked) -> None:
    attacked.survives(run_target, "graph-csharp", b"using A;\n" * 30_000)
