"""Text functions shared by all formats: white space, invisible characters, code fences and heading slugs."""

from __future__ import annotations

import re

# Characters that readers cannot see: zero-width, soft-hyphen, bidirectional-control and tag characters.
_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1d\x7f]")
_FENCE_RUNS = {"`": re.compile("`{3,}"), "~": re.compile("~{3,}")}
_FENCE = re.compile(r"[`~]{3,}")
_PLAIN_WORD = re.compile(r"[(\"']?[A-Za-z][a-z'’-]*[.,;:!?)\"']{0,3}")
_COMMENT_SIGNS = ("#", "//", "/*", "*", "--", "%", "!", "<!", ">", "$")
_COLUMN_GAP = re.compile(r" {3,}|\t")
_CODE_ENDINGS = (";", "{", "}", "\\", "*/")
# Thresholds for treating a preformatted block as prose: enough lines of plain words, and few lines that end like code.
# They were chosen in experiments with manuals and manual pages.
_MIN_LINE_WORDS = 4
_MIN_PLAIN_WORD_SHARE = 0.55
_MIN_PROSE_LINE_SHARE = 0.4
_MAX_CODE_LINE_SHARE = 0.1
_GENERATED_ANCHOR = re.compile(r"[A-Za-z]{0,8}[-_.]?\d+")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


def visible(text: str) -> str:
    """Return `text` without invisible and control characters."""
    if text.isascii():
        return _CONTROL.sub("", text)
    return _CONTROL.sub("", _INVISIBLE.sub("", text))


def collapse(text: str) -> str:
    """Replace each run of white space with one space, as browsers do."""
    return " ".join(text.split())


def fenced(text: str, language: str = "", *, mark: str = "`") -> str:
    """Return `text` as a fenced code block. The fence is longer than any fence that occurs in the text."""
    longest = max((len(run) for run in _FENCE_RUNS[mark].findall(text)), default=2)
    fence = mark * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def reads_as_prose(block: str) -> bool:
    """Whether a fenced block without a language contains prose instead of code."""
    opening, *lines = block.split("\n")
    if opening.strip("`~"):
        return False
    written = [line.strip() for line in lines if line.strip() and not _FENCE.match(line)]
    if sum(line.endswith(_CODE_ENDINGS) for line in written) > len(written) * _MAX_CODE_LINE_SHARE:
        return False
    return sum(map(_is_prose_line, written)) > len(written) * _MIN_PROSE_LINE_SHARE


def _is_prose_line(line: str) -> bool:
    """Whether a line consists mostly of plain words and does not look like a comment or command."""
    words = max(_COLUMN_GAP.split(line), key=len).split()  # in a row of a table, only the longest cell is checked
    if len(words) < _MIN_LINE_WORDS or words[0].startswith(_COMMENT_SIGNS):
        return False
    return sum(_PLAIN_WORD.fullmatch(word) is not None for word in words) >= len(words) * _MIN_PLAIN_WORD_SHARE


def is_named_anchor(anchor: str) -> bool:
    """Whether an anchor has a meaningful name, unlike generated anchors such as `id3`, `index-12` and `L40`."""
    return _GENERATED_ANCHOR.fullmatch(anchor) is None


def slug(heading: str) -> str:
    """Return the anchor that common Markdown renderers generate for a heading."""
    return _NOT_IN_SLUG.sub("", heading.strip().lower()).replace(" ", "-")


def unique_slug(heading: str, taken: dict[str, int]) -> str:
    """Return the anchor of a heading, with a number if an earlier heading of the page has the same anchor."""
    name = slug(heading)
    count = taken.get(name, 0)
    taken[name] = count + 1
    return f"{name}-{count}" if count else name


def without_closing_marks(heading: str, mark: str, blanks: str | None = None) -> str:
    """Remove the marks after a heading: `Title ##` becomes `Title`. White space must precede the marks."""
    bare = heading.rstrip(mark)
    title = bare.rstrip(blanks)
    return title if title and len(title) < len(bare) < len(heading) else heading


def split_front_matter(text: str) -> tuple[str, str]:
    """Split Markdown into the front matter (between two `---` lines) and the rest."""
    first, *lines = text.split("\n")
    ends = (number for number, line in enumerate(lines) if line.rstrip(" \t") == "---")
    end = next(ends, 0) if first.rstrip(" \t") == "---" else 0
    return ("\n".join(lines[:end]), "\n".join(lines[end + 1 :])) if end else ("", text)
