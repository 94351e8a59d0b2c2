"""Manual pages to sections: roff with the macros man or mdoc. Options are entries of a reference, examples are code.

Read line by line and never run: macros that a page defines itself, conditions and includes are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import collapse, fenced, unique_slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FIRST_LINES = 300
_OPENINGS = (b".TH", b".Dd", b".Dt", b".SH", b".Sh")
_ENTRY_RANK = 10  # below every heading; nested entries rank deeper
_DEEPEST_ENTRY = 20
_LONGEST_OPTION = 200
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
_DELIMITED = frozenset("hvwoLlDbAXHSxNCRBZ")  # \h'…'
_NAMED = frozenset("fFmMnkgVY*s")  # \fB, \f(CW, \f[B]: fonts, colours, registers, strings
_WRAPPED = {
    "Op": "[]", "Dq": "“”", "Sq": "‘’", "Ql": "‘’", "Qq": '""', "Pq": "()", "Aq": "<>", "Bq": "[]", "Brq": "{}",
}  # fmt: skip
_INLINE = frozenset(
    """Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Em Er Ev Ex Fa Fl Fn Fr Ft Fx Ic In Li Lk Ms Mt Nd Nm No Ns Nx Oc Oo Ot Ox Pa
    Pf Rv St Sx Sy Tn Ux Va Vt Xc Xo Xr""".split()
).union(_WRAPPED)
_PIECES = {"Oo": "[", "Oc": "]", "Fl": "-", "Ns": "", "Ap": "'", "Nd": "—", "Ux": "UNIX"}
_GLUED_BEFORE = frozenset(("Oc", "Ns", "Ap"))
_GLUED_BEHIND = frozenset(("Oo", "Fl", "Ns", "Ap", "Pf")).union(_WRAPPED)
_CLOSING = frozenset(".,;:)]?!")


def is_man_page(data: bytes) -> bool:
    """Whether bytes open as a manual page does: names that end in a number are borne by much else."""
    lines = data[:64_000].split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    return b"\0" not in data[:1024] and any(line.startswith(_OPENINGS) for line in lines)


def parse_man(text: str, *, title: str = "") -> Document:
    """The sections of a manual page."""
    page = _Page()
    for line in text.split("\n"):
        page.line(line.rstrip("\r"))
    page.end()
    sections = page.outline.sections()
    return Document(title=page.title or title or first_heading(sections), sections=sections)


class _Page:
    """Feeds lines into an outline, keeping the paragraph or example that is still open."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.title = ""
        self._name = ""
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._is_item = False
        self._code: list[str] | None = None
        self._until = ""  # leave everything out up to this line
        self._table: list[str] | None = None
        self._next: Callable[[str], None] | None = None  # what the next line of text is for
        self._depth = 0
        self._macros: dict[str, Callable[[list[str]], None]] = {
            "TH": self._titled, "Dt": self._titled, "SH": self._section, "Sh": self._section,
            "SS": self._subsection, "Ss": self._subsection, "TP": self._tagged, "TQ": self._also_tagged,
            "IP": self._indented, "It": self._listed, "PP": self._paragraph, "P": self._paragraph,
            "LP": self._paragraph, "Pp": self._paragraph, "HP": self._paragraph, "sp": self._flushed,
            "br": self._broken, "nf": self._code_begun, "EX": self._code_begun, "Bd": self._code_begun,
            "RS": self._deeper, "Bl": self._deeper, "RE": self._higher, "El": self._higher, "TS": self._table_begun,
            "OP": self._option, "SY": self._synopsis, "UR": self._said, "MT": self._said, "Dl": self._code_line,
            "D1": self._code_line, "de": self._defined, "ig": self._defined, "am": self._defined,
        }  # fmt: skip

    def line(self, line: str) -> None:
        """Take in one line."""
        if self._until:
            self._until = "" if line.strip() == self._until else self._until
        elif self._table is not None:
            self._table_line(line)
        elif line[:1] in (".", "'"):
            self._control(line[1:].lstrip(" \t"))
        elif self._code is not None:
            self._code.append(shown(line))
        elif not line.strip():
            self._flushed([])
        else:
            self._say(shown(line))

    def end(self) -> None:
        """Close what is open."""
        if self._table is not None:
            self._table_ended()
        self._code_ended()
        self._flushed([])

    # ------------------------------------------------------------------ lines

    def _control(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        name, _, more = name.partition("\t")
        if name.startswith('\\"') or not name:
            return
        words = [shown(word) for word in _arguments(f"{more} {rest}")]
        if name in ("fi", "EE", "Ed"):
            self._code_ended()
        elif name in _JOINED_FONTS and words:
            self._say("".join(words))
        elif name in _SPACED_FONTS and words:
            self._say(" ".join(words))
        elif name in _INLINE:
            self._say(self._written([name, *words]))
        elif (macro := self._macros.get(name)) is not None and (self._code is None or name not in ("sp", "br")):
            macro(words)
        elif self._code is not None and name == "sp":
            self._code.append("")

    def _say(self, text: str) -> None:
        if self._next is not None:
            use, self._next = self._next, None
            use(text)
        elif self._code is not None:
            self._code.append(text)
        else:
            self._open.append(text)

    # ------------------------------------------------------------------ headings and entries

    def _titled(self, words: list[str]) -> None:
        if words and not self.title:
            name = words[0].lower() if words[0].isupper() else words[0]
            self.title = f"{name}({words[1]})" if len(words) > 1 else name

    def _section(self, words: list[str]) -> None:
        self._heading(2, words)

    def _subsection(self, words: list[str]) -> None:
        self._heading(3, words)

    def _heading(self, rank: int, words: list[str]) -> None:
        self.end()
        self._depth = 0
        text = collapse(" ".join(words))
        if text:
            self.outline.heading(rank, text, [unique_slug(text, self._slugs)])
        else:
            self._next = lambda line: self._heading(rank, [line])

    def _tagged(self, _: list[str]) -> None:
        self._flushed([])
        self._next = self._entry

    def _also_tagged(self, _: list[str]) -> None:
        self._next = self._further_entry

    def _entry(self, tag: str) -> None:
        tag = collapse(tag)
        if tag in _BULLETS or tag.rstrip(".)").isdigit() or not tag:
            self._is_item = True
        else:
            self.outline.heading(self._rank, tag, [unique_slug(tag, self._slugs)], is_definition=True)

    def _further_entry(self, tag: str) -> None:
        tag = collapse(tag)
        if not self.outline.another_heading(self._rank, tag, [unique_slug(tag, self._slugs)]):
            self._entry(tag)

    @property
    def _rank(self) -> int:
        return _ENTRY_RANK + min(self._depth, _DEEPEST_ENTRY)

    def _indented(self, words: list[str]) -> None:
        self._flushed([])
        if words and words[0].strip():
            self._entry(words[0])

    def _listed(self, words: list[str]) -> None:
        self._flushed([])
        self._entry(self._written(words) if words else "•")

    def _paragraph(self, _: list[str]) -> None:
        self._flushed([])
        if not self._depth:
            self.outline.leave(_ENTRY_RANK)

    def _deeper(self, _: list[str]) -> None:
        option = collapse(" ".join(self._open))
        if option.startswith(("-", "+")) and len(option) <= _LONGEST_OPTION:  # generated pages have no .TP
            self._open = []
            self._entry(option)
        self._flushed([])
        self._depth += 1

    def _higher(self, _: list[str]) -> None:
        self._flushed([])
        self.outline.leave(self._rank)
        self._depth = max(0, self._depth - 1)

    # ------------------------------------------------------------------ text

    def _flushed(self, _: list[str]) -> None:
        lines = " ".join(self._open).split(_BREAK)
        text = _BREAK.join(filter(None, map(collapse, lines)))
        self.outline.block(f"- {text}" if self._is_item and text else text, "item" if self._is_item else "prose")
        self._open, self._is_item, self._next = [], False, None

    def _broken(self, _: list[str]) -> None:
        self._open.append(_BREAK)

    def _said(self, words: list[str]) -> None:
        self._say(" ".join(words))

    def _option(self, words: list[str]) -> None:
        self._say(f"[{' '.join(words)}]")

    def _synopsis(self, words: list[str]) -> None:
        self._flushed([])
        self._said(words)

    def _defined(self, words: list[str]) -> None:
        self._until = f".{words[1]}" if len(words) > 1 else ".."

    def _written(self, words: list[str]) -> str:
        """A line of mdoc's inline macros as it is read."""
        pieces: list[str] = []
        closers: list[str] = []
        is_glued = True
        parts = iter(words)
        for word in parts:
            if word in _CLOSING:
                pieces += reversed(closers)
                closers = []
            piece = self._piece(word, parts)
            if piece is None:
                continue
            if not is_glued and word not in _GLUED_BEFORE and word not in _CLOSING:
                pieces.append(" ")
            pieces.append(piece)
            if word in _WRAPPED:
                closers.append(_WRAPPED[word][1])
            is_glued = word in _GLUED_BEHIND
        return "".join((*pieces, *reversed(closers)))

    def _piece(self, word: str, following: Iterator[str]) -> str | None:
        """What one word of such a line adds; None for a macro that only says how the next is drawn."""
        if word in _WRAPPED:
            return _WRAPPED[word][0]
        if word in _PIECES:
            return _PIECES[word]
        if word == "Xr":
            return f"{next(following, '')}({next(following, '')})"
        if word == "Nm":
            self._name = next(following, "") or self._name
            return self._name
        if word == "Pf":
            return next(following, "")
        return None if word in _INLINE else word

    # ------------------------------------------------------------------ examples and tables

    def _code_begun(self, _: list[str]) -> None:
        self._flushed([])
        self._code = self._code if self._code is not None else []

    def _code_ended(self) -> None:
        lines, self._code = self._code, None
        text = "\n".join(lines or ()).strip("\n")
        if text.strip():
            self.outline.block(fenced(text), "code")

    def _code_line(self, words: list[str]) -> None:
        self._flushed([])
        self.outline.block(fenced(self._written(words)), "code")

    def _table_begun(self, _: list[str]) -> None:
        self._flushed([])
        self._table = []

    def _table_line(self, line: str) -> None:
        if line.startswith(".TE"):
            self._table_ended()
        elif self._table is not None and line[:1] not in (".", "'"):
            self._table.append(line)

    def _table_ended(self) -> None:
        """Rows of cells; what stands above them says only how they are drawn."""
        lines, self._table = self._table or [], None
        start = next((at + 1 for at, line in enumerate(lines) if line.rstrip().endswith(".")), 0)
        for row in _rows(lines[start:]):
            self.outline.block(row, "row")


def _rows(lines: list[str]) -> Iterator[str]:
    """The rows of a table; a cell between T{ and T} goes over several lines."""
    held: list[str] = []
    is_open = False
    for line in lines:
        held.append(line)
        is_open = line.rstrip().endswith("T{") or (is_open and not line.startswith("T}"))
        if not is_open:
            cells = " ".join(held).replace("T{", "").replace("T}", "").split("\t")
            if any(cell.strip("_= ") for cell in cells):
                yield f"| {' | '.join(collapse(shown(cell)) for cell in cells)} |"
            held = []


def _arguments(text: str) -> list[str]:
    """The words of a macro; those in quotes may hold blanks, and two quotes stand for one."""
    words: list[str] = []
    at, end = 0, len(text)
    while at < end:
        if text[at] in " \t":
            at += 1
        elif text.startswith('\\"', at):
            break
        elif text[at] == '"':
            word, at = _quoted(text, at + 1)
            words.append(word)
        else:
            start = at
            while at < end and text[at] not in " \t":
                at += 2 if text[at] == "\\" else 1
            words.append(text[start:at])
    return words


def _quoted(text: str, at: int) -> tuple[str, int]:
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


def shown(text: str) -> str:
    """Text as a reader sees it: characters for their names, no fonts, sizes or comments."""
    pieces = []
    at = 0
    while (escape := text.find("\\", at)) >= 0:
        pieces.append(text[at:escape])
        sign = text[escape + 1 : escape + 2]
        if sign == '"':
            return "".join(pieces)
        piece, at = _escaped(text, sign, escape + 2)
        pieces.append(piece)
    pieces.append(text[at:])
    return "".join(pieces)


def _escaped(text: str, sign: str, at: int) -> tuple[str, int]:
    """What an escape stands for, and where it ends."""
    if sign == "(":
        return _CHARACTERS.get(text[at : at + 2], ""), at + 2
    if sign in ("[", "C"):
        name, end = _delimited(text, at - (sign == "["), "[" if sign == "[" else "'")
        return _CHARACTERS.get(name, ""), end
    if sign in _NAMED:
        name, end = _name_at(text, at, is_size=sign == "s")
        return (_CHARACTERS.get(name, "") if sign == "*" else ""), end
    if sign in _DELIMITED and text[at : at + 1] == "'":
        return "", _delimited(text, at, "'")[1]
    return _ESCAPES.get(sign, ""), at


def _delimited(text: str, at: int, opening: str) -> tuple[str, int]:
    """The name between two signs; all that is left where nothing closes it."""
    close = text.find("]" if opening == "[" else opening, at + 1)
    return (text[at + 1 : close], close + 1) if close >= 0 else (text[at + 1 :], len(text))


def _name_at(text: str, at: int, *, is_size: bool) -> tuple[str, int]:
    """The name of a font, register or string: one sign, two behind a bracket, or any number in square ones."""
    if text[at : at + 1] in ("+", "-"):
        at += 1
    if text[at : at + 1] == "(":
        return text[at + 1 : at + 3], at + 3
    if text[at : at + 1] == "[":
        return _delimited(text, at, "[")
    if is_size and text[at : at + 2].isdigit() and text[at : at + 1] in ("1", "2", "3"):
        return text[at : at + 2], at + 2
    return text[at : at + 1], at + 1
