"""Grammars and queries, loaded once per process when first needed. Makes trees; outline.py reads them."""

from __future__ import annotations

import time
import warnings
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING

from deltos.languages.bounds import bounded_memory, bounded_time, refuse_unholdable
from deltos.languages.item_macros import open_item_macros
from deltos.languages.macros import without_macros
from deltos.languages.table import LANGUAGES, Language

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter


READ_BYTES = 512  # small, so that a parse that has grown slow is soon noticed
READ_BYTES_LATER = 64  # a query's predicates read back short names only
_FILLER = b"\x01" * READ_BYTES  # no token of any grammar, and no blank, which a scanner would skip again and again
_CELL_BYTES = 128  # what is read again ends where one of these does
LIMIT_SECONDS = 0.04
LIMIT_SECONDS_PER_BYTE = 1e-5  # an ordinary file takes a thirtieth of that
_LONGEST_RUN = 1000  # stray tokens; see `stray_runs`
_DEEPEST = 50_000  # levels; a query counts them in 16 bits, see `deepest`
_TIME_TO_END = 0.5  # of the limit: for recovery at the end of what was read
_PART_AFTER_GIVING_UP = 8  # of the file: only its beginning is parsed then
_BLANKING_ROUNDS = 3  # blanking one run may bring another to light
_LEAST_ROUND = 0.25  # of the limit, for each round after the first
_OPENING_ROUNDS = 3  # macros with items inside macros with items
_MOST_LIMITS = 4  # of these no parse takes as many, unless its recovery has no end


def parse(language: Language, data: bytes, *, limit_seconds: float | None = None) -> tree_sitter.Tree | None:
    """The syntax tree of `data`, or None for a language without a grammar, or whose wheel this platform lacks.

    Recovery from errors can take time that grows with the square of the file: past the limit, in seconds of
    CPU, the rest of the file is left unread. Long runs of stray tokens and what is nested beyond reason are read as
    blanks. Raises SourceError for what the grammar itself cannot hold; in a child process, whose memory is limited,
    a tree that takes far too much of it ends that process.
    """
    if not language.grammar or not is_installed(language):
        return None
    if limit_seconds is None:
        limit_seconds = LIMIT_SECONDS + LIMIT_SECONDS_PER_BYTE * len(data)
    grammar = _grammar(language.grammar)
    read = without_macros(data) if language.macros else data
    refuse_unholdable(language.grammar, read)
    with bounded_memory(len(read)), bounded_time(_MOST_LIMITS * limit_seconds):
        tree = _parse_in_rounds(grammar, read, limit_seconds)
    return _with_items_of_macros(grammar, read, tree, limit_seconds) if language.item_macros else tree


def _with_items_of_macros(
    grammar: tree_sitter.Language, read: bytes, tree: tree_sitter.Tree, limit_seconds: float
) -> tree_sitter.Tree:
    """The tree in which the items inside macros are items too; each round opens one level of macros."""
    refused: set[int] = set()
    for _ in range(_OPENING_ROUNDS):
        deadline = time.thread_time() + limit_seconds

        def is_code(body: bytes, deadline: float = deadline) -> bool:
            left = deadline - time.thread_time()
            root = _parse(grammar, body, left).root_node if left > 0 else None
            return root is not None and not root.has_error and root.end_byte >= len(body.rstrip())

        with bounded_memory(len(read)), bounded_time(2 * _MOST_LIMITS * limit_seconds):
            opened = open_item_macros(read, tree.root_node, refused, is_code)
            if opened is None:
                return tree
            # What was blanked for this tree is not blanked in `opened`: it is found and blanked anew.
            read, tree = opened, _parse_in_rounds(grammar, opened, limit_seconds)
    return tree


def _parse_in_rounds(grammar: tree_sitter.Language, read: bytes, limit_seconds: float) -> tree_sitter.Tree:
    """The tree once nothing is left in it that has to be blanked; all rounds share the time."""
    deadline = time.thread_time() + limit_seconds
    for number in range(_BLANKING_ROUNDS):
        left = deadline - time.thread_time() if number else limit_seconds
        tree = _parse(grammar, read, max(left, _LEAST_ROUND * limit_seconds))
        ranges = sorted([*stray_runs(tree), *deepest(tree)])
        if not ranges:
            return tree
        read = _blanked(read, ranges)
    return _parse(grammar, read[: ranges[0][0]], _LEAST_ROUND * limit_seconds)


