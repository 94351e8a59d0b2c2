"""Comparison of the lines that contain a name with the known references to the name.

Resolution may miss uses, so an answer is complete only if every line with the name is a known reference. The term index
of code search finds the chunks (parts of files) that contain the name.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.exports import dunder_all_lines
from deltos.domains.graph.languages import can_refer_to, is_resolved
from deltos.domains.graph.source_lines import occurrences
from deltos.languages.code_text import code_text
from deltos.languages.table import detect
from deltos.store.code import FileScope
from deltos.text.words import shared_words
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.code import Code
    from deltos.store.symbols import Symbol

_MAX_CHUNKS = 400
_TIMEOUT_SECONDS = 0.5
_CALLABLE_KINDS = frozenset({"function", "method", "component"})
_CONSTRUCTOR_NAMES = frozenset({"__init__", "__new__", "__construct"})
_IMPORT_PREFIXES = ("import ", "from ", "use ", "using ", "pub use ", "export ", "const {")
# Aliases of project folders in imports. Names of packages never start with one of these characters.
_ALIASED_IMPORT = re.compile(r"""["'](?:[~#$]|@/)""")
_DEFINITION_ENDINGS = (" function", " def", " func", " fn", "(function", "=function")
_QUOTE_CHARACTERS = ('"', "'", "`")
_WORD_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_KEYWORDS_BEFORE_VALUES = frozenset(
    "return case else goto throw raise new yield await in not and or is import from as print puts typeof void delete"
    " instanceof extends implements default if unless while until when then do end use echo defined".split()
)
_TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})


@dataclass(frozen=True, slots=True)
class TextComparison:
    """Result of comparing the occurrences of a name in the text with the known references to the name."""

    # Code lines that contain the name but are not among the known references.
    locations: tuple[tuple[str, int], ...] = ()
    quoted: tuple[tuple[str, int], ...] = ()  # lines with a string equal to the name; such lines were not compared
    is_done: bool = True  # false if the comparison was stopped because the name occurs on too many lines
    is_compared: bool = False  # false if the name is too ambiguous to be compared at all


NO_UNKNOWN_LINES = TextComparison()


def compare_with_text(
    symbol: Symbol, known: Collection[tuple[str, int]], code: Code, source: SourceLines, *, is_whole_repository: bool
) -> TextComparison:
    """Compare the `known` definition and use lines of a symbol with the text of files that may use the symbol.

    If the project `is_whole_repository`, an import of the name that was not resolved refers to an external package.
    """
    if not _can_compare(symbol):
        # Only the last name of a Rust path is recorded as a reference, so uses of modules are not known.
        return TextComparison(is_done=symbol.kind != "module" or not traits_of(symbol.path).has_module_tree)
    spans = chunk_spans_with(symbol.name, code)
    if spans is None:
        is_unindexed = len(symbol.name) == 1  # the term index contains no terms of one letter
        return NO_UNKNOWN_LINES if is_unindexed or "." in symbol.key else TextComparison(is_done=False)
    is_local = symbol.path.endswith(".c") and symbol.signature.startswith("static ")
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    found: list[tuple[str, int]] = []
    quoted: list[tuple[str, int]] = []
    for path in sorted(spans):
        if time.monotonic() > deadline:
            return TextComparison(tuple(found), is_done=False)
        language = detect(path)
        if language is not None and can_refer_to(path, symbol.path) and (not is_local or path == symbol.path):
            text = code_text(source.text(path), language.name)
            with_strings = not is_test(path) and not _is_single_word(symbol.name)
            lines = _lines_that_may_refer(text, symbol, spans[path], with_strings=with_strings)
            new = [(path, line) for line in lines if (path, line) not in known]
            found += [] if is_whole_repository and _imports_other_symbol(source.text(path), new) else new
            if not with_strings:
                both = _lines_that_may_refer(text, symbol, spans[path], with_strings=True)
                quoted += [(path, line) for line in both if line not in lines and (path, line) not in known]
    return TextComparison(tuple(found), tuple(quoted), is_compared=True)


