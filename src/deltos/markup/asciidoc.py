"""AsciiDoc to sections: headings, anchors, listings, attributes, tables; the rest is shown as written."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import fenced, unique_slug, without_closing_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ATTRIBUTES = 500
LONGEST_VALUE = 500  # characters of an attribute's value
MOST_SUBSTITUTED = 1_000_000  # characters that values of attributes add to a page
MOST_COLUMNS = 50
_ANCHOR = re.compile(r"^\[\[([\w:.-]++)[^\]]*+\]\]$|^\[#([\w:.-]++)[^\]]*+\]$")
_SOURCE = re.compile(r"^\[(?:source|,)\s*+,?+\s*+([\w+#-]*+)[^\]]*+\]$")
_LISTING = re.compile(r"^(-{4,}|\.{4,})$")
_ATTRIBUTE = re.compile(r"^:(!?)([\w-]++)(!?):(?:[ \t]++(\S.*+))?$")
_REFERENCE = re.compile(r"\{([\w-]++)\}")
_COLUMNS = re.compile(r"""cols=(?:"([^"]*+)"|'([^']*+)'|([\w*]++))""")
_CELL_FORM = re.compile(r"(?:^|(?<=\s))(?:\d++(?:\.\d++)?+[*+]|\.\d++\+)?+[<^>]?+(?:\.[<^>])?+[adehlmsv]?+$")
_SPAN = re.compile(r"(\d{1,2}+)(?:\.\d++)?+\+")
_REPEATED = re.compile(r"^(\d{1,2}+)\*")
_TITLE_MARKS = "=-~^+"
_ADMONITIONS = ("NOTE", "TIP", "WARNING", "IMPORTANT", "CAUTION")
_CONDITIONS = ("ifdef::", "ifndef::", "ifeval::", "endif::")
_TABLE = "|==="
_BUILT_IN = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "plus": "+", "asterisk": "*", "backtick": "`",
    "amp": "&", "lt": "<", "gt": ">", "startsb": "[", "endsb": "]", "vbar": "|", "caret": "^", "tilde": "~",
    "apos": "'", "quot": '"', "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "deg": "°", "backslash": "\\",
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "pp": "++",
}  # fmt: skip


def parse_asciidoc(text: str, *, title: str = "") -> Document:
    """The sections of an AsciiDoc page."""
    reader = _AsciiDoc()
    for line in text.replace("\r\n", "\n").split("\n"):
        reader.line(line.rstrip())
    reader.end()
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections)


