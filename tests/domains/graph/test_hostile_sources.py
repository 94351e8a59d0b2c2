"""Sources written to make parsers slow, deep or fail: facts of every file are extracted in time."""

from __future__ import annotations

from tests.attacked import find_failing_files
from tests.attacks import LimitedProcess, run_target

REPETITIONS = 10_000


def test_javascript_comments_cannot_slow_down_reading() -> None:
    texts = {
        "an import tag without an end": "/** @import" + "\n" * 2_000 + "*/\nlet x;",
        "import tags": "/** " + "@import a " * REPETITIONS + "*/\nlet x;",
        "import tags and one quote": "/** " + "@importa " * REPETITIONS + " " * REPETITIONS + "from 'x' */\nlet x;",
        "comments that are never closed": "/** " * REPETITIONS,
        "newlines in a comment": "/*" + "\n" * REPETITIONS + "*/\nfunction f() {}",
        "stars in a comment": "/**" + "\n *" * REPETITIONS + "*/\nfunction f() {}",
        "a tag after newlines": "/** @see" + "\n" * REPETITIONS + "*/\nlet x;",
        "braces that are never closed": "/** " + "@typedef {" * REPETITIONS + " */\nlet x;",
        "types inside types": "/** " + "@type {" * REPETITIONS + "}" * REPETITIONS + " */\nlet x;",
        "typedefs with properties": "/** " + "@typedef {Object} A\n@property {B} c\n" * REPETITIONS + "*/\nlet x;",
        "tags without braces": "/** " + "@extends a " * REPETITIONS + "*/\nlet x;",
        "three dots": "/** @type {" + "..." * REPETITIONS + "a} */\nlet x;",
        "dotted names": "let a;/** {@link a" + ".b" * REPETITIONS + "} @type {a" + ".b" * REPETITIONS + "} */\nlet x;",
        "parentheses": "/** @type {" + "(a:" * REPETITIONS + ")" * REPETITIONS + "} */\nlet x;",
        "one comment over many variables": "/** @type {a} "
        + "b\n" * REPETITIONS
        + "*/\nvar c = 1"
        + ", d = 2" * REPETITIONS
        + ";",
    }
    assert find_failing_files({name: ("a.js", text) for name, text in texts.items()}) == {}


def test_typescript_comments_cannot_slow_down_reading() -> None:
    texts = {
        "newlines in a comment": "/*" + "\n" * REPETITIONS + "*/\nfunction f() {}\ninterface A<in T> {",
        "comments that are never closed, one on each line": "f(;\n" + "/*\n" * 10_000,
        "newlines before a broken line": "<" + "\n" * REPETITIONS + "in T {",
        "blanks": "interface A<\nin" + " " * REPETITIONS + "T {",
        "parentheses on lines": "interface A {" + "\n  (a" * REPETITIONS + "{",
        "comments before a signature": "interface A {\n" + "  // c\n" * REPETITIONS + "  (a: b): c\n",
    }
    assert find_failing_files({name: ("a.ts", text) for name, text in texts.items()}) == {}


def test_facts_about_a_value_stay_small_when_they_are_repeated() -> None:
    texts = {
        "a chain of callbacks": "p" + ".then(x => x)" * 2_000 + ";",
        "callbacks as arguments": "f(" + "a => a, " * REPETITIONS + "b);",
        "consecutive guards": "function f(a) {\n" + "if (!a.f(a)) return;\n" * REPETITIONS + "}",
        "guards in one condition": "x = " + "a.f(a) && " * REPETITIONS + "b;",
        "guards within guards": "x = " + "a.f(a) ? " * 500 + "b" + " : a" * 500 + ";",
        "defaults within defaults": "const " + "{a: " * 500 + "b" + " = x => x}" * 500 + " = z;",
        "many values": "function f() {\n"
        + "".join(f"if (!(a{i} instanceof B)) return;\n" for i in range(REPETITIONS))
        + "}",
        "objects as arguments": "f(" + "{}, " * REPETITIONS + "b);",
    }
    typed = {
        "constraints": "type A<T0" + "".join(f", T{i + 1} extends [T{i}, T{i}]" for i in range(200)) + "> = c;",
        "mapped types": "type A = " + "{[K in K | K]: " * 500 + "b" + "}" * 500 + ";",
    }
    files = {name: ("a.js", text) for name, text in texts.items()}
    assert find_failing_files(files | {name: ("a.ts", text) for name, text in typed.items()}) == {}


