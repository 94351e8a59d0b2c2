"""Parser of manual pages (roff with man or mdoc macros).

Options become reference entries, and examples become code. Definitions of macros, conditions and includes are ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import collapse, fenced, unique_slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_CHECKED_LINES = 300  # maximum number of lines in which `is_man_page` searches for a macro
_FIRST_MACROS = (b".TH", b".Dd", b".Dt", b".SH", b".Sh")
_ENTRY_RANK = 10  # rank of entries, below all headings; each level of nested entries adds 1
_MAX_ENTRY_DEPTH = 20
_MAX_OPTION_CHARACTERS = 200  # a longer paragraph does not consist of the name of an option
_BREAK = "\n"
_BULLETS = frozenset("•*-o+·")
_JOINED_FONTS = frozenset("BR RB IR RI BI IB SB BS".split())
_PLAIN_TEXT_MACROS = frozenset("B I SM R CW UR MT".split())
_CODE_ENDS = frozenset(("fi", "EE", "Ed"))
_CHARACTERS = {
    "aq": "'", "dq": '"', "bu": "•", "em": "—", "en": "–", "hy": "-", "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
    "co": "©", "rg": "®", "tm": "™", "mu": "×", "->": "→", "<-": "←", "rs": "\\", "ti": "~", "ha": "^", "ga": "`",
    "at": "@", "sh": "#", "Do": "$", "ul": "_", "ba": "|", "or": "|", "la": "⟨", "ra": "⟩", "lB": "[", "rB": "]",
    "lC": "{", "rC": "}", "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "+-": "±", "de": "°", "sc": "§", "14": "¼",
    "12": "½", "34": "¾", "mi": "-", "pl": "+", "eq": "=", "sl": "/", "Aq": "'", "Tm": "™", "R": "®",
}  # fmt: skip
_ESCAPES = {
    "-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "'": "'", "`": "`", ".": ".",
}  # fmt: skip
# Alternatives of the pattern: comments, named characters and strings, fonts and registers, sizes, escapes with a
# delimited argument.
_ESCAPE = re.compile(
    r"""\\(?:"[^\n]*+|\*?\((?P<two>.?.?)|\*?\[(?P<long>[^\]]*+)\]?|C'(?P<quoted>[^']*+)'?|\*."""
    r"""|[fFmMnkgVY](?:\(.?.?|\[[^\]]*+\]?|.)?|s[+-]?(?:\(.?.?|\[[^\]]*+\]?|[123]\d|.)?"""
    r"""|[hvwoLlDbAXHSxNRBZ]'[^']*+'?|(?P<sign>.?))""",
    re.DOTALL,
)
_ARGUMENT = re.compile(r"""[ \t]++|(?P<comment>\\")|"(?P<quoted>[^"]*+)"?|(?P<word>(?:\\.?|[^ \t\\])++)""")
_WRAPPING_MACROS = {
    "Op": "[]", "Dq": "“”", "Sq": "‘’", "Ql": "‘’", "Qq": '""', "Pq": "()", "Aq": "<>", "Bq": "[]", "Brq": "{}",
}  # fmt: skip
_INLINE_MACROS = frozenset(
    """Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Em Er Ev Ex Fa Fl Fn Fr Ft Fx Ic In Li Lk Ms Mt Nd Nm No Ns Nx Oc Oo Ot Ox Pa
    Pf Rv St Sx Sy Tn Ux Va Vt Xc Xo Xr""".split()
).union(_WRAPPING_MACROS)
_MACRO_TEXTS = {"Oo": "[", "Oc": "]", "Fl": "-", "Ns": "", "Ap": "'", "Nd": "—", "Ux": "UNIX"}
_NO_SPACE_BEFORE = frozenset((*".,;:)]?!", "Oc", "Ns", "Ap"))
_NO_SPACE_AFTER = frozenset(("Oo", "Fl", "Ns", "Ap", "Pf")).union(_WRAPPING_MACROS)


def is_man_page(data: bytes) -> bool:
    """Whether the data contains macros of manual pages.

    The suffix `.1` is not enough, because other files use it, too.
    """
    lines = data[:64_000].split(b"\n", _MAX_CHECKED_LINES)[:_MAX_CHECKED_LINES]
    return b"\0" not in data[:1024] and any(line.startswith(_FIRST_MACROS) for line in lines)


def parse_man(text: str, *, title: str = "") -> Document:
    """Parse a manual page into sections."""
    page = _ManPageReader()
    for line in text.split("\n"):
        page.process_line(line.rstrip("\r"))
    page.close_blocks()
    sections = page.outline.sections()
    return Document(title=page.title or title or first_heading(sections), sections=sections)


