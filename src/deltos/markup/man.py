"""Parser of manual pages (roff with man or mdoc macros). Options become reference entries, examples become code.

Macros are not run: their definitions, conditions and includes are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import collapse, fenced, unique_slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_CHECKED_LINES = 300  # lines searched for a macro by `is_man_page`
_FIRST_MACROS = (b".TH", b".Dd", b".Dt", b".SH", b".Sh")
_ENTRY_RANK = 10  # deeper than any heading; nested entries add to it
_MAX_ENTRY_DEPTH = 20
_MAX_OPTION_CHARACTERS = 200  # maximum length of a paragraph that may be an option
_BREAK = "\n"
_BULLETS = frozenset("•*-o+·")
_JOINED_FONTS = frozenset("BR RB IR RI BI IB SB BS".split())
_SPACED_FONTS = frozenset("B I SM R CW".split())
_CHARACTERS = {
    "aq": "'", "dq": '"', "bu": "•", "em": "—", "en": "–", "hy": "-", "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
    "co": "©", "rg": "®", "tm": "™", "mu": "×", "->": "→", "<-": "←", "rs": "\\", "ti": "~", "ha": "^", "ga": "`",
    "at": "@", "sh": "#", "Do": "$", "ul": "_", "ba": "|", "or": "|", "la": "⟨", "ra": "⟩", "lB": "[", "rB": "]",
    "lC": "{", "rC": "}", "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "+-": "±", "de": "°", "sc": "§", "14": "¼",
    "12": "½", "34": "¾", "mi": "-", "pl": "+", "eq": "=", "sl": "/", "Aq": "'", "Tm": "™", "R": "®",
}  # fmt: skip
_ESCAPES = {
    "-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "'": "'", "`": "`", ".": ".", '"': "",
}  # fmt: skip
_DELIMITED_ESCAPES = frozenset("hvwoLlDbAXHSxNCRBZ")  # escapes with a delimited argument: \h'…'
_NAMED_ESCAPES = frozenset("fFmMnkgVY*s")  # escapes with a name: \fB, \f(CW, \f[B] (fonts, colours, registers, strings)
_WRAPPING_MACROS = {
    "Op": "[]", "Dq": "“”", "Sq": "‘’", "Ql": "‘’", "Qq": '""', "Pq": "()", "Aq": "<>", "Bq": "[]", "Brq": "{}",
}  # fmt: skip
_INLINE_MACROS = frozenset(
    """Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Em Er Ev Ex Fa Fl Fn Fr Ft Fx Ic In Li Lk Ms Mt Nd Nm No Ns Nx Oc Oo Ot Ox Pa
    Pf Rv St Sx Sy Tn Ux Va Vt Xc Xo Xr""".split()
).union(_WRAPPING_MACROS)
_MACRO_TEXTS = {"Oo": "[", "Oc": "]", "Fl": "-", "Ns": "", "Ap": "'", "Nd": "—", "Ux": "UNIX"}
_NO_SPACE_BEFORE = frozenset(("Oc", "Ns", "Ap"))
_NO_SPACE_AFTER = frozenset(("Oo", "Fl", "Ns", "Ap", "Pf")).union(_WRAPPING_MACROS)
_CLOSING_PUNCTUATION = frozenset(".,;:)]?!")


def is_man_page(data: bytes) -> bool:
    """Whether the data contains manual page macros. The suffix `.1` is not enough, because other files use it too."""
    lines = data[:64_000].split(b"\n", _MAX_CHECKED_LINES)[:_MAX_CHECKED_LINES]
    return b"\0" not in data[:1024] and any(line.startswith(_FIRST_MACROS) for line in lines)


def parse_man(text: str, *, title: str = "") -> Document:
    """Parse a manual page."""
    page = _ManPageReader()
    for line in text.split("\n"):
        page.process_line(line.rstrip("\r"))
    page.close_blocks()
    sections = page.outline.sections()
    return Document(title=page.title or title or first_heading(sections), sections=sections)


class _ManPageReader:
    """Line reader that builds an outline and collects the open paragraph or code block."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.title = ""
        self._name = ""
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._is_item = False
        self._code: list[str] | None = None
        self._skip_until = ""  # line that ends the ignored lines
        self._table: list[str] | None = None
        self._next_text_handler: Callable[[str], None] | None = None  # called with the next line of text
        self._depth = 0
        self._macro_handlers: dict[str, Callable[[list[str]], None]] = {
            "TH": self._set_title, "Dt": self._set_title, "SH": self._start_section, "Sh": self._start_section,
            "SS": self._start_subsection, "Ss": self._start_subsection, "TP": self._start_tagged_entry,
            "TQ": self._continue_tagged_entry, "IP": self._start_indented, "It": self._start_list_item,
            "PP": self._start_paragraph, "P": self._start_paragraph,
            "LP": self._start_paragraph, "Pp": self._start_paragraph, "HP": self._start_paragraph, "sp": self._flush,
            "br": self._break_line, "nf": self._start_code, "EX": self._start_code, "Bd": self._start_code,
            "RS": self._start_indentation, "Bl": self._start_indentation, "RE": self._end_indentation,
            "El": self._end_indentation, "TS": self._start_table,
            "OP": self._add_option, "SY": self._start_synopsis, "UR": self._add_words, "MT": self._add_words,
            "Dl": self._add_code_line, "D1": self._add_code_line, "de": self._skip_macro_definition,
            "ig": self._skip_macro_definition, "am": self._skip_macro_definition,
        }  # fmt: skip

    def process_line(self, line: str) -> None:
        """Process the next line."""
        if self._skip_until:
            self._skip_until = "" if line.strip() == self._skip_until else self._skip_until
        elif self._table is not None:
            self._add_table_line(line)
        elif line[:1] in (".", "'"):
            self._run_macro(line[1:].lstrip(" \t"))
        elif self._code is not None:
            self._code.append(unescape_roff(line))
        elif not line.strip():
            self._flush([])
        else:
            self._add_text(unescape_roff(line))

    def close_blocks(self) -> None:
        """Close the open table, code block and paragraph."""
        if self._table is not None:
            self._end_table()
        self._end_code()
        self._flush([])

    # ------------------------------------------------------------------ lines

    def _run_macro(self, line: str) -> None:
        """Run the handler of the macro on a control line."""
        name, _, rest = line.partition(" ")
        name, _, more = name.partition("\t")
        if name.startswith('\\"') or not name:
            return
        words = [unescape_roff(word) for word in _split_arguments(f"{more} {rest}")]
        if name in ("fi", "EE", "Ed"):
            self._end_code()
        elif name in _JOINED_FONTS and words:
            self._add_text("".join(words))
        elif name in _SPACED_FONTS and words:
            self._add_text(" ".join(words))
        elif name in _INLINE_MACROS:
            self._add_text(self._format_inline([name, *words]))
        elif (macro := self._macro_handlers.get(name)) is not None and (self._code is None or name not in ("sp", "br")):
            macro(words)
        elif self._code is not None and name == "sp":
            self._code.append("")

    def _add_text(self, text: str) -> None:
        """Add text to the open heading, code block or paragraph."""
        if self._next_text_handler is not None:
            use, self._next_text_handler = self._next_text_handler, None
            use(text)
        elif self._code is not None:
            self._code.append(text)
        else:
            self._open.append(text)

    # ------------------------------------------------------------------ headings and entries

    def _set_title(self, words: list[str]) -> None:
        if words and not self.title:
            name = words[0].lower() if words[0].isupper() else words[0]
            self.title = f"{name}({words[1]})" if len(words) > 1 else name

    def _start_section(self, words: list[str]) -> None:
        self._start_heading(2, words)

    def _start_subsection(self, words: list[str]) -> None:
        self._start_heading(3, words)

    def _start_heading(self, rank: int, words: list[str]) -> None:
        self.close_blocks()
        self._depth = 0
        text = collapse(" ".join(words))
        if text:
            self.outline.start_section(rank, text, [unique_slug(text, self._slugs)])
        else:
            self._next_text_handler = lambda line: self._start_heading(rank, [line])

    def _start_tagged_entry(self, _: list[str]) -> None:
        self._flush([])
        self._next_text_handler = self._start_entry

    def _continue_tagged_entry(self, _: list[str]) -> None:
        self._next_text_handler = self._add_entry_name

    def _start_entry(self, tag: str) -> None:
        """Start a list item if the tag is a bullet or number, or a definition."""
        tag = collapse(tag)
        if tag in _BULLETS or tag.rstrip(".)").isdigit() or not tag:
            self._is_item = True
        else:
            self.outline.start_section(self._entry_rank, tag, [unique_slug(tag, self._slugs)], is_definition=True)

    def _add_entry_name(self, tag: str) -> None:
        """Add the tag as a further name of the current definition, or start a new definition."""
        tag = collapse(tag)
        if not self.outline.add_heading_name(self._entry_rank, tag, [unique_slug(tag, self._slugs)]):
            self._start_entry(tag)

    @property
    def _entry_rank(self) -> int:
        return _ENTRY_RANK + min(self._depth, _MAX_ENTRY_DEPTH)

    def _start_indented(self, words: list[str]) -> None:
        self._flush([])
        if words and words[0].strip():
            self._start_entry(words[0])

    def _start_list_item(self, words: list[str]) -> None:
        self._flush([])
        self._start_entry(self._format_inline(words) if words else "•")

    def _start_paragraph(self, _: list[str]) -> None:
        self._flush([])
        if not self._depth:
            self.outline.close_sections(_ENTRY_RANK)

    def _start_indentation(self, _: list[str]) -> None:
        option = collapse(" ".join(self._open))
        # Generated pages write an option as a paragraph before the indented text instead of using .TP.
        if option.startswith(("-", "+")) and len(option) <= _MAX_OPTION_CHARACTERS:
            self._open = []
            self._start_entry(option)
        self._flush([])
        self._depth += 1

    def _end_indentation(self, _: list[str]) -> None:
        self._flush([])
        self.outline.close_sections(self._entry_rank)
        self._depth = max(0, self._depth - 1)

    # ------------------------------------------------------------------ text

    def _flush(self, _: list[str]) -> None:
        """Add the open paragraph to the outline."""
        lines = " ".join(self._open).split(_BREAK)
        text = _BREAK.join(filter(None, map(collapse, lines)))
        self.outline.add_block(f"- {text}" if self._is_item and text else text, "item" if self._is_item else "prose")
        self._open, self._is_item, self._next_text_handler = [], False, None

    def _break_line(self, _: list[str]) -> None:
        self._open.append(_BREAK)

    def _add_words(self, words: list[str]) -> None:
        self._add_text(" ".join(words))

    def _add_option(self, words: list[str]) -> None:
        self._add_text(f"[{' '.join(words)}]")

    def _start_synopsis(self, words: list[str]) -> None:
        self._flush([])
        self._add_words(words)

    def _skip_macro_definition(self, words: list[str]) -> None:
        self._skip_until = f".{words[1]}" if len(words) > 1 else ".."

    def _format_inline(self, words: list[str]) -> str:
        """Convert a line of inline mdoc macros to text."""
        pieces: list[str] = []
        closing_marks: list[str] = []
        joins_previous = True
        parts = iter(words)
        for word in parts:
            if word in _CLOSING_PUNCTUATION:
                pieces += reversed(closing_marks)
                closing_marks = []
            piece = self._format_word(word, parts)
            if piece is None:
                continue
            if not joins_previous and word not in _NO_SPACE_BEFORE and word not in _CLOSING_PUNCTUATION:
                pieces.append(" ")
            pieces.append(piece)
            if word in _WRAPPING_MACROS:
                closing_marks.append(_WRAPPING_MACROS[word][1])
            joins_previous = word in _NO_SPACE_AFTER
        return "".join((*pieces, *reversed(closing_marks)))

    def _format_word(self, word: str, following: Iterator[str]) -> str | None:
        """Return the text for one word of an mdoc line, or None for a macro that only changes the font."""
        if word in _WRAPPING_MACROS:
            return _WRAPPING_MACROS[word][0]
        if word in _MACRO_TEXTS:
            return _MACRO_TEXTS[word]
        if word == "Xr":
            return f"{next(following, '')}({next(following, '')})"
        if word == "Nm":
            self._name = next(following, "") or self._name
            return self._name
        if word == "Pf":
            return next(following, "")
        return None if word in _INLINE_MACROS else word

    # ------------------------------------------------------------------ examples and tables

    def _start_code(self, _: list[str]) -> None:
        self._flush([])
        self._code = self._code if self._code is not None else []

    def _end_code(self) -> None:
        lines, self._code = self._code, None
        text = "\n".join(lines or ()).strip("\n")
        if text.strip():
            self.outline.add_block(fenced(text), "code")

    def _add_code_line(self, words: list[str]) -> None:
        self._flush([])
        self.outline.add_block(fenced(self._format_inline(words)), "code")

    def _start_table(self, _: list[str]) -> None:
        self._flush([])
        self._table = []

    def _add_table_line(self, line: str) -> None:
        if line.startswith(".TE"):
            self._end_table()
        elif self._table is not None and line[:1] not in (".", "'"):
            self._table.append(line)

    def _end_table(self) -> None:
        """Add the rows of the open table to the outline."""
        lines, self._table = self._table or [], None
        # Rows begin after the layout specification, which ends with a period.
        start = next((at + 1 for at, line in enumerate(lines) if line.rstrip().endswith(".")), 0)
        for row in _table_rows(lines[start:]):
            self.outline.add_block(row, "row")


