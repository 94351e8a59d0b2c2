"""Formatting of a definition or a use as one line with location and source text."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from deltos.domains.graph.budgeted_lines import Piece
from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.languages import is_member
from deltos.domains.graph.source_lines import occurrences, printable, shorten_around, use_offsets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deltos.domains.graph.uses import Use, UseGroup
    from deltos.store.symbols import Symbol

_MAX_SIGNATURE_CHARACTERS = 140
MAX_SENTENCE_CHARACTERS = 140
_MIN_SIGNATURE_CHARACTERS = 80
_MAX_COLUMNS = 4  # maximum number of column numbers shown per line
_CONSTRUCTOR_NAMES = frozenset({"__init__", "__new__", "constructor", "initialize", "__construct"})
# Keywords at the beginning of a signature that repeat the kind of the definition.
_SIGNATURE_KEYWORDS = frozenset(
    {"def", "class", "func", "function", "fn", "interface", "type", "enum", "struct", "module"}
)
_DEFINITION_PREFIXES = (
    "def ",
    "async def ",
    "class ",
    "func ",
    "function ",
    "fn ",
    "pub ",
    "export ",
    "interface ",
    "type ",
)
_TABLE_MARKS = ("|", "+-", "+=")
_CHANGED_NOTE = "(the file changed after it was indexed; ask again)"


def definition_line(row: Symbol, *, characters: int = MAX_SENTENCE_CHARACTERS) -> str:
    """Format a definition as `def name file:line-end kind signature — sentence`.

    `characters` limits the length of the sentence and of the signature, but the signature may always have 80
    characters.
    """
    parts = [f"def {row.label or row.name} {row.path}:{row.line}-{row.end_line} {row.kind}"]
    parts.append(_shorten(signature_of(row), max(characters, _MIN_SIGNATURE_CHARACTERS)))
    return _append_sentence(" ".join(filter(None, parts)), row, characters)


def signature_of(row: Symbol) -> str:
    """Return the signature without the name and kind: `(self, item: str) -> None`."""
    text = printable(" ".join(row.signature.split())).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    keyword, _, rest = text.partition(" ")
    if keyword in _SIGNATURE_KEYWORDS and rest.startswith(row.name):
        text = rest.removeprefix(row.name).strip()
    elif text == row.name:
        text = ""
    return _shorten(text, _MAX_SIGNATURE_CHARACTERS)


def call_form(row: Symbol) -> str:
    """Return the qualified name with its parameters: `Cart.add(self, item: str)`."""
    signature = signature_of(row)
    return f"{row.label}{signature}" if signature[:1] in ("", "(", "[", "<") else f"{row.label} {signature}"


def outline_line(row: Symbol, *, with_sentence: bool = True) -> str:
    """Return a definition for the outline of its file: `line name(parameters) — sentence`."""
    signature = signature_of(row)
    name = "" if occurrences(signature, row.name) and signature[:1] not in ("(", "[", "<") else row.name
    joint = " " if name and signature[:1] not in ("", "(", "[", "<") else ""
    line = f"{row.line} {name}{joint}{signature}"
    return _append_sentence(line, row, MAX_SENTENCE_CHARACTERS if with_sentence else 0)


def first_sentence(text: str, characters: int = MAX_SENTENCE_CHARACTERS) -> str:
    """Return the first sentence of a docstring on one line, skipping tables and separator lines."""
    flat = printable(" ".join(_first_paragraph(text).split()))
    end = flat.find(". ")
    return _shorten(flat if end < 0 else flat[: end + 1], characters)


def _first_paragraph(text: str) -> str:
    """Return the first lines that contain text, up to an empty line or a separator line."""
    kept: list[str] = []
    for line in text.splitlines():
        has_text = any(map(str.isalnum, line)) and not line.lstrip().startswith(_TABLE_MARKS)
        if has_text:
            kept.append(line)
        elif kept:
            break
    return "\n".join(kept)


def doc_suffix(row: Symbol) -> str:
    """Return the first docstring sentence of a definition after a dash, or an empty string if there is none."""
    sentence = first_sentence(row.doc)
    return f" — {sentence}" if sentence else ""


def _append_sentence(line: str, row: Symbol, characters: int) -> str:
    sentence = first_sentence(row.doc, characters) if characters else ""
    return f"{line} — {sentence}" if sentence else line


def _shorten(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1].rstrip()}…"


class UseFormatter:
    """Formatter of the uses of one definition, given the text of the source lines."""

    def __init__(
        self,
        target: Symbol,
        texts: Mapping[tuple[str, int], str],
        changed: Collection[str],
        shared: Collection[tuple[str, int]] = (),
    ) -> None:
        """Initialise the formatter.

        `shared` contains the lines that also use or define another definition with this name.
        """
        self._shared = shared
        self._texts = texts
        self._changed = changed
        self._repeated: Collection[tuple[str, int]] = ()
        self._is_member = is_member(target)
        owner = target.label.rpartition(".")[0].rpartition(".")[2]
        self._names = (target.name, owner) if target.name in _CONSTRUCTOR_NAMES and owner else (target.name,)

    def format_groups(self, groups: Sequence[UseGroup], characters: int) -> Iterator[Piece]:
        """Yield the uses as lines; the first line of each group and file is preceded by its heading."""
        seen = Counter(use.location for group in groups for use in group.uses)
        self._repeated = {location for location, times in seen.items() if times > 1}
        for group in groups:
            heading = [group.title] if group.title else []
            for path, uses in groupby(group.uses, key=lambda use: use.path):
                heading.append(path)
                rows = [(self.format_location(use), self.format_text(use, characters)) for use in uses]
                # Uses with equal text in the same definition are merged into one line with all line numbers.
                for text, same in groupby(rows, key=lambda each: each[1]):
                    numbers = [location for location, _ in same]
                    yield Piece("\n".join([*heading, f" {','.join(numbers)} {text}".rstrip()]), len(numbers))
                    heading = []

    def format_use(self, use: Use, characters: int) -> str:
        """Format a use as `line kind text  definition`."""
        return f"{self.format_location(use)} {self.format_text(use, characters)}".rstrip()

    def format_location(self, use: Use) -> str:
        """Return the line number, followed by column numbers if the name occurs several times on the line."""
        return f"{use.line}{self._columns(use, self._use_offsets(use))}"

    def format_text(self, use: Use, characters: int) -> str:
        """Format a use without its line number: `kind text  definition`."""
        whole, offsets = self._texts.get(use.location, ""), self._use_offsets(use)
        text = whole.lstrip()
        at = offsets[0] - (len(whole) - len(text)) if offsets else 0
        shown = shorten_around(text, at, characters) or (_CHANGED_NOTE if use.path in self._changed else "")
        kinds = ",".join(kind for kind in use.kinds if kind != "import" or "import" not in shown)
        text = " ".join(filter(None, (kinds, shown)))
        return f"{text}  {use.label}" if use.label and not _is_definition_line(shown, use.label) else text

    def _use_offsets(self, use: Use) -> list[int]:
        text = self._texts.get(use.location, "")
        offsets = use_offsets(text, self._names, use.kinds[0], is_member=self._is_member)
        if len(offsets) > 1 and use.kinds[0] == "type" and use.location in self._shared:
            # In `Params Params` and `Params: Params`, the first name is the field, except in languages such as C.
            is_field_first = traits_of(use.path).has_embedded_fields or text.lstrip().startswith(f"{self._names[0]}:")
            return offsets[1:] if is_field_first and not text[: offsets[0]].strip() else offsets
        return offsets

    def _columns(self, use: Use, offsets: list[int]) -> str:
        """Format the column numbers of uses on a line, separated by `|` if some may refer to another definition."""
        joint = "|" if use.location in self._repeated or use.location in self._shared else ","
        is_clear = len(offsets) < 2 or use.kinds[0] == "import"
        more = f"{joint}…" if len(offsets) > _MAX_COLUMNS else ""
        return "" if is_clear else ":" + joint.join(str(at + 1) for at in offsets[:_MAX_COLUMNS]) + more


def _is_definition_line(text: str, label: str) -> bool:
    """Whether a line of source text is the first line of the definition `label`."""
    return "." not in label and text.startswith(_DEFINITION_PREFIXES) and bool(occurrences(text, label))