class _ManPageReader:
    """Reads a page line by line, and adds headings, paragraphs, code blocks and tables to an outline."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.title = ""
        self._name = ""
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._is_item = False
        self._code: list[str] | None = None
        self._table: list[str] | None = None
        self._skip_until = ""  # lines are ignored up to this line
        self._next_text_handler: Callable[[str], None] | None = None  # called with the next line of text
        self._depth = 0

    def process_line(self, line: str) -> None:
        """Process the next line of the page."""
        if self._skip_until:
            self._skip_until = "" if line.strip() == self._skip_until else self._skip_until
        elif self._table is not None:
            if line.startswith(".TE"):
                self._end_table()
            elif line[:1] not in (".", "'"):
                self._table.append(line)
        elif line[:1] in (".", "'"):
            name, _, rest = line[1:].lstrip(" \t").replace("\t", " ", 1).partition(" ")
            if name and not name.startswith('\\"'):
                self._run_macro(name, [unescape_roff(word) for word in _split_arguments(rest)])
        elif self._code is not None or line.strip():
            self._add_text(unescape_roff(line))
        else:
            self._flush()

    def close_blocks(self) -> None:
        """Close the open table, code block and paragraph."""
        self._end_table()
        self._end_code()
        self._flush()

    def _run_macro(self, name: str, words: list[str]) -> None:
        """Process a line with a macro."""
        if name in _JOINED_FONTS or name in _PLAIN_TEXT_MACROS:
            if words:
                self._add_text(("" if name in _JOINED_FONTS else " ").join(words))
        elif name in _INLINE_MACROS:
            self._add_text(self._format_inline([name, *words]))
        elif name in _CODE_ENDS:
            self._end_code()
        elif self._code is not None and name in ("sp", "br"):
            self._code += [""] * (name == "sp")
        elif name in ("SH", "Sh", "SS", "Ss"):
            self._start_heading(2 if name[1] in "Hh" else 3, words)
        else:
            self._run_block_macro(name, words)

    def _run_block_macro(self, name: str, words: list[str]) -> None:
        """Process a macro that starts or ends a paragraph, an entry, a code block, a table or ignored lines."""
        match name:
            case "TH" | "Dt" if words and not self.title:
                own = words[0].lower() if words[0].isupper() else words[0]
                self.title = f"{own}({words[1]})" if len(words) > 1 else own
            case "br":
                self._open.append(_BREAK)
            case "OP":
                self._add_text(f"[{' '.join(words)}]")
            case "TQ":
                self._next_text_handler = self._add_entry_name
            case "de" | "ig" | "am":
                self._skip_until = f".{words[1]}" if len(words) > 1 else ".."
            case "RS" | "Bl":
                self._start_indentation()
            case "TP" | "IP" | "It" | "PP" | "P" | "LP" | "Pp" | "HP" | "sp" | "SY" | "nf" | "EX" | "Bd" | "RE" | "El":
                self._flush()
                self._start_block(name, words)
            case "TS":
                self._flush()
                self._table = []
            case "Dl" | "D1":
                self._flush()
                self.outline.add_block(fenced(self._format_inline(words)), "code")

    def _start_block(self, name: str, words: list[str]) -> None:
        """Close the previous block and start a paragraph, an entry or a code block."""
        match name:
            case "TP":
                self._next_text_handler = self._start_entry
            case "IP" if words and words[0].strip():
                self._start_entry(words[0])
            case "It":
                self._start_entry(self._format_inline(words) if words else "•")
            case "SY":
                self._add_text(" ".join(words))
            case "nf" | "EX" | "Bd":
                self._code = self._code if self._code is not None else []
            case "RE" | "El":
                self.outline.close_sections(self._entry_rank)
                self._depth = max(0, self._depth - 1)
            case "PP" | "P" | "LP" | "Pp" | "HP" if not self._depth:
                self.outline.close_sections(_ENTRY_RANK)

    def _add_text(self, text: str) -> None:
        """Add text to the open heading, code block or paragraph."""
        if self._next_text_handler is not None:
            use, self._next_text_handler = self._next_text_handler, None
            use(text)
        else:
            (self._open if self._code is None else self._code).append(text)

    def _start_heading(self, rank: int, words: list[str]) -> None:
        self.close_blocks()
        self._depth = 0
        if text := collapse(" ".join(words)):
            self.outline.start_section(rank, text, [unique_slug(text, self._slugs)])
        else:
            self._next_text_handler = lambda line: self._start_heading(rank, [line])

    def _start_entry(self, tag: str) -> None:
        """Start a list item if the tag is a bullet or a number, otherwise start a definition."""
        tag = collapse(tag)
        if tag in _BULLETS or tag.rstrip(".)").isdigit() or not tag:
            self._is_item = True
        else:
            self.outline.start_section(self._entry_rank, tag, [unique_slug(tag, self._slugs)], is_definition=True)

    def _add_entry_name(self, tag: str) -> None:
        """Add the tag as another name of the current definition, or start a new definition."""
        tag = collapse(tag)
        if not self.outline.add_heading_name(self._entry_rank, tag, [unique_slug(tag, self._slugs)]):
            self._start_entry(tag)

    @property
    def _entry_rank(self) -> int:
        return _ENTRY_RANK + min(self._depth, _MAX_ENTRY_DEPTH)

    def _start_indentation(self) -> None:
        option = collapse(" ".join(self._open))
        # Generated pages often have a paragraph with an option and an indented paragraph instead of the macro .TP.
        if option.startswith(("-", "+")) and len(option) <= _MAX_OPTION_CHARACTERS:
            self._open = []
            self._start_entry(option)
        self._flush()
        self._depth += 1

    def _flush(self) -> None:
        """Add the collected lines of the current paragraph to the outline."""
        lines = " ".join(self._open).split(_BREAK)
        text = _BREAK.join(filter(None, map(collapse, lines)))
        self.outline.add_block(f"- {text}" if self._is_item and text else text, "item" if self._is_item else "prose")
        self._open, self._is_item, self._next_text_handler = [], False, None

    def _end_code(self) -> None:
        lines, self._code = self._code, None
        if (text := "\n".join(lines or ()).strip("\n")).strip():
            self.outline.add_block(fenced(text), "code")

    def _end_table(self) -> None:
        """Add the rows of the open table to the outline. A cell between T{ and T} may have several lines."""
        lines, self._table = self._table or [], None
        # Rows begin after the description of the columns, which ends with a period.
        start = next((at + 1 for at, line in enumerate(lines) if line.rstrip().endswith(".")), 0)
        row: list[str] = []
        is_open = False
        for line in lines[start:]:
            row.append(line)
            is_open = line.rstrip().endswith("T{") or (is_open and not line.startswith("T}"))
            if not is_open:
                cells = " ".join(row).replace("T{", "").replace("T}", "").split("\t")
                if any(cell.strip("_= ") for cell in cells):
                    self.outline.add_block(f"| {' | '.join(collapse(unescape_roff(cell)) for cell in cells)} |", "row")
                row = []

    def _format_inline(self, words: list[str]) -> str:
        """Convert a line of inline mdoc macros to text."""
        pieces: list[str] = []
        closing_marks: list[str] = []
        joins_previous = True
        parts = iter(words)
        for word in parts:
            if word in _NO_SPACE_BEFORE and word not in _INLINE_MACROS:  # The word is a punctuation mark.
                pieces += reversed(closing_marks)
                closing_marks = []
            piece = self._format_word(word, parts)
            if piece is None:
                continue
            pieces += [piece] if joins_previous or word in _NO_SPACE_BEFORE else [" ", piece]
            closing_marks += _WRAPPING_MACROS.get(word, "")[1:]
            joins_previous = word in _NO_SPACE_AFTER
        return "".join((*pieces, *reversed(closing_marks)))

    def _format_word(self, word: str, following: Iterator[str]) -> str | None:
        """Return the text of one word in an mdoc line, or None if the word is a macro that only changes the font."""
        match word:
            case "Xr":
                return f"{next(following, '')}({next(following, '')})"
            case "Nm":
                self._name = next(following, "") or self._name
                return self._name
            case "Pf":
                return next(following, "")
        known = _WRAPPING_MACROS.get(word, "")[:1] or _MACRO_TEXTS.get(word)
        return known if known is not None or word in _INLINE_MACROS else word


def _split_arguments(text: str) -> Iterator[str]:
    """Yield the arguments of a macro. Quoted arguments may contain blanks."""
    for found in _ARGUMENT.finditer(text):
        if found["comment"]:
            return
        if found.lastgroup:
            yield found[found.lastgroup]


def unescape_roff(text: str) -> str:
    """Replace escape sequences with characters, and remove font changes, sizes and comments."""
    return _ESCAPE.sub(_escaped_character, text) if "\\" in text else text


def _escaped_character(found: re.Match[str]) -> str:
    name = found["two"] or found["long"] or found["quoted"]
    return _CHARACTERS.get(name, "") if name else _ESCAPES.get(found["sign"] or "", "")
