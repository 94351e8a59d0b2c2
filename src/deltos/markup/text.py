"""Small rules of text that every format shares: white space, invisible characters, code fences, heading slugs."""

from __future__ import annotations

import re

# Zero-width, soft-hyphen, bidirectional-control and tag characters: invisible to a reader, so never indexed.
_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1d\x7f]")
_RUNS = {"`": re.compile("`{3,}"), "~": re.compile("~{3,}")}
_FENCE = re.compile(r"[`~]{3,}")
_PLAIN_WORD = re.compile(r"[(\"']?[A-Za-z][a-z'’-]*[.,;:!?)\"']{0,3}")
_COMMENT_SIGNS = ("#", "//", "/*", "*", "--", "%", "!", "<!", ">", "$")
_COLUMN_GAP = re.compile(r" {3,}|\t")
_CODE_ENDINGS = (";", "{", "}", "\\", "*/")
# What of a preformatted block reads as paragraphs, by trial on manuals and man pages: the words of a line, the share
# of plain ones among them, of such lines among all; and of lines that end as only code does.
_FEWEST_WORDS = 4
_SHARE_OF_PLAIN_WORDS = 0.55
_SHARE_OF_TEXT_LINES = 0.4
_SHARE_OF_CODE_LINES = 0.1
_NUMBERED = re.compile(r"[A-Za-z]{0,8}[-_.]?\d+")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


def visible(text: str) -> str:
    """`text` without the characters that a reader cannot see."""
    if text.isascii():
        return _CONTROL.sub("", text)
    return _CONTROL.sub("", _INVISIBLE.sub("", text))


def collapse(text: str) -> str:
    """`text` with every run of white space as one blank, as a browser shows it."""
    return " ".join(text.split())


def fenced(text: str, language: str = "", *, mark: str = "`") -> str:
    """`text` verbatim inside a Markdown fence that it cannot close."""
    longest = max((len(run) for run in _RUNS[mark].findall(text)), default=2)
    fence = mark * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def reads_as_prose(block: str) -> bool:
    """Whether a fenced block holds paragraphs as people write them, not code: most lines are plain words, and no
    language is named."""
    opening, *lines = block.split("\n")
    if opening.strip("`~"):
        return False
    written = [line.strip() for line in lines if line.strip() and not _FENCE.match(line)]
    if sum(line.endswith(_CODE_ENDINGS) for line in written) > len(written) * _SHARE_OF_CODE_LINES:
        return False
    return sum(map(_is_of_paragraph, written)) > len(written) * _SHARE_OF_TEXT_LINES


def _is_of_paragraph(line: str) -> bool:
    words = max(_COLUMN_GAP.split(line), key=len).split()  # of tables, the widest cell
    if len(words) < _FEWEST_WORDS or words[0].startswith(_COMMENT_SIGNS):
        return False
    return sum(_PLAIN_WORD.fullmatch(word) is not None for word in words) >= len(words) * _SHARE_OF_PLAIN_WORDS


def is_telling(anchor: str) -> bool:
    """Whether somebody gave an anchor a name, not only a number: `id3`, `index-12`, `L40`."""
    return _NUMBERED.fullmatch(anchor) is None


def slug(heading: str) -> str:
    """The anchor that common Markdown renderers give to a heading."""
    return _NOT_IN_SLUG.sub("", heading.strip().lower()).replace(" ", "-")


def unique_slug(heading: str, taken: dict[str, int]) -> str:
    """The heading's slug, numbered when an earlier heading of the page already has it."""
    name = slug(heading)
    count = taken.get(name, 0)
    taken[name] = count + 1
    return f"{name}-{count}" if count else name


def without_closing_marks(heading: str, mark: str, blanks: str | None = None) -> str:
    """A heading without the run of marks that ends it, as in `## Title ##`; blanks must stand before them."""
    bare = heading.rstrip(mark)
    title = bare.rstrip(blanks)
    return title if title and len(title) < len(bare) < len(heading) else heading


def split_front_matter(text: str) -> tuple[str, str]:
    """The settings between two lines `---` at the beginning of Markdown, and what follows; the first is empty where
    there are none."""
    first, *lines = text.split("\n")
    ends = (number for number, line in enumerate(lines) if line.rstrip(" \t") == "---")
    end = next(ends, 0) if first.rstrip(" \t") == "---" else 0
    return ("\n".join(lines[:end]), "\n".join(lines[end + 1 :])) if end else ("", text)
