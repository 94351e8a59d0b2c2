"""Invalid, huge or unusual source is resolved without a crash."""

from __future__ import annotations

import pytest

from tests.domains.graph.marked import Sources, check

FUNCTION_COUNT = 2_500
LINES_PER_FUNCTION = 20


def test_code_after_a_syntax_error_is_still_resolved() -> None:
    check(
        a_py="""\
def ok(): ...
def broken(:
    pass
ok()  # -> ok
x = = 3  # -> x
def f():
    ok()  # -> ok
"""
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 10_000 + "1" + ")" * 10_000,
        "x = " + "[" * 10_000 + "f" + "]" * 10_000,
        "x = f" + "(f" * 3_000 + ")" * 3_000,
        "x = " + "{1: " * 2_000 + "f" + "}" * 2_000,
        "x = a" + ".b" * 5_000,
        "x = a" + "()" * 5_000,
        "x = " + "a + " * 20_000 + "a",
        "x = " + "a or " * 20_000 + "a",
        "x = " + "not " * 5_000 + "a",
        "x = " + "lambda: " * 2_000 + "a",
        "x: " + "list[" * 3_000 + "int" + "]" * 3_000,
        "x: '" + "list[" * 300 + "int" + "]" * 300 + "'",
        "if a: pass\n" + "elif a: pass\n" * 5_000,
        "".join(f"{' ' * depth}if a:\n" for depth in range(400)) + " " * 400 + "a()",
        "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(150)) + " " * 150 + "a()",
        "".join(f"{' ' * depth}class C{depth}:\n" for depth in range(150)) + " " * 150 + "a()",
        "match x:\n    case " + "C(" * 2_000 + ")" * 2_000 + ": pass",
        "a = b = " * 3_000 + "1",
        "\x00\x01\x02",
        "\ufeffdef f(): ...\n",
        "def f(",
        "class",
        "from",
        "import",
        "@",
        "def (): pass\nclass : pass\n",
        "",
    ],
    ids=range(27),
)
def test_unusual_source_is_resolved_without_a_crash(text: str) -> None:
    resolved = Sources({"a.py": text + "\n", "b.py": "from a import *\nimport a\na.f()\n"}).resolve()
    assert resolved.keys() == {"a.py", "b.py"}


def test_names_in_very_deep_nesting_are_still_resolved() -> None:
    check(a_py="def f(): ...\nx = " + "[" * 100 + "f, f.g, f(k=f)" + "]" * 100 + "  # -> x, f\n")


def test_a_generated_file_of_fifty_thousand_lines_is_resolved() -> None:
    filler = "    x = 1\n" * (LINES_PER_FUNCTION - 2)
    text = "".join(f"def f{n}(x):\n{filler}    return f{max(0, n - 1)}(x)\n" for n in range(FUNCTION_COUNT))
    assert text.count("\n") == FUNCTION_COUNT * LINES_PER_FUNCTION == 50_000
    resolved = Sources({"a.py": text}).resolve()
    assert len([edge for edge in resolved["a.py"].edges if edge.kind == "call"]) == FUNCTION_COUNT


def test_non_ascii_names_are_resolved() -> None:
    check(
        a_py=(
            """\
def größe(): ...
class Ünder:
    def prüfe(self): ...
größe()  # -> größe
Ünder().prüfe()  # -> Ünder, Ünder.prüfe
"""
        )
    )


def test_python_2_syntax_is_resolved() -> None:
    check(
        a_py="""\
def f(): ...
print f()  # -> f
exec f()
try:
    pass
except ValueError, e:
    f()  # -> f
"""
    )