def _table_rows(lines: list[str]) -> Iterator[str]:
    """Yield the rows of a table as Markdown. Cells between T{ and T} have several lines."""
    open_lines: list[str] = []
    is_open = False
    for line in lines:
        open_lines.append(line)
        is_open = line.rstrip().endswith("T{") or (is_open and not line.startswith("T}"))
        if not is_open:
            cells = " ".join(open_lines).replace("T{", "").replace("T}", "").split("\t")
            if any(cell.strip("_= ") for cell in cells):
                yield f"| {' | '.join(collapse(unescape_roff(cell)) for cell in cells)} |"
            open_lines = []


def _split_arguments(text: str) -> list[str]:
    """Split the arguments of a macro at blanks. Quoted arguments may contain blanks and doubled quotes."""
    words: list[str] = []
    at, end = 0, len(text)
    while at < end:
        if text[at] in " \t":
            at += 1
        elif text.startswith('\\"', at):
            break
        elif text[at] == '"':
            word, at = _read_quoted(text, at + 1)
            words.append(word)
        else:
            start = at
            while at < end and text[at] not in " \t":
                at += 2 if text[at] == "\\" else 1
            words.append(text[start:at])
    return words


def _read_quoted(text: str, at: int) -> tuple[str, int]:
    """Return the quoted argument at position `at`, and the position after it."""
    pieces: list[str] = []
    while True:
        close = text.find('"', at)
        if close < 0:
            return "".join((*pieces, text[at:])), len(text)
        pieces.append(text[at:close])
        if text[close + 1 : close + 2] != '"':
            return "".join(pieces), close + 1
        pieces.append('"')
        at = close + 2


