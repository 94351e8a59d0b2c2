"""Argument counts read from a signature and from a call."""

from __future__ import annotations

import pytest

from deltos.domains.graph.arity import argument_count, parameter_count
from deltos.store.symbols import Symbol


@pytest.mark.parametrize(
    ("path", "signature", "count"),
    [
        ("A.java", "<T> Box<T> make(Shop shop, Map<K, V> kinds)", 2),
        ("A.java", "void make()", 0),
        ("A.java", "void make(String... names)", None),
        ("a.go", "func (s *Shop) make(a, b int) (string, error)", 2),
        ("a.go", "func make[T any](a T)", 1),
        ("a.rs", "fn make<'a, T>(&'a mut self, kind: Kind<T, U>) -> Box<T>", 1),
        ("a.rs", "fn make(self: Arc<Self>)", 0),
        ("a.c", "int make(void)", 0),
        ("a.c", "int make(int (*done)(int, int), char *name)", 2),
        ("a.py", "def make(self, kind)", None),
        ("a.kt", "fun make(kind: Kind = Kind.ANY)", None),
        ("A.java", "int make", None),
        ("A.java", "void make(int a,", None),
    ],
)
def test_parameters_of_a_signature_are_counted(path: str, signature: str, count: int | None) -> None:
    assert parameter_count(Symbol("make", "make", "method", 1, 1, signature, path=path)) == count


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("x = it.make(a, b[1, 2], c(1, 2));", 3),
        ("it.make()", 0),
        ('it.make("a, (b", \'(\', "\\\\", "c\\", d")', 4),
        ("it.make(new Map<K, V>(), 1)", None),
        ("it.make(all())", None),
        ("it.make(", None),
        ("it.make(1).make(2)", None),
        ("names(Shop::make)", None),
        ("it.maker(1)", None),
    ],
)
def test_arguments_of_a_call_are_counted(line: str, count: int | None) -> None:
    assert argument_count(line, "make") == count
