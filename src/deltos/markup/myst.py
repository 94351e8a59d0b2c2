"""Directives of MyST that hold no code, though they stand in fences: each as plain Markdown. Plain scans of lines."""

from __future__ import annotations

from deltos.markup.rst import is_definition, named_object, parse_rst

_FENCES = ("```", "~~~")
_MOST_DIRECTIVES = 1_000  # of a page; further ones stay as they are


def plain_directives(lines: list[str]) -> list[str]:
    """The lines with what `{autofunction}`, `{py:function}`, `{eval-rst}` and their like say, in place of the fence."""
    shown: list[str] = []
    at = found = 0
    while at < len(lines):
        mark, name, argument = _directive(lines[at])
        if not mark:
            shown.append(lines[at])
            at += 1
            continue
        end = _closing(lines, at + 1, mark)
        if not end:
            break  # what nothing closes goes on to the end of the page
        body = lines[at + 1 : end]
        plain = _plain(name, argument, body) if name and found < _MOST_DIRECTIVES else None
        found += plain is not None
        shown += lines[at : end + 1] if plain is None else ["", *plain, ""]
        at = end + 1
    return shown + lines[at:]


def label_of(line: str) -> str:
    """The name that a line `(name)=` gives to what follows; empty for other lines."""
    text = line.strip()
    name = text[1:-2] if text.startswith("(") and text.endswith(")=") else ""
    return "" if any(mark in name for mark in " ()\t") else name


def _directive(line: str) -> tuple[str, str, str]:
    """The fence that a line opens, and the directive with its argument, if it is one; empty texts if it is none."""
    text = line.strip()
    if not text.startswith(_FENCES):
        return "", "", ""
    info = text.lstrip(text[0])
    if "`" in info:
        return "", "", ""
    mark = text[: len(text) - len(info)]
    name, brace, argument = info.strip().partition("}")
    return (mark, name[1:].lower(), argument.strip()) if brace and name.startswith("{") else (mark, "", "")


def _closing(lines: list[str], at: int, mark: str) -> int:
    """The line that closes a fence; 0 where none does."""
    for number in range(at, len(lines)):
        text = lines[number].strip()
        if text.startswith(mark) and not text.strip(mark[0]):
            return number
    return 0


def _plain(name: str, argument: str, body: list[str]) -> list[str] | None:
    """What a directive says; None for one that stays in its fence."""
    if name == "eval-rst":
        return _from_rst("\n".join(body))
    if shown := named_object(name, argument, [line.strip() for line in body]):
        return [shown]
    if argument and is_definition(name):
        at = next((n for n, line in enumerate(body) if not line.strip().startswith(":")), len(body))
        return [f"`{argument}`", "", *body[at:]]
    return None


def _from_rst(text: str) -> list[str]:
    lines: list[str] = []
    for section in parse_rst(text, url="").sections:
        names = [f"`{section.path[-1]}`"] if section.path else []
        for shown in (*names, *(block.text for block in section.blocks)):
            if shown not in lines[-2:]:  # a definition without text has its name as its text
                lines += (*shown.split("\n"), "")
    return lines