def unescape_roff(text: str) -> str:
    """Replace escape sequences with characters, and remove font changes, sizes and comments."""
    pieces = []
    at = 0
    while (escape := text.find("\\", at)) >= 0:
        pieces.append(text[at:escape])
        sign = text[escape + 1 : escape + 2]
        if sign == '"':
            return "".join(pieces)
        piece, at = _read_escape(text, sign, escape + 2)
        pieces.append(piece)
    pieces.append(text[at:])
    return "".join(pieces)


def _read_escape(text: str, sign: str, at: int) -> tuple[str, int]:
    """Return the text of an escape sequence, and the position after it."""
    if sign == "(":
        return _CHARACTERS.get(text[at : at + 2], ""), at + 2
    if sign in ("[", "C"):
        name, end = _read_delimited_text(text, at - (sign == "["), "[" if sign == "[" else "'")
        return _CHARACTERS.get(name, ""), end
    if sign in _NAMED_ESCAPES:
        name, end = _read_name(text, at, is_size=sign == "s")
        return (_CHARACTERS.get(name, "") if sign == "*" else ""), end
    if sign in _DELIMITED_ESCAPES and text[at : at + 1] == "'":
        return "", _read_delimited_text(text, at, "'")[1]
    return _ESCAPES.get(sign, ""), at


def _read_delimited_text(text: str, at: int, opening: str) -> tuple[str, int]:
    """Return the text between two delimiters (or up to the end of the text) and the position after it."""
    close = text.find("]" if opening == "[" else opening, at + 1)
    return (text[at + 1 : close], close + 1) if close >= 0 else (text[at + 1 :], len(text))


def _read_name(text: str, at: int, *, is_size: bool) -> tuple[str, int]:
    """Return the name of a font, register or string, and the position after it.

    A name is one character (`B`), two characters after `(` (`(CW`), or any text in square brackets (`[name]`).
    """
    if text[at : at + 1] in ("+", "-"):
        at += 1
    if text[at : at + 1] == "(":
        return text[at + 1 : at + 3], at + 3
    if text[at : at + 1] == "[":
        return _read_delimited_text(text, at, "[")
    if is_size and text[at : at + 2].isdigit() and text[at : at + 1] in ("1", "2", "3"):
        return text[at : at + 2], at + 2
    return text[at : at + 1], at + 1
