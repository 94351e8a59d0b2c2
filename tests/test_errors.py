"""Errors have a message and a hint."""

from __future__ import annotations

import re

import pytest

from deltos import errors
from deltos.errors import DeltosError


@pytest.mark.parametrize(
    ("message", "hint", "text"),
    [
        ("No such file", "", "No such file"),
        ("No such file", "Check the path.", "No such file. Check the path."),
        ("No such file.", "Check the path.", "No such file. Check the path."),
        ("Really?", "Yes.", "Really? Yes."),
    ],
)
def test_an_error_is_printed_as_message_and_hint(message: str, hint: str, text: str) -> None:
    assert str(DeltosError(message, hint)) == text


def test_the_docstring_shows_the_actual_class_tree() -> None:
    drawn = re.findall(r"^([│├└─ ]*)(\w+)", errors.__doc__ or "", re.MULTILINE)[1:]
    parents: list[str] = []
    tree = {}
    for indent, name in drawn:
        depth = len(indent) // 4
        parents[depth:] = [name]
        tree[name] = parents[depth - 1] if depth else "Exception"
    classes = {cls.__name__: cls.__mro__[1].__name__ for cls in vars(errors).values() if isinstance(cls, type)}
    assert tree == classes