def _parse(grammar: tree_sitter.Language, data: bytes, limit_seconds: float) -> tree_sitter.Tree:
    import tree_sitter  # deferred: listing languages must not load a parser

    while True:
        source = _Source(data, limit_seconds)
        # a parser of its own: while it reads, other threads run
        tree = tree_sitter.Parser(grammar).parse(source.read)
        source.parsed = True
        if not source.gave_up or not data:
            return tree
        data = data[: len(data) // _PART_AFTER_GIVING_UP]
        limit_seconds = max(limit_seconds / _PART_AFTER_GIVING_UP, LIMIT_SECONDS)


def stray_runs(tree: tree_sitter.Tree) -> list[tuple[int, int]]:
    """Where more than a thousand tokens without a named node between them stand in one error, as byte ranges.

    A query looks ahead from each of them for the next named sibling, so its time grows with the square of such a run.
    """
    runs: list[tuple[int, int]] = []
    pending = [tree.root_node] if tree.root_node.has_error else []
    while pending:
        node = pending.pop()
        if node.child_count > _LONGEST_RUN and node.type == "ERROR":
            runs += _runs_among(node.children)
        pending += [child for child in node.children if child.has_error]
    return runs


def deepest(tree: tree_sitter.Tree) -> list[tuple[int, int]]:
    """What lies more than fifty thousand levels deep, as byte ranges.

    A query counts levels in 16 bits. Beyond, it forgets to drop what cannot match any more, and hardly ends.
    """
    ranges = []
    pending = [(tree.root_node, 0)]
    while pending:
        node, depth = pending.pop()
        if depth >= _DEEPEST:
            ranges.append((node.start_byte, node.end_byte))
        # A node that has few descendants cannot reach that deep.
        elif node.descendant_count + depth > _DEEPEST:
            pending += [(child, depth + 1) for child in node.children]
    return ranges


def _runs_among(nodes: list[tree_sitter.Node]) -> Iterator[tuple[int, int]]:
    for named, group in groupby(nodes, key=lambda node: node.is_named):
        run = list(group)
        if not named and len(run) > _LONGEST_RUN:
            yield run[0].start_byte, run[-1].end_byte


def _blanked(data: bytes, ranges: list[tuple[int, int]]) -> bytes:
    """The data with blanks in the ranges; line breaks stay."""
    out = bytearray(data)
    for start, end in ranges:
        out[start:end] = b"\n".join(b" " * len(line) for line in data[start:end].split(b"\n"))
    return bytes(out)


class _Source:
    """Feeds a file to the parser piece by piece until time is up; then the file ends where it was read to.

    The parser's own progress callback crashes it (tree-sitter 0.26), so reading is where we can say stop. The end may
    not move: the parser goes back in the file, and one that finds another end there crashes too. Where it was at the
    end already (it looks there for the end of each of many comments), or recovers there without an end, it gets
    characters without a meaning, and the tree is worth nothing.

    The binding never lets go of a piece that it was given (0.26), and recovery reads the same places a hundred thousand
    times: what is read again is short, and for each place the same piece.
    """

    def __init__(self, data: bytes, limit_seconds: float) -> None:
        self._data = data
        self._deadline = time.thread_time() + limit_seconds
        self._last_deadline = self._deadline + _TIME_TO_END * limit_seconds
        self._end = len(data)
        self._read_to = 0
        self._again: dict[int, bytes] = {}
        self.parsed = False
        self.gave_up = False

    def read(self, offset: int, _point: tree_sitter.Point) -> bytes:
        if self.parsed:
            return self._data[offset : offset + READ_BYTES_LATER]
        now = time.thread_time()
        if now >= self._deadline:
            is_at_end = self._end == self._read_to == len(self._data)
            self.gave_up = self.gave_up or is_at_end or now >= self._last_deadline
            self._end = self._read_to
        if self.gave_up:
            return _FILLER[: max(0, min(READ_BYTES, self._end - offset))]
        if offset < self._read_to:
            return self._read_again(offset)
        piece = self._data[offset : min(offset + READ_BYTES, self._end)]
        self._read_to = max(self._read_to, offset + len(piece))
        return piece

    def _read_again(self, offset: int) -> bytes:
        piece = self._again.get(offset)
        if piece is None:
            cell_end = offset - offset % _CELL_BYTES + _CELL_BYTES
            piece = self._again[offset] = self._data[offset : min(cell_end, self._read_to)]
        return piece


@cache
def definitions_query(language: Language) -> tree_sitter.Query | None:
    """The compiled query that finds the language's definitions; None where it has none."""
    import tree_sitter  # deferred: listing languages must not load a parser

    if not language.queries:
        return None
    folder = files("deltos.languages") / "queries"
    source = "\n".join((folder / f"{name}.scm").read_text("utf-8") for name in language.queries)
    return tree_sitter.Query(_grammar(language.grammar), source)


@cache
def is_installed(language: Language) -> bool:
    """Whether the wheel of the language's grammar is there; some platforms have none."""
    return find_spec(language.grammar.rpartition(".")[0]) is not None


def missing_grammars() -> list[str]:
    """The languages that are read by lines because the wheel of their grammar is not installed."""
    return [language.name for language in LANGUAGES if language.grammar and not is_installed(language)]


def self_test() -> list[str]:
    """Load every grammar that is there and its query and parse a sample; the problems found, one sentence each."""
    there = [language for language in LANGUAGES if language.grammar and is_installed(language)]
    return [f"{language.name}: {problem}" for language in there if (problem := _problem(language))]


def _problem(language: Language) -> str:
    try:
        definitions_query(language)
        tree = parse(language, language.sample.encode())
    except (ImportError, AttributeError, ValueError, OSError) as exc:
        return f"{type(exc).__name__}: {exc}"
    return "the sample does not parse" if tree is None or tree.root_node.has_error else ""


@cache
def _grammar(grammar: str) -> tree_sitter.Language:
    import tree_sitter  # deferred: listing languages must not load a parser

    module, _, function = grammar.rpartition(".")
    with warnings.catch_warnings():
        # some wheels still hand their grammar over as a number
        warnings.simplefilter("ignore", DeprecationWarning)
        return tree_sitter.Language(getattr(import_module(module), function)())
