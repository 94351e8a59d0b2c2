"""Parameters and arguments in several languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.federation.review.binding import bind_error, misfit_reason, parameter_breaks
from deltos.federation.review.calls import LinesToRead, calls_in
from deltos.federation.review.declarations import VersionToRead, read_declarations

if TYPE_CHECKING:
    from deltos.federation.review.signature import DeclaredParameter


def read_parameters(path: str, source: str, label: str) -> tuple[DeclaredParameter, ...]:
    """Return the parameters of a definition."""
    found = read_declarations(VersionToRead(path, source.encode()))
    (declaration,) = [each for each in found.declarations if each.label == label]
    assert declaration.parameters is not None
    return declaration.parameters


@pytest.mark.parametrize(
    ("path", "source", "label", "names"),
    [
        ("a.py", "def f(a, b: int = 1, *c, d, e=2, **g): ...\n", "f", "a b? *c d! e?! **g"),
        ("a.py", "class A:\n    def f(self, a, /, b, *, c): ...\n", "A.f", "a/ b c!"),
        ("a.ts", "export function f(a: string, b?: number, c = 1, ...d: any[]) {}\n", "f", "a b? c? *d"),
        ("a.ts", "class A { constructor(private x: number) {} }\n", "A.constructor", "x"),
        ("a.js", "const f = (a, b = {x: 1, y: 2}) => a;\n", "f", "a b?"),
        ("a.go", "package a\nfunc (s *S) F(a, b int, c ...string) error { return nil }\n", "S.F", "a b *c"),
        ("A.java", "class A { int f(final int a, Object... b) { return 1; } }\n", "A.f", "a *b"),
        ("a.rs", "pub fn f<T>(&self, a: Vec<(i32, T)>, mut b: T) {}\n", "f", "a b"),
        ("a.cs", "class A { int F(int a, string b = null, params object[] c) { return 1; } }\n", "A.F", "a b? *params"),
        ("a.php", "<?php\nfunction f(int $a, ?string $b = null, ...$c) {}\n", "f", "a b? *c"),
        ("a.rb", "def f(a, b = 1, *c, d:, e: 2, **g)\nend\n", "f", "a b? *c d! e?! **g"),
        ("a.kt", 'fun f(a: Int, b: String = "", vararg c: Int) = 1\n', "f", "a b? *c"),
        ("a.swift", 'func f(_ a: Int, with b: String = "") {}\n', "f", "_ with?"),
        ("a.c", "static int f(int a, char *b, void (*c)(int, int)) { return 1; }\n", "f", "a b c"),
        ("a.c", "int f(void) { return 1; }\n", "f", ""),
    ],
)
def test_parameters_are_parsed_in_every_resolved_language(path: str, source: str, label: str, names: str) -> None:
    marks = {"positional": "/", "keyword": "!", "either": "", "rest": "", "keyword rest": ""}
    stars = {"rest": "*", "keyword rest": "**"}
    found = [
        f"{stars.get(each.kind, '')}{each.name}"
        + ("?" if not each.is_required and each.kind not in stars else "")
        + marks[each.kind]
        for each in read_parameters(path, source, label)
    ]
    assert " ".join(found) == names


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("a.py", "f(1, *x, c=3)", (1, ("c",), True, False)),
        ("a.py", "f(a == 1, **k)", (1, (), False, True)),
        ("a.ts", "new f<string>(1, ...z)", (1, (), True, False)),
        ("a.go", "package a; var x = f(1, y...)", (1, (), True, False)),
        ("a.go", "package a; var x = f(pair())", (1, (), True, False)),
        ("a.java", "class A { int x = f(1, g(2, 3)); }", (2, (), False, False)),
        ("a.rs", "fn g() { f::<T>(1, 2); }", (2, (), False, False)),
        ("a.cs", "class A { int x = f(1, b: 2); }", (1, ("b",), False, False)),
        ("a.php", "<?php f(1, b: 2, ...$x);", (1, ("b",), True, False)),
        ("a.rb", "f 1, d: 2", (1, ("d",), False, False)),
    ],
)
def test_arguments_of_a_call_are_parsed(
    path: str, line: str, expected: tuple[int, tuple[str, ...], bool, bool]
) -> None:
    found = calls_in(LinesToRead(path, line.encode(), {1: frozenset({"f"})}))
    (call,) = found[(1, "f")]
    assert (call.positional_count, call.keywords, call.has_rest, call.has_keyword_rest) == expected


def parse_case(text: str) -> tuple[str, tuple[DeclaredParameter, ...], tuple[DeclaredParameter, ...]]:
    """Split `call | old parameters | new parameters` into a call and two signatures."""
    call, old, new = (part.strip() for part in text.split("|"))
    first, second = (read_parameters("a.py", f"def f({each}): ...\n", "f") for each in (old, new))
    return call, first, second


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("f(1) | a | a, b", "missing required argument `b`"),
        ("f(1) | a | a, b=1", ""),
        ("f(1, 2) | a, b | a", "2 arguments passed, at most 1 accepted"),
        ("f(b=1) | b | c", "unknown argument `b`"),
        ("f(b=1) | b | **k", ""),
        ("f(*x) | a | a, b", ""),
        ("f(1, 2) | a, b | b, a", "argument 1 was `a` and is now `b`"),
        ("f(1, 5) | a, b=1, c=2 | a, c=2", "argument 2 was `b` and is now `c`"),
        ("f(1) | a, b | a, b, c", ""),  # the call did not match the old signature either
        ("f(1) | a | *, a", "1 argument passed, at most 0 accepted"),
    ],
)
def test_call_that_matched_the_old_signature_is_compared_with_the_new_one(text: str, reason: str) -> None:
    source, old, new = parse_case(text)
    (call,) = calls_in(LinesToRead("a.py", source.encode(), {1: frozenset({"f"})}))[(1, "f")]
    assert misfit_reason(call, [old], [new]) == reason
    if reason and "was" not in reason:
        assert bind_error(call, new) == reason


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("| a | a, b", ["new required parameter `b`"]),
        ("| a | a, b=1", []),
        ("| a, b | a", ["parameter `b` removed"]),
        ("| a | b", ["parameter `a` renamed to `b`"]),
        ("| a, / | b, /", []),
        ("| a=1 | a", ["parameter `a` is now required"]),
        ("| a | *, a", ["parameter `a` is now keyword-only"]),
        ("| a | a, /", ["parameter `a` is now positional-only"]),
        ("| a, b | b, a", ["parameter `a` moved to another position"]),
        ("| a, b=1 | a, x=2, b=1", ["optional parameter `x` inserted before existing ones"]),
        ("| a | *args, **kwargs", []),
        ("| *args | a", ["parameter `args` removed", "new required parameter `a`"]),
    ],
)
def test_breaking_changes_of_parameters_follow_rules(text: str, breaks: list[str]) -> None:
    _, old, new = parse_case(text)
    assert parameter_breaks(old, new, calls_by_name=True) == breaks


def test_renaming_a_parameter_breaks_nothing_where_arguments_have_no_names() -> None:
    old, new = (read_parameters("a.go", f"package a\nfunc F({name} int) {{}}\n", "F") for name in "ab")
    assert parameter_breaks(old, new, calls_by_name=False) == []
