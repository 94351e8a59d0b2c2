"""C conditionals that begin or end within a statement are reduced to one of their branches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.languages.c_macros import mask_macros
from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import detect


def code_after(source: str) -> str:
    """Return the source as the parser reads it, without blank lines."""
    lines = mask_macros(source.encode()).decode().split("\n")
    return "\n".join(line.rstrip() for line in lines if line.strip())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#ifdef A\nif (x) {\n#else\nif (y) {\n#endif\n}\n", "if (x) {\n}"),
        ("#if 0\nif (x) {\n#else\nif (y) {\n#endif\n}\n", "if (y) {\n}"),
        ("if (x) {\n#ifdef A\n} else if (y) {\n#endif\n}\n", "if (x) {\n} else if (y) {\n}"),
        ("#ifdef A\n#if B\nf(a) {\n#else\nf(b) {\n#endif\n#else\nf(c) {\n#endif\n}\n", "f(a) {\n}"),
        ("#if A \\\n  && B\nf(a) {\n#else\nf(b) {\n#endif\n}\n", "f(a) {\n}"),
    ],
)
def test_one_branch_of_a_conditional_that_splits_a_statement_is_kept(source: str, expected: str) -> None:
    assert code_after(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "#ifdef A\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        "#ifdef A\n#define BEGIN {\n#define TWO { \\\n  {\n#endif\n",
        "#ifdef A\n// {\nchar *a = \"{\", b = '{';\n/* { */\n#endif\n",
        "#ifdef A\n",
        "#endif\n#else\n}\n",
    ],
)
def test_conditionals_around_complete_statements_are_kept(source: str) -> None:
    assert mask_macros(source.encode()).decode() == source


def test_functions_after_a_conditional_that_splits_a_statement_are_found() -> None:
    source = (
        b"enum state\nwidth(int x)\n{\n#ifdef UTF8\n\tswitch (wide(x)) {\n#else\n\tswitch (narrow(x)) {\n#endif\n"
        b"\tcase 1:\n\t\treturn 1;\n\t}\n\treturn 0;\n}\n\nint after(void)\n{\n\treturn 2;\n}\n"
    )
    language = detect("a.c")
    assert language is not None
    tree = parse(language, source)
    assert tree is not None
    assert not tree.root_node.has_error
    assert [(each.name, each.line, each.end_line) for each in outline(language, tree, source)] == [
        ("width", 2, 13),
        ("after", 15, 18),
    ]


@given(st.text("#ifelsdnABC{}\"'/*\\ \n", max_size=120).map(str.encode))
def test_masking_conditionals_keeps_byte_positions(source: bytes) -> None:
    hidden = mask_macros(source)
    assert len(hidden) == len(source)
    assert [at for at, byte in enumerate(hidden) if byte == 10] == [at for at, byte in enumerate(source) if byte == 10]


def test_all_branches_of_haskell_conditionals_are_parsed() -> None:
    source = b"module A where\n#if WINDOWS\nimport B\n#else\nimport C\nnewtype Handle = Handle C.Handle\n#endif\n"
    language = detect("A.hs")
    assert language is not None
    tree = parse(language, source)
    assert tree is not None
    assert [each.name for each in outline(language, tree, source)] == ["Handle"]
