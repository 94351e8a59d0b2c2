"""Extract the text of comments above declarations, without comment markers."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_MARK = re.compile(r"//+ ?")
_LINK = re.compile(r"(\[[^\[\]]*\])?\{@link(?:code|plain)?\s([^{}]*)\}")
_REGION = re.compile(r"//\s*+#(?:end)?region\b")


def split_comment(lines: Sequence[str]) -> tuple[str, list[str]]:
    """Split source lines into the text of the leading comments and the remaining lines."""
    comments: list[str] = []
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        if stripped.startswith("/*"):
            end = next(
                (index for index in range(at, len(lines)) if _ends_comment(lines[index], is_first=index == at)), at
            )
            *above, last = lines[at : end + 1]
            within, after = _split_comment_end(last, is_first=not above)
            comments.append(_block_comment_text([*above, within]))
            at = end + 1
            if after.strip():
                return _join_and_clean(comments), [after.strip(), *lines[at:]]
            continue
        if stripped and not stripped.startswith("//"):
            break
        if not _REGION.match(stripped):
            comments.append(_LINE_MARK.sub("", lines[at].lstrip(), count=1))
        at += 1
    return _join_and_clean(comments), list(lines[at:])


def _ends_comment(line: str, *, is_first: bool) -> bool:
    """Whether a block comment ends on this line; on the first line, `/*/` does not end it."""
    return "*/" in (line.partition("/*")[2] if is_first else line)


def _split_comment_end(line: str, *, is_first: bool) -> tuple[str, str]:
    """Split the last line of a block comment into the end of the comment and the code after it."""
    before, mark, rest = line.partition("/*") if is_first else ("", "", line)
    within, _, after = rest.partition("*/")
    return before + mark + within, after


def _block_comment_text(lines: Sequence[str]) -> str:
    """Return the text of a block comment without the `*` at the start of each line; keep other indentation."""
    first = lines[0].lstrip().removeprefix("/*").lstrip("*").strip()
    inner = [line.rstrip() for line in lines[1:]]
    if all(line.lstrip().startswith("*") for line in inner if line.strip()):
        inner = [line.lstrip().removeprefix("*").removeprefix(" ") for line in inner]
    return "\n".join([first, dedent("\n".join(inner))]).strip("\n")


def _join_and_clean(comments: Sequence[str]) -> str:
    """Join comments into one text without HTML comments and `{@link}` tags; leave fenced code unchanged."""
    parts = "\n".join(comments).split("```")
    parts[::2] = [_LINK.sub(_replace_link, _without_html_comments(part)) for part in parts[::2]]
    return "```".join(parts).strip("\n")


def _replace_link(found: re.Match[str]) -> str:
    """Replace an inline `{@link}` tag by its text.

    `{@link X}` becomes X, `{@link X|text}` and `{@link X text}` become the text, and `[text]{@link X}` becomes a
    Markdown link.
    """
    target, _, text = found[2].strip().replace("|", " ", 1).partition(" ")
    return f"{found[1]}({target})" if found[1] else text.strip() or target


def _without_html_comments(text: str) -> str:
    """Return the text without complete HTML comments; lines that contain only a comment are removed."""
    kept, *others = text.split("<!--")
    for other in others:
        _, end, after = other.partition("-->")
        if end and (not kept or kept.endswith("\n")):
            after = after.removeprefix("\n")
        kept += after if end else f"<!--{other}"
    return kept
