"""A definition in one line, and a use in one line: where it is and what the source says there."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from deltos.domains.graph.page import Piece
from deltos.domains.graph.source import around, occurrences, printable, used_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deltos.domains.graph.uses import Use, UseGroup
    from deltos.store.symbols import Symbol

_SIGNATURE_CHARACTERS = 140
SENTENCE_CHARACTERS = 140
_LEAST_SIGNATURE = 80
_COLUMNS = 4
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "__construct"})
# A header that begins so says no more than the name and the kind do.
_KEYWORDS = frozenset({"def", "class", "func", "function", "fn", "interface", "type", "enum", "struct", "module"})
_DEFINING = ("def ", "async def ", "class ", "func ", "function ", "fn ", "pub ", "export ", "interface ", "type ")
_TABLE_MARKS = ("|", "+-", "+=")
_CHANGED = "(changed since it was indexed: ask again)"


def definition_line(row: Symbol, *, characters: int = SENTENCE_CHARACTERS) -> str:
    """`def name file:line-end kind signature — what it says of itself`; the last two in so many characters each."""
    told = [f"def {row.label or row.name} {row.path}:{row.line}-{row.end_line} {row.kind}"]
    told.append(_shortened(signature_of(row), max(characters, _LEAST_SIGNATURE)))
    return _with_sentence(" ".join(filter(None, told)), row, characters)


def signature_of(row: Symbol) -> str:
    """The header of a definition without what its name and kind say already: `(self, item: str) -> None`."""
    text = printable(" ".join(row.signature.split())).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    keyword, _, rest = text.partition(" ")
    if keyword in _KEYWORDS and rest.startswith(row.name):
        text = rest.removeprefix(row.name).strip()
    elif text == row.name:
        text = ""
    return _shortened(text, _SIGNATURE_CHARACTERS)


def called(row: Symbol) -> str:
    """A definition by its qualified name with its parameters, as one would write it: `Cart.add(self, item: str)`."""
    signature = signature_of(row)
    return f"{row.label}{signature}" if signature[:1] in ("", "(", "[", "<") else f"{row.label} {signature}"


def outline_line(row: Symbol, *, with_sentence: bool = True) -> str:
    """A definition among those of one file: `line name(parameters) — what it says of itself`."""
    signature = signature_of(row)
    line = f"{row.line} {row.name}{signature}" if signature[:1] in ("", "(", "[", "<") else f"{row.line} {signature}"
    return _with_sentence(line, row, SENTENCE_CHARACTERS if with_sentence else 0)


def first_sentence(text: str, characters: int = SENTENCE_CHARACTERS) -> str:
    """The first sentence of a doc, on one line; tables and rulers are none."""
    flat = printable(" ".join(_first_paragraph(text).split()))
    end = flat.find(". ")
    return _shortened(flat if end < 0 else flat[: end + 1], characters)


def _first_paragraph(text: str) -> str:
    """The lines of a doc up to an empty one or a ruler, from the first that says something."""
    kept: list[str] = []
    for line in text.splitlines():
        says = any(map(str.isalnum, line)) and not line.lstrip().startswith(_TABLE_MARKS)
        if says:
            kept.append(line)
        elif kept:
            break
    return "\n".join(kept)


def _with_sentence(line: str, row: Symbol, characters: int) -> str:
    sentence = first_sentence(row.doc, characters) if characters else ""
    return f"{line} — {sentence}" if sentence else line


def _shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1].rstrip()}…"


class UseLines:
    """Writes uses of one definition, given the text of their lines."""

    def __init__(
        self,
        target: Symbol,
        texts: Mapping[tuple[str, int], str],
        changed: Collection[str],
        shared: Collection[tuple[str, int]] = (),
    ) -> None:
        """`shared` are lines that have another definition of the name, too."""
        self._shared = shared
        self._texts = texts
        self._changed = changed
        self._twice: Collection[tuple[str, int]] = ()
        self._is_member = "." in target.key
        owner = target.label.rpartition(".")[0].rpartition(".")[2]
        self._names = (target.name, owner) if target.name in _CONSTRUCTORS and owner else (target.name,)

    def grouped(self, groups: Sequence[UseGroup], characters: int) -> Iterator[Piece]:
        """One piece for each use; the first of a group or file begins with its heading."""
        seen = Counter(use.place for group in groups for use in group.uses)
        self._twice = {place for place, times in seen.items() if times > 1}
        for group in groups:
            heading = [group.title] if group.title else []
            for path, uses in groupby(group.uses, key=lambda use: use.path):
                heading.append(path)
                told = [(self.place(use), self.told(use, characters)) for use in uses]
                # Lines of one definition that say the same are one line with all their numbers.
                for text, same in groupby(told, key=lambda each: each[1]):
                    numbers = [place for place, _ in same]
                    yield Piece("\n".join([*heading, f" {','.join(numbers)} {text}".rstrip()]), len(numbers))
                    heading = []

    def of(self, use: Use, characters: int) -> str:
        """`line kind text  definition`."""
        return f"{self.place(use)} {self.told(use, characters)}".rstrip()

    def place(self, use: Use) -> str:
        """The line, and the columns where the use may be at more than one of them."""
        return f"{use.line}{self._columns(use, self._places(use))}"

    def told(self, use: Use, characters: int) -> str:
        """`kind text  definition`."""
        whole, places = self._texts.get(use.place, ""), self._places(use)
        text = whole.lstrip()
        at = places[0] - (len(whole) - len(text)) if places else 0
        shown = around(text, at, characters) or (_CHANGED if use.path in self._changed else "")
        kinds = ",".join(kind for kind in use.kinds if kind != "import" or "import" not in shown)
        told = " ".join(filter(None, (kinds, shown)))
        return f"{told}  {use.label}" if use.label and not _defines(shown, use.label) else told

    def _places(self, use: Use) -> list[int]:
        return used_at(self._texts.get(use.place, ""), self._names, use.kinds[0], is_member=self._is_member)

    def _columns(self, use: Use, places: list[int]) -> str:
        """The columns of several uses on one line; where some of them may be another definition's, one of these."""
        joint = "|" if use.place in self._twice or use.place in self._shared else ","
        is_clear = len(places) < 2 or use.kinds[0] == "import"
        more = f"{joint}…" if len(places) > _COLUMNS else ""
        return "" if is_clear else ":" + joint.join(str(at + 1) for at in places[:_COLUMNS]) + more


def _defines(text: str, label: str) -> bool:
    """Whether a line is the head of the definition itself, and names it."""
    return "." not in label and text.startswith(_DEFINING) and bool(occurrences(text, label))