class _AsciiDoc:
    """Feeds lines into an outline, keeping the block that is still open."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._slugs: dict[str, int] = {}
        self._attributes = _Attributes()
        self._open: list[str] = []
        self._delimiter = ""
        self._language = ""
        self._form = ""  # the last line in brackets: it tells about the block after it

    def line(self, line: str) -> None:
        """Take the next line."""
        if self._delimiter:
            self._line_of_block(line)
        elif self._attributes.takes(line):
            pass
        elif level := self._underlined(line):
            self._heading(level, self._open.pop())
        elif heading := _heading(line):
            self.end()
            self._heading(*heading)
        elif _LISTING.match(line) or line == _TABLE:
            self.end()
            self._delimiter = line
        elif not line:
            self.end()
        elif not line.startswith("//"):
            self._text(line)

    def _text(self, line: str) -> None:
        """A line that is no heading and begins no listing."""
        if anchor := _ANCHOR.match(line):
            self.end()
            self.outline.anchor(anchor.group(1) or anchor.group(2))
        elif source := _SOURCE.match(line):
            self._language = source.group(1)
        elif line[0] == "[" and line[-1] == "]" and "[" not in line[1:]:
            self._bracketed(line)
        elif not _is_delimiter(line) and not line.startswith(_CONDITIONS):
            is_title = line[0] == "." and line[1:2].strip(". ") != ""  # of the block after it
            self._open.append(self._attributes.put_into(line[1:] if is_title else line))

    def _bracketed(self, line: str) -> None:
        """What a line in brackets says of the next block; admonitions are for the reader."""
        self.end()
        self._form = line
        if (kind := line[1:-1]) in _ADMONITIONS:
            self._open.append(f"{kind}:")

    def _underlined(self, line: str) -> int:
        """The level of the heading that this line makes of the one before it; 0 where it makes none."""
        if not line or line[0] not in _TITLE_MARKS or line.strip(line[0]) or len(self._open) != 1:
            return 0
        title = self._open[0]
        is_title = abs(len(line) - len(title)) <= 2 and len(line) > 1 and title[0].isalnum() and title[-1] != ":"
        return _TITLE_MARKS.index(line[0]) + 1 if is_title else 0

    def _heading(self, level: int, title: str) -> None:
        title = self._attributes.put_into(title)
        own = self.outline.take_pending()
        generated = "_" + unique_slug(title, self._slugs).replace("-", "_")
        self.outline.heading(level, title, own[::-1] or [generated])
        self._form = ""

    def _line_of_block(self, line: str) -> None:
        if line != self._delimiter:
            self._open.append(line)
            return
        self._delimiter, lines, self._open = "", self._open, []
        if line == _TABLE:
            for row in _table(lines, self._form):
                self.outline.block(self._attributes.put_into(row), "row")
        else:
            self.outline.block(fenced("\n".join(lines), self._language), "code")
        self._language = self._form = ""

    def end(self) -> None:
        """Close the open block."""
        if self._open and self._delimiter == _TABLE:  # it is never closed
            self._open = [self._attributes.put_into(line) for line in self._open]
        self.outline.block("\n".join(self._open))
        self._open = []


class _Attributes:
    """Names that a page gives to texts, and the texts put where the names stand."""

    def __init__(self) -> None:
        self._values = dict(_BUILT_IN)
        self._left = MOST_SUBSTITUTED
        self._continued = ""

    def takes(self, line: str) -> bool:
        """Whether the line sets an attribute, or goes on with the value of one."""
        if self._continued:
            name, self._continued = self._continued, ""
            self._set(name, self._values.get(name, "") + line.strip())
            return True
        found = _ATTRIBUTE.match(line)
        if not found:
            return False
        name, value = found[2].lower(), found[4] or ""
        if found[1] or found[3]:
            self._values.pop(name, None)
        else:
            self._set(name, value)
        return True

    def _set(self, name: str, value: str) -> None:
        if value.endswith(" \\"):
            value, self._continued = value[:-1], name
        if len(self._values) < MOST_ATTRIBUTES:
            self._values[name] = self.put_into(value)[:LONGEST_VALUE]

    def put_into(self, text: str) -> str:
        """The text with the values of attributes that are known."""
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, reference: re.Match[str]) -> str:
        value = self._values.get(reference[1].lower())
        if value is None or self._left < len(value):
            return reference[0]
        self._left -= len(value)
        return value


def _is_delimiter(line: str) -> bool:
    """Whether a line only bounds an example, a quotation, a sidebar or an open block."""
    return line == "--" or (len(line) >= 4 and line[0] in "=*_" and not line.strip(line[0]))


def _heading(line: str) -> tuple[int, str] | None:
    """Level and text of the heading that the line is."""
    rest = line.lstrip("=")
    level = len(line) - len(rest)
    if not 1 <= level <= 6 or not rest[:1].isspace():
        return None
    return level, without_closing_marks(rest.strip(), "=")


# ---------------------------------------------------------------------- tables


def _table(lines: list[str], form: str) -> Iterator[str]:
    """The rows of a table as Markdown writes them; the first is its head where the page says so."""
    first = next((number for number, line in enumerate(lines) if line), 0)
    cells = list(_cells(lines))
    columns = _columns_of(form) or sum(1 for _ in _cells(lines[first : first + 1])) or 1
    has_head = "header" in form or (first + 1 < len(lines) and not lines[first + 1] and "noheader" not in form)
    rows = iter(cells)
    while row := list(islice(rows, columns)):
        line = f"| {' | '.join(row)} |"
        yield f"{line}\n|{' --- |' * len(row)}" if has_head else line
        has_head = False


def _cells(lines: list[str]) -> Iterator[str]:
    """The texts of cells; what stands before a bar only says how its cell looks."""
    open_cell: list[str] | None = None
    span = 1
    for line in lines:
        before, *texts = line.replace("\\|", "\0").split("|")
        if not texts:
            if open_cell is not None:
                open_cell.append(before)
            continue
        for number, text in enumerate((before, *texts)):
            has_next = number < len(texts)
            shown = _CELL_FORM.sub("", text) if has_next else text
            if number:
                open_cell = [shown]
            elif open_cell is not None:
                open_cell.append(shown)
            if has_next and open_cell is not None:
                yield _cell(open_cell)
                open_cell = None
                yield from [""] * (span - 1)
            span = _span(text[len(shown) :]) if has_next else span
    if open_cell is not None:
        yield _cell(open_cell)
        yield from [""] * (span - 1)


def _span(form: str) -> int:
    """How many columns a cell of that form is wide; the others are empty."""
    found = _SPAN.match(form)
    return min(int(found[1]), MOST_COLUMNS) if found else 1


def _cell(parts: list[str]) -> str:
    return " ".join(" ".join(parts).split()).replace("\0", "\\|")


def _columns_of(form: str) -> int:
    """How many columns `[cols="1,2*"]` tells; 0 where it tells none."""
    found = _COLUMNS.search(form)
    if not found:
        return 0
    count = 0
    for part in (found[1] or found[2] or found[3]).split(","):
        repeated = _REPEATED.match(part.strip())
        count += int(repeated[1]) if repeated else 1
    return min(count, MOST_COLUMNS)
