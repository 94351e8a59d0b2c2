"""AsciiDoc parser for headings, anchors, listings, attributes and tables. Other markup is left unchanged."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import fenced, unique_slug, without_closing_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ATTRIBUTES = 500
MAX_VALUE_CHARACTERS = 500  # per attribute
MAX_SUBSTITUTED_CHARACTERS = 1_000_000  # maximum text that attributes may insert into one page
MAX_COLUMNS = 50
_ANCHOR = re.compile(r"^\[\[([\w:.-]++)[^\]]*+\]\]$|^\[#([\w:.-]++)[^\]]*+\]$")
_SOURCE = re.compile(r"^\[(?:source|,)\s*+,?+\s*+([\w+#-]*+)[^\]]*+\]$")
_LISTING = re.compile(r"^(-{4,}|\.{4,})$")
_ATTRIBUTE = re.compile(r"^:(!?)([\w-]++)(!?):(?:[ \t]++(\S.*+))?$")
_REFERENCE = re.compile(r"\{([\w-]++)\}")
_COLUMNS = re.compile(r"""cols=(?:"([^"]*+)"|'([^']*+)'|([\w*]++))""")
_CELL_FORMAT = re.compile(r"(?:^|(?<=\s))(?:\d++(?:\.\d++)?+[*+]|\.\d++\+)?+[<^>]?+(?:\.[<^>])?+[adehlmsv]?+$")
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
    """Parse an AsciiDoc page."""
    reader = _AsciiDoc()
    for line in text.replace("\r\n", "\n").split("\n"):
        reader.line(line.rstrip())
    reader.end()
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections)


