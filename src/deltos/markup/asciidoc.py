"""Parser of AsciiDoc headings, anchors, listings, attributes and tables. Other markup is left unchanged."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import fenced, unique_slug, without_closing_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ATTRIBUTES = 500  # per page
MAX_VALUE_CHARACTERS = 500  # maximum number of characters of an attribute's value
MAX_SUBSTITUTED_CHARACTERS = 1_000_000  # maximum number of characters that attribute values may add to a page
MAX_COLUMNS = 50  # maximum number of columns of a table
_ANCHOR = re.compile(r"^\[\[([\w:.-]++)[^\]]*+\]\]$|^\[#([\w:.-]++)[^\]]*+\]$")
_SOURCE_ATTRIBUTES = re.compile(r"^\[(?:source|,)\s*+,?+\s*+([\w+#-]*+)[^\]]*+\]$")
_LISTING = re.compile(r"^(-{4,}|\.{4,})$")
_ATTRIBUTE = re.compile(r"^:(!?)([\w-]++)(!?):(?:[ \t]++(\S.*+))?$")
_ATTRIBUTE_REFERENCE = re.compile(r"\{([\w-]++)\}")
_COLUMNS = re.compile(r"""cols=(?:"([^"]*+)"|'([^']*+)'|([\w*]++))""")
_CELL_FORMAT = re.compile(r"(?:^|(?<=\s))(?:\d++(?:\.\d++)?+[*+]|\.\d++\+)?+[<^>]?+(?:\.[<^>])?+[adehlmsv]?+$")
_COLUMN_SPAN = re.compile(r"(\d{1,2}+)(?:\.\d++)?+\+")
_COLUMN_MULTIPLIER = re.compile(r"^(\d{1,2}+)\*")
_TITLE_MARKS = "=-~^+"
_ADMONITIONS = ("NOTE", "TIP", "WARNING", "IMPORTANT", "CAUTION")
_CONDITIONAL_DIRECTIVES = ("ifdef::", "ifndef::", "ifeval::", "endif::")
_TABLE_DELIMITER = "|==="
_BUILT_IN_ATTRIBUTES = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "plus": "+", "asterisk": "*", "backtick": "`",
    "amp": "&", "lt": "<", "gt": ">", "startsb": "[", "endsb": "]", "vbar": "|", "caret": "^", "tilde": "~",
    "apos": "'", "quot": '"', "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "deg": "°", "backslash": "\\",
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "pp": "++",
}  # fmt: skip


def parse_asciidoc(text: str, *, title: str = "") -> Document:
    """Parse an AsciiDoc page into sections."""
    reader = _AsciiDocReader()
    for line in text.replace("\r\n", "\n").split("\n"):
        reader.process_line(line.rstrip())
    reader.close_block()
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections)