def code_lines_with(name: str, code: Code, source: SourceLines) -> list[tuple[str, int]]:
    """Return the lines of code that contain a name, or no lines if there are too many."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    found: list[tuple[str, int]] = []
    for path, spans in sorted((chunk_spans_with(name, code) or {}).items()):
        language = detect(path)
        if language is None or not is_resolved(path) or time.monotonic() > deadline:
            continue
        lines = code_text(source.text(path), language.name).split("\n")
        inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
        found += [(path, number) for number in sorted(inside) if occurrences(lines[number - 1], name)]
    return found


def chunk_spans_with(name: str, code: Code) -> dict[str, list[tuple[int, int]]] | None:
    """Return the line ranges, by path, of the chunks that may contain a name, or None if there are too many chunks."""
    terms = shared_words().of(name).split()
    matches = code.match_chunks([terms[-1]], [], FileScope(), limit=_MAX_CHUNKS + 1) if terms else []
    if not terms or len(matches) > _MAX_CHUNKS:
        return None
    spans: dict[str, list[tuple[int, int]]] = {}
    for chunk in code.chunks([match.chunk_id for match in matches]).values() if matches else ():
        spans.setdefault(chunk.path, []).append((chunk.start_line, chunk.end_line))
    return spans


def is_called_implicitly(symbol: Symbol) -> bool:
    """Whether a method may be run without being named, by an operator, a statement, or a call of its object."""
    name = symbol.name
    if symbol.kind != "method":
        return False
    if symbol.path.endswith((".py", ".pyi")):
        return name.startswith("__") and name.endswith("__") and name not in _CONSTRUCTOR_NAMES
    is_magic = traits_of(symbol.path).has_documented_types and name.startswith("__") and name not in _CONSTRUCTOR_NAMES
    return is_magic or name.startswith("operator")


def _can_compare(symbol: Symbol) -> bool:
    """Whether a symbol is a type, function or constant outside tests, whose name rarely has another meaning."""
    # Names of definitions in tests are often also names of parameters.
    is_constant = symbol.name.isupper() and len(symbol.name) > 1
    return not is_test(symbol.path) and (symbol.kind in _CALLABLE_KINDS or symbol.kind in _TYPE_KINDS or is_constant)


def _is_single_word(name: str) -> bool:
    """Whether a name consists of one word."""
    inner = name.strip("_")
    return "_" not in inner and (inner.islower() or inner[1:].islower() or inner.isupper())


def _lines_that_may_refer(
    text: str, symbol: Symbol, spans: Sequence[tuple[int, int]], *, with_strings: bool
) -> list[int]:
    """Return the lines within `spans` that may refer to the symbol by its name."""
    if symbol.name not in text:
        return []
    lines = text.split("\n")
    inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
    if with_strings:
        inside.difference_update(dunder_all_lines(text, symbol.name))  # Entries of `__all__` are reported separately.
    return sorted(n for n in inside if _may_refer_to(lines[n - 1], symbol, with_strings=with_strings))


def _imports_other_symbol(text: str, locations: Sequence[tuple[str, int]]) -> bool:
    """Whether one of the lines imports the name, so that it refers to an external symbol in this file."""
    lines = text.split("\n") if locations else []
    found = [lines[number - 1].lstrip() for _, number in locations]
    return any(line.startswith(_IMPORT_PREFIXES) and not _ALIASED_IMPORT.search(line) for line in found)


def _may_refer_to(line: str, symbol: Symbol, *, with_strings: bool) -> bool:
    """Whether the name in a line may refer to the symbol, based on the text before and after the name."""
    name = symbol.name
    for at in occurrences(line, name) if name in line else ():
        before, after = line[:at].rstrip(), line[at + len(name) :].lstrip()
        # Names in namespace declarations and in definitions of other symbols are skipped.
        if after.startswith("\\") or before.endswith(_DEFINITION_ENDINGS):
            continue
        # The string equals the name, or ends with a separator and the name.
        if after[:1] in _QUOTE_CHARACTERS and after[:1]:
            if with_strings and before.endswith((*_QUOTE_CHARACTERS, ".", ":", "\\")):
                return True
        elif symbol.kind not in _CALLABLE_KINDS or _may_be_called(before, after, symbol) or _is_literal(line, at):
            return True
    return False


def _is_literal(line: str, at: int) -> bool:
    """Whether a name is a literal for a symbol, such as Ruby's `:name`."""
    return line[at - 1 : at] == ":" and line[at - 2 : at - 1] not in (":", *_WORD_CHARACTERS)


def _may_be_called(before: str, after: str, symbol: Symbol) -> bool:
    """Whether a name may refer to a function or method instead of a key or a variable.

    A method, or a function with a one-word name, must be called without an object before the name, because uses as a
    member are already known or possible references.
    """
    if "." in symbol.key or _is_single_word(symbol.name):
        return after.startswith("(") and not before.endswith((".", "->", "::"))
    return after.startswith("(") or not _is_key_or_variable(before, after)


def _is_key_or_variable(before: str, after: str) -> bool:
    """Whether a name is a key, an assignment target, or a variable after its type."""
    is_key = after.startswith((":", "=")) and not after.startswith(("::", "=="))
    word = before[len(before.rstrip(_WORD_CHARACTERS)) :]
    return is_key or before.endswith(("*", "&", ">")) or (bool(word) and word not in _KEYWORDS_BEFORE_VALUES)
