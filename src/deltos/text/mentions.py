"""Checks whether a text mentions a name as an entire word or as code."""

from __future__ import annotations

from deltos.text.identifiers import is_distinctive


def has_word(text: str, name: str) -> bool:
    """Whether a name occurs in a text without an adjacent letter, digit or underscore."""
    return _find(text, name, "") >= 0


def mentions(text: str, name: str) -> bool:
    """Whether a text mentions a name. A name that is a plain word must be in backquotes or be called."""
    if is_distinctive(name):
        return has_word(text, name)
    return has_call(text, name) or any(has_word(code, name) for code in _in_backquotes(text))


def has_call(text: str, name: str) -> bool:
    """Whether a name occurs in a text followed by an opening parenthesis."""
    return _find(text, name, "(") >= 0


def _find(text: str, name: str, after: str) -> int:
    """Return the offset of a name that is followed by `after`, or -1.

    If `after` is empty, the name must be an entire word.
    """
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        is_followed = text.startswith(after, end) if after else not _is_word(text[end : end + 1])
        if is_followed and not (at and _is_word(text[at - 1])):
            return at
        at += 1
        while at < len(text) and _is_word(text[at]) and _is_word(text[at - 1]):
            at += 1  # skip the rest of the word
        at = text.find(name, at)
    return -1


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _in_backquotes(text: str) -> list[str]:
    """Return the texts between two backquotes on the same line."""
    return [part for line in text.split("\n") for part in line.split("`")[1:-1]]