class _AsciiDocReader:
    """Reads a page line by line, and adds headings and blocks to an outline."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._slugs: dict[str, int] = {}
        self._attributes = _Attributes()
        self._open: list[str] = []
        self._delimiter = ""
        self._language = ""
        self._block_attributes = ""  # attributes of the next block, such as [cols="1,2"]

    def process_line(self, line: str) -> None:
        """Process the next line of the page."""
        if self._delimiter:
            self._process_delimited_line(line)
        elif self._attributes.consume(line):
            pass
        elif level := self._underline_level(line):
            self._add_heading(level, self._open.pop())
        elif heading := _parse_heading(line):
            self.close_block()
            self._add_heading(*heading)
        elif _LISTING.match(line) or line == _TABLE_DELIMITER:
            self.close_block()
            self._delimiter = line
        elif not line:
            self.close_block()
        elif not line.startswith("//"):
            self._process_text_line(line)

    def _process_text_line(self, line: str) -> None:
        """Process a line of text, an anchor, or a line with attributes of the next block."""
        if anchor := _ANCHOR.match(line):
            self.close_block()
            self.outline.add_anchor(anchor.group(1) or anchor.group(2))
        elif source := _SOURCE_ATTRIBUTES.match(line):
            self._language = source.group(1)
        elif line[0] == "[" and line[-1] == "]" and "[" not in line[1:]:
            self._process_attribute_line(line)
        elif not _is_block_delimiter(line) and not line.startswith(_CONDITIONAL_DIRECTIVES):
            is_title = line[0] == "." and line[1:2].strip(". ") != ""  # a block title, such as .Example
            self._open.append(self._attributes.substitute(line[1:] if is_title else line))

    def _process_attribute_line(self, line: str) -> None:
        """Store the attributes of the next block.

        An admonition such as `[NOTE]` starts a paragraph with the text `NOTE:`.
        """
        self.close_block()
        self._block_attributes = line
        if (kind := line[1:-1]) in _ADMONITIONS:
            self._open.append(f"{kind}:")

    def _underline_level(self, line: str) -> int:
        """Return the heading level if the line underlines a title on the previous line, otherwise 0."""
        if not line or line[0] not in _TITLE_MARKS or line.strip(line[0]) or len(self._open) != 1:
            return 0
        title = self._open[0]
        is_title = abs(len(line) - len(title)) <= 2 and len(line) > 1 and title[0].isalnum() and title[-1] != ":"
        return _TITLE_MARKS.index(line[0]) + 1 if is_title else 0

    def _add_heading(self, level: int, title: str) -> None:
        title = self._attributes.substitute(title)
        own = self.outline.take_pending()
        generated = "_" + unique_slug(title, self._slugs).replace("-", "_")
        self.outline.start_section(level, title, own[::-1] or [generated])
        self._block_attributes = ""

    def _process_delimited_line(self, line: str) -> None:
        if line != self._delimiter:
            self._open.append(line)
            return
        self._delimiter, lines, self._open = "", self._open, []
        if line == _TABLE_DELIMITER:
            for row in _table_rows(lines, self._block_attributes):
                self.outline.add_block(self._attributes.substitute(row), "row")
        else:
            self.outline.add_block(fenced("\n".join(lines), self._language), "code")
        self._language = self._block_attributes = ""

    def close_block(self) -> None:
        """Add the collected lines of the current block to the outline."""
        if self._open and self._delimiter == _TABLE_DELIMITER:  # The page ends inside a table.
            self._open = [self._attributes.substitute(line) for line in self._open]
        self.outline.add_block("\n".join(self._open))
        self._open = []


class _Attributes:
    """Attributes that a document defines (`:name: value`) and uses in its text (`{name}`)."""

    def __init__(self) -> None:
        self._values = dict(_BUILT_IN_ATTRIBUTES)
        self._remaining_characters = MAX_SUBSTITUTED_CHARACTERS
        self._continued_name = ""

    def consume(self, line: str) -> bool:
        """Store the attribute that a line defines or continues. Return False if the line does neither."""
        if self._continued_name:
            name, self._continued_name = self._continued_name, ""
            self._set_value(name, self._values.get(name, "") + line.strip())
            return True
        found = _ATTRIBUTE.match(line)
        if not found:
            return False
        name, value = found[2].lower(), found[4] or ""
        if found[1] or found[3]:
            self._values.pop(name, None)
        else:
            self._set_value(name, value)
        return True

    def _set_value(self, name: str, value: str) -> None:
        if value.endswith(" \\"):
            value, self._continued_name = value[:-1], name
        if len(self._values) < MAX_ATTRIBUTES:
            self._values[name] = self.substitute(value)[:MAX_VALUE_CHARACTERS]

    def substitute(self, text: str) -> str:
        """Replace references to known attributes in a text with the values of the attributes."""
        return _ATTRIBUTE_REFERENCE.sub(self._attribute_value, text) if "{" in text else text

    def _attribute_value(self, reference: re.Match[str]) -> str:
        """Return the value of a referenced attribute, or the reference itself if it is unknown or too long."""
        value = self._values.get(reference[1].lower())
        if value is None or self._remaining_characters < len(value):
            return reference[0]
        self._remaining_characters -= len(value)
        return value


def _is_block_delimiter(line: str) -> bool:
    """Whether a line marks the start or end of an example, quotation, sidebar or open block."""
    return line == "--" or (len(line) >= 4 and line[0] in "=*_" and not line.strip(line[0]))


def _parse_heading(line: str) -> tuple[int, str] | None:
    """Return the level and text of a heading line, or None for any other line."""
    rest = line.lstrip("=")
    level = len(line) - len(rest)
    if not 1 <= level <= 6 or not rest[:1].isspace():
        return None
    return level, without_closing_marks(rest.strip(), "=")


# ---------------------------------------------------------------------- tables


def _table_rows(lines: list[str], table_attributes: str) -> Iterator[str]:
    """Yield the rows of a table in Markdown syntax. Whether the first row is a header depends on the attributes."""
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
    """Yield the text of each table cell without the cell's format specifier."""
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
                yield _join_cell(open_cell)
                open_cell = None
                yield from [""] * (span - 1)
            span = _column_span(text[len(shown) :]) if has_next else span
    if open_cell is not None:
        yield _join_cell(open_cell)
        yield from [""] * (span - 1)


def _column_span(format_specifier: str) -> int:
    """Return the number of columns that a cell spans, given a format specifier such as `2+`."""
    found = _COLUMN_SPAN.match(format_specifier)
    return min(int(found[1]), MAX_COLUMNS) if found else 1


def _join_cell(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split()).replace("\0", "\\|")


def _column_count(table_attributes: str) -> int:
    """Return the number of columns in an attribute such as `[cols="1,2*"]`, or 0 if the attribute is missing."""
    found = _COLUMNS.search(table_attributes)
    if not found:
        return 0
    count = 0
    for part in (found[1] or found[2] or found[3]).split(","):
        repeated = _COLUMN_MULTIPLIER.match(part.strip())
        count += int(repeated[1]) if repeated else 1
    return min(count, MAX_COLUMNS)