def test_many_typescript_definitions_of_one_kind_are_read_in_time() -> None:
    texts = {
        "functions of one name": "function f() {}\n" * REPETITIONS,
        "overloads": "function f(a: b): c;\n" * REPETITIONS,
        "methods of one name": "class A {\n" + "f() {}\n" * REPETITIONS + "}",
        "signatures of one name": "interface A {\n" + "f(a: b): c;\n" * REPETITIONS + "}",
        "namespaces": "".join(f"namespace A {{ export const b{i} = 1; }}\n" for i in range(REPETITIONS)),
        "ambient modules": "".join(f"declare module 'a{i}' {{ const b: c; }}\n" for i in range(REPETITIONS)),
        "variables in blocks": "function f() {\n" + "".join(f"{{ var a{i}; }}\n" for i in range(REPETITIONS)) + "}",
        "a namespace of many parts": "namespace A" + ".B" * REPETITIONS + " {}",
        "dotted types": "type A = B" + ".C" * REPETITIONS + ";",
        "patterns within patterns": "const " + "{a: " * REPETITIONS + "b" + "}" * REPETITIONS + " = x;",
    }
    assert find_failing_files({name: ("a.ts", text) for name, text in texts.items()}) == {}


def test_repeated_and_nested_python_is_read() -> None:
    texts = {
        "a line continuation between context managers": "with m, \\\n        n as o:\n    o.p()\n",
        "continuations": "with m" + ", \\\n m" * 1_000 + ": pass\n",
        "a stray character between context managers": "with m, $: pass\n",
        "unary operators": "x = " + "-" * REPETITIONS + "c\n",
        "comparisons": "x = a" + " < a" * REPETITIONS + "\n",
        "context managers": "with " + "a as b, " * REPETITIONS + "c: pass\n",
        "nested strings": "x = " + "f'{" * REPETITIONS + "a" + "}'" * REPETITIONS + "\n",
        "comments in a parameter": "def f(a" + " #\n" * REPETITIONS + ": int = 1): pass\n",
    }
    assert find_failing_files({name: ("a.py", text) for name, text in texts.items()}) == {}


def test_unclosed_brackets_are_read_in_time() -> None:
    paths = "a.py a.ts a.java a.go a.rs a.c a.rb a.php".split()
    assert find_failing_files({path: (path, "(\n" * 5 * REPETITIONS) for path in paths}) == {}


def test_long_words_and_lines_cannot_slow_down_the_outline() -> None:
    texts = {
        "blank lines in a header": ("a.h", "\n" * 8_000),
        "classes after macros": ("a.cpp", "class AAAA B<\n" * REPETITIONS),
        "macros before a class": ("a.cpp", "class " + "AAAA " * REPETITIONS + "B {};"),
        "tags in a heading": ("a.md", "# " + "<a" * REPETITIONS + "\n"),
        "links in a heading": ("a.md", "# " + "[a](" * REPETITIONS + "\n"),
        "angles in a name": ("a.cpp", "void " + "A<" * REPETITIONS + "::f() {}"),
        "a long type": ("a.rs", "impl " + "a" * 200_000 + " { fn f() {} }"),
        "attributes": ("a.cs", "[" * REPETITIONS + "class A {}"),
        "definitions on one line": ("a.js", "function f() {} " * REPETITIONS),
        "annotations": ("a.java", "@A(" * REPETITIONS + "class B {}"),
        "calls of calls": ("a.rb", "go.mod" * 30_000),
    }
    assert find_failing_files(texts) == {}


def test_a_name_imported_thousands_of_times_is_resolved_in_time(limited_process: LimitedProcess) -> None:
    limited_process.check_completes(run_target, "graph-csharp", b"using A;\n" * 30_000)