class _AsciiDoc:
    """Line reader that builds an outline and collects the lines of the open block."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._slugs: dict[str, int] = {}
        self._attributes = _Attributes()
        self._open: list[str] = []
        self._delimiter = ""
        self._language = ""
        self._block_attributes = ""  # the last line in brackets, which describes the next block

    def line(self, line: str) -> None:
        """Read the next line."""
        if self._delimiter:
            self._delimited_line(line)
        elif self._attributes.consume(line):
            pass
        elif level := self._underline_level(line):
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
            self._text_line(line)

    def _text_line(self, line: str) -> None:
        """Read a line that is not a heading and does not start a listing."""
        if anchor := _ANCHOR.match(line):
            self.end()
            self.outline.anchor(anchor.group(1) or anchor.group(2))
        elif source := _SOURCE.match(line):
            self._language = source.group(1)
        elif line[0] == "[" and line[-1] == "]" and "[" not in line[1:]:
            self._attribute_line(line)
        elif not _is_delimiter(line) and not line.startswith(_CONDITIONS):
            is_title = line[0] == "." and line[1:2].strip(". ") != ""  # the title of the next block
            self._open.append(self._attributes.substitute(line[1:] if is_title else line))

    def _attribute_line(self, line: str) -> None:
        """Store a line in brackets for the next block, and output the name of an admonition."""
        self.end()
        self._block_attributes = line
        if (kind := line[1:-1]) in _ADMONITIONS:
            self._open.append(f"{kind}:")

    def _underline_level(self, line: str) -> int:
        """Return the level of the heading if this line underlines the previous line, otherwise 0."""
        if not line or line[0] not in _TITLE_MARKS or line.strip(line[0]) or len(self._open) != 1:
            return 0
        title = self._open[0]
        is_title = abs(len(line) - len(title)) <= 2 and len(line) > 1 and title[0].isalnum() and title[-1] != ":"
        return _TITLE_MARKS.index(line[0]) + 1 if is_title else 0

    def _heading(self, level: int, title: str) -> None:
        title = self._attributes.substitute(title)
        own = self.outline.take_pending()
        generated = "_" + unique_slug(title, self._slugs).replace("-", "_")
        self.outline.heading(level, title, own[::-1] or [generated])
        self._block_attributes = ""

    def _delimited_line(self, line: str) -> None:
        if line != self._delimiter:
            self._open.append(line)
            return
        self._delimiter, lines, self._open = "", self._open, []
        if line == _TABLE:
            for row in _table_rows(lines, self._block_attributes):
                self.outline.block(self._attributes.substitute(row), "row")
        else:
            self.outline.block(fenced("\n".join(lines), self._language), "code")
        self._language = self._block_attributes = ""

    def end(self) -> None:
        """Close the open block."""
        if self._open and self._delimiter == _TABLE:  # an unclosed table
            self._open = [self._attributes.substitute(line) for line in self._open]
        self.outline.block("\n".join(self._open))
        self._open = []


class _Attributes:
    """Attributes that a page defines, with their substitution in its text."""

    def __init__(self) -> None:
        self._values = dict(_BUILT_IN)
        self._remaining_characters = MAX_SUBSTITUTED_CHARACTERS
        self._continued = ""

    def consume(self, line: str) -> bool:
        """Store the value if the line defines an attribute or continues one; return whether it does."""
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
        if len(self._values) < MAX_ATTRIBUTES:
            self._values[name] = self.substitute(value)[:MAX_VALUE_CHARACTERS]

    def substitute(self, text: str) -> str:
        """Return the text with references to known attributes replaced by their values."""
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, reference: re.Match[str]) -> str:
        value = self._values.get(reference[1].lower())
        if value is None or self._remaining_characters < len(value):
            return reference[0]
        self._remaining_characters -= len(value)
        return value


def _is_delimiter(line: str) -> bool:
    """Whether a line delimits an example, quotation, sidebar or open block."""
    return line == "--" or (len(line) >= 4 and line[0] in "=*_" and not line.strip(line[0]))


def _heading(line: str) -> tuple[int, str] | None:
    """Return the level and text of a heading line, or None for any other line."""
    rest = line.lstrip("=")
    level = len(line) - len(rest)
    if not 1 <= level <= 6 or not rest[:1].isspace():
        return None
    return level, without_closing_marks(rest.strip(), "=")


# ---------------------------------------------------------------------- tables


def _table_rows(lines: list[str], table_attributes: str) -> Iterator[str]:
    """Yield the rows of a table as Markdown; the first row is the header if the page marks it as such."""
    first = next((number for number, line in enumerate(lines) if line), 0)
    cells = list(_cells(lines))
    columns = _column_count(table_attributes) or sum(1 for _ in _cells(lines[first : first + 1])) or 1
    is_followed_by_blank = first + 1 < len(lines) and not lines[first + 1]
    has_header = "header" in table_attributes or (is_followed_by_blank and "noheader" not in table_attributes)
    rows = iter(cells)
    while row := list(islice(rows, columns)):
        line = f"| {' | '.join(row)} |"
        yield f"{line}\n|{' --- |' * len(row)}" if has_header else line
        has_header = False


def _cells(lines: list[str]) -> Iterator[str]:
    """Yield the texts of the cells, without the format specifiers before the bars."""
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
            shown = _CELL_FORMAT.sub("", text) if has_next else text
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


def _span(table_attributes: str) -> int:
    """Return the number of columns that a cell spans; the additional columns are left empty."""
    found = _SPAN.match(table_attributes)
    return min(int(found[1]), MAX_COLUMNS) if found else 1


def _cell(parts: list[str]) -> str:
    return " ".join(" ".join(parts).split()).replace("\0", "\\|")


def _column_count(table_attributes: str) -> int:
    """Return the number of columns in `[cols="1,2*"]`, or 0 if it is not given."""
    found = _COLUMNS.search(table_attributes)
    if not found:
        return 0
    count = 0
    for part in (found[1] or found[2] or found[3]).split(","):
        repeated = _REPEATED.match(part.strip())
        count += int(repeated[1]) if repeated else 1
    return min(count, MAX_COLUMNS)
