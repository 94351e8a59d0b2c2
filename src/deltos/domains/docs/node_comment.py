"""The comment above a declaration as text: without its marks, examples as they are written."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_BEGINS = re.compile(r"//+ ?")
_LINK = re.compile(r"(\[[^\[\]]*\])?\{@link(?:code|plain)?\s([^{}]*)\}")
_REGION = re.compile(r"//\s*+#(?:end)?region\b")


def apart(lines: Sequence[str]) -> tuple[str, list[str]]:
    """What is said above a declaration, and the lines of the declaration itself."""
    said: list[str] = []
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        if stripped.startswith("/*"):
            end = next((place for place in range(at, len(lines)) if _ends(lines[place], is_first=place == at)), at)
            *above, last = lines[at : end + 1]
            within, behind = _split(last, is_first=not above)
            said.append(_block([*above, within]))
            at = end + 1
            if behind.strip():
                return _joined(said), [behind.strip(), *lines[at:]]
            continue
        if stripped and not stripped.startswith("//"):
            break
        if not _REGION.match(stripped):
            said.append(_LINE_BEGINS.sub("", lines[at].lstrip(), count=1))
        at += 1
    return _joined(said), list(lines[at:])


def _ends(line: str, *, is_first: bool) -> bool:
    """Whether a block of comment ends in a line; the marks of its beginning are no end: `/*/`."""
    return "*/" in (line.partition("/*")[2] if is_first else line)


def _split(line: str, *, is_first: bool) -> tuple[str, str]:
    """The last line of a block: what belongs to the comment, and what stands behind."""
    before, mark, rest = line.partition("/*") if is_first else ("", "", line)
    within, _, behind = rest.partition("*/")
    return before + mark + within, behind


def _block(lines: Sequence[str]) -> str:
    """The text of a block. A star before each line belongs to the comment, any other text is as indented as it was."""
    first = lines[0].lstrip().removeprefix("/*").lstrip("*").strip()
    inner = [line.rstrip() for line in lines[1:]]
    if all(line.lstrip().startswith("*") for line in inner if line.strip()):
        inner = [line.lstrip().removeprefix("*").removeprefix(" ") for line in inner]
    return "\n".join([first, dedent("\n".join(inner))]).strip("\n")


def _joined(said: Sequence[str]) -> str:
    """What is said as a reader sees it: without HTML comments and with the words of links, but for what is fenced."""
    parts = "\n".join(said).split("```")
    parts[::2] = [_LINK.sub(_link, _without_html_comments(part)) for part in parts[::2]]
    return "```".join(parts).strip("\n")


def _link(found: re.Match[str]) -> str:
    """`{@link X}` as X, `{@link X|text}` and `{@link X text}` as the text, `[text]{@link X}` as Markdown has it."""
    target, _, text = found[2].strip().replace("|", " ", 1).partition(" ")
    return f"{found[1]}({target})" if found[1] else text.strip() or target


def _without_html_comments(text: str) -> str:
    """The text without those that end; of lines that held nothing else nothing is left."""
    kept, *others = text.split("<!--")
    for other in others:
        _, end, behind = other.partition("-->")
        if end and (not kept or kept.endswith("\n")):
            behind = behind.removeprefix("\n")
        kept += behind if end else f"<!--{other}"
    return kept
