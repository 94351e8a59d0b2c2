"""Conversion of MyST directives that contain prose to plain Markdown, without regular expressions."""

from __future__ import annotations

from deltos.markup.rst import is_definition, named_object, parse_rst

_FENCES = ("```", "~~~")
_MAX_DIRECTIVES = 1_000  # maximum number of directives per page; further directives are left unchanged


def plain_directives(lines: list[str]) -> list[str]:
    """Replace directives such as `{autofunction}`, `{py:function}` and `{eval-rst}` with the contained Markdown."""
    shown: list[str] = []
    at = found = 0
    while at < len(lines):
        mark, name, argument = _parse_directive(lines[at])
        if not mark:
            shown.append(lines[at])
            at += 1
            continue
        end = _closing_line(lines, at + 1, mark)
        if not end:
            break  # the fence is not closed, so it contains the rest of the page
        body = lines[at + 1 : end]
        plain = _directive_lines(name, argument, body) if name and found < _MAX_DIRECTIVES else None
        found += plain is not None
        shown += lines[at : end + 1] if plain is None else ["", *plain, ""]
        at = end + 1
    return shown + lines[at:]


def label_of(line: str) -> str:
    """Return the label in a line such as `(label)=`, or an empty string for any other line."""
    text = line.strip()
    name = text[1:-2] if text.startswith("(") and text.endswith(")=") else ""
    return "" if any(mark in name for mark in " ()\t") else name


def _parse_directive(line: str) -> tuple[str, str, str]:
    """Return the fence, name and argument of a directive such as "```{note} Title"; missing parts are empty strings."""
    text = line.strip()
    if not text.startswith(_FENCES):
        return "", "", ""
    info = text.lstrip(text[0])
    if "`" in info:
        return "", "", ""
    mark = text[: len(text) - len(info)]
    name, brace, argument = info.strip().partition("}")
    return (mark, name[1:].lower(), argument.strip()) if brace and name.startswith("{") else (mark, "", "")


def _closing_line(lines: list[str], at: int, mark: str) -> int:
    """Return the index of the line that closes a fence, or 0 if the fence is not closed."""
    for number in range(at, len(lines)):
        text = lines[number].strip()
        if text.startswith(mark) and not text.strip(mark[0]):
            return number
    return 0


def _directive_lines(name: str, argument: str, body: list[str]) -> list[str] | None:
    """Convert a directive to Markdown lines, or return None if the directive remains a fenced block."""
    if name == "eval-rst":
        return _rst_lines("\n".join(body))
    if shown := named_object(name, argument, [line.strip() for line in body]):
        return [shown]
    if argument and is_definition(name):
        at = next((n for n, line in enumerate(body) if not line.strip().startswith(":")), len(body))
        return [f"`{argument}`", "", *body[at:]]
    return None


def _rst_lines(text: str) -> list[str]:
    """Convert the body of `{eval-rst}` to Markdown lines."""
    lines: list[str] = []
    for section in parse_rst(text, url="").sections:
        names = [f"`{section.path[-1]}`"] if section.path else []
        for shown in (*names, *(block.text for block in section.blocks)):
            # The text of a definition without documentation is its name, which is not repeated.
            if shown not in lines[-2:]:
                lines += (*shown.split("\n"), "")
    return lines
