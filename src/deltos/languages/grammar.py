"""Parsing of source code with tree-sitter within a time limit.

Grammars and queries are loaded once per process.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING

from deltos.languages.c_conditionals import directive_ranges
from deltos.languages.c_macros import mask_macros
from deltos.languages.parser_limits import bounded_memory, bounded_time, reject_unsafe_input
from deltos.languages.rust_macros import unwrap_item_macros
from deltos.languages.table import LANGUAGES, Language

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter


READ_BYTES = 512  # number of bytes per read; small, so that a slow parse is noticed quickly
READ_BYTES_LATER = 64  # number of bytes per read after parsing, when query predicates read names
# Input that a parser receives after it has exceeded its limits. No grammar has a token that consists of these bytes.
# White space would be slower, because scanners skip it.
_FILLER = b"\x01" * READ_BYTES
_REREAD_ALIGNMENT_BYTES = 128  # repeated reads of an offset end at a multiple of this number
_MAX_CONTINUATION_BYTES = 3  # maximum number of continuation bytes of a UTF-8 character
_CONTINUATION = bytes(range(0x80, 0xC0))
# Minimum time limit of a parse. On virtual machines, the measured CPU time may include time of other machines, so
# ordinary files may exceed a shorter limit.
LIMIT_SECONDS = 0.2
# Time that is added to the limit for each byte of source. Ordinary files take 1/30 of this time.
LIMIT_SECONDS_PER_BYTE = 1e-5
_MAX_STRAY_TOKENS = 1000  # maximum number of stray tokens in a row, see `stray_token_runs`
_MAX_DEPTH = 50_000  # maximum nesting depth of nodes, see `too_deep_ranges`
_EXTRA_TIME_SHARE = 0.5  # additional time for error recovery, as a share of the time limit
_RETRY_FRACTION = 8  # divisor of the file size: after a timeout, only the first 1/8 of the file is parsed
# Maximum number of parses with replaced ranges. Several are needed, because replacing one range may create another
# problem.
_MAX_BLANKING_ROUNDS = 3
_MIN_ROUND_TIME_SHARE = 0.25  # minimum share of the time limit for each parse after the first
_MAX_MACRO_LEVELS = 3  # maximum nesting depth of macros whose contents are parsed
_HARD_LIMIT_FACTOR = 4  # factor by which a parse may exceed its time limit before the process is terminated


def parse(language: Language, data: bytes, *, limit_seconds: float | None = None) -> tree_sitter.Tree | None:
    """Return the syntax tree of `data`, or None if the language has no grammar or its wheel is not installed.

    After `limit_seconds` of CPU time, the rest of the file is not parsed, because error recovery can take time
    quadratic in the file size. Long runs of stray tokens and extremely nested code are replaced with spaces. Raises
    SourceError for unsafe input. In a child process with a memory limit, an excessively large tree terminates the
    process.
    """
    if not language.grammar or not is_installed(language):
        return None
    if limit_seconds is None:
        limit_seconds = LIMIT_SECONDS + LIMIT_SECONDS_PER_BYTE * len(data)
    grammar = _load_grammar(language.grammar)
    read = mask_macros(data) if language.macros else data
    if language.directives:
        read = _blank_ranges(data, directive_ranges(data))
    reject_unsafe_input(language.grammar, read)
    with bounded_memory(len(read)), bounded_time(_HARD_LIMIT_FACTOR * limit_seconds):
        tree = _parse_in_rounds(grammar, read, limit_seconds)
    return _parse_macro_items(grammar, read, tree, limit_seconds) if language.item_macros else tree


def _parse_macro_items(
    grammar: tree_sitter.Language, read: bytes, tree: tree_sitter.Tree, limit_seconds: float
) -> tree_sitter.Tree:
    """Return a tree in which the items inside Rust macros are parsed.

    Each iteration unwraps one nesting level of macros, which means that it replaces macro calls with their contents.
    """
    rejected: set[int] = set()
    for _ in range(_MAX_MACRO_LEVELS):
        deadline = time.thread_time() + limit_seconds

        def is_code(body: bytes, deadline: float = deadline) -> bool:
            remaining_seconds = deadline - time.thread_time()
            root = _parse(grammar, body, remaining_seconds).root_node if remaining_seconds > 0 else None
            return root is not None and not root.has_error and root.end_byte >= len(body.rstrip())

        with bounded_memory(len(read)), bounded_time(2 * _HARD_LIMIT_FACTOR * limit_seconds):
            unwrapped = unwrap_item_macros(read, tree.root_node, rejected, is_code)
            if unwrapped is None:
                return tree
            # `unwrapped` contains the source before ranges were replaced with spaces, so they are replaced again.
            read, tree = unwrapped, _parse_in_rounds(grammar, unwrapped, limit_seconds)
    return tree


def _parse_in_rounds(grammar: tree_sitter.Language, read: bytes, limit_seconds: float) -> tree_sitter.Tree:
    """Parse repeatedly, replacing problematic ranges with spaces after each parse. All parses share the time limit."""
    deadline = time.thread_time() + limit_seconds
    for number in range(_MAX_BLANKING_ROUNDS):
        remaining_seconds = deadline - time.thread_time() if number else limit_seconds
        tree = _parse(grammar, read, max(remaining_seconds, _MIN_ROUND_TIME_SHARE * limit_seconds))
        ranges = sorted([*stray_token_runs(tree), *too_deep_ranges(tree)])
        if not ranges:
            return tree
        read = _blank_ranges(read, ranges)
    return _parse(grammar, read[: ranges[0][0]], _MIN_ROUND_TIME_SHARE * limit_seconds)


def _parse(grammar: tree_sitter.Language, data: bytes, limit_seconds: float) -> tree_sitter.Tree:
    """Parse within the time limit. If the parser gives up, retry with only the beginning of the file."""
    import tree_sitter  # deferred import: listing languages must not load a parser

    while True:
        source = _ParserInput(data, limit_seconds)
        # Each call uses a new parser, because Python runs other threads while the parser reads its input.
        tree = tree_sitter.Parser(grammar).parse(source.read)
        source.parsed = True
        if not source.gave_up or not data:
            return tree
        data = data[: len(data) // _RETRY_FRACTION]
        limit_seconds = max(limit_seconds / _RETRY_FRACTION, LIMIT_SECONDS)


def stray_token_runs(tree: tree_sitter.Tree) -> list[tuple[int, int]]:
    """Return the byte ranges of runs of more than 1,000 unnamed tokens inside a syntax error.

    These ranges are not parsed, because the time of queries is quadratic in the length of such a run.
    """
    runs: list[tuple[int, int]] = []
    pending = [tree.root_node] if tree.root_node.has_error else []
    while pending:
        node = pending.pop()
        if node.child_count > _MAX_STRAY_TOKENS and node.type == "ERROR":
            runs += _long_unnamed_runs(node.children)
        pending += [child for child in node.children if child.has_error]
    return runs


def too_deep_ranges(tree: tree_sitter.Tree) -> list[tuple[int, int]]:
    """Return the byte ranges of nodes nested deeper than 50,000 levels, which are not parsed.

    Queries count levels in 16 bits. At deeper levels, they keep impossible matches and take extremely long.
    """
    ranges = []
    pending = [(tree.root_node, 0)]
    while pending:
        node, depth = pending.pop()
        if depth >= _MAX_DEPTH:
            ranges.append((node.start_byte, node.end_byte))
        # A node with few descendants cannot be nested that deep.
        elif node.descendant_count + depth > _MAX_DEPTH:
            pending += [(child, depth + 1) for child in node.children]
    return ranges


def _long_unnamed_runs(nodes: list[tree_sitter.Node]) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of runs of unnamed nodes that are longer than the limit."""
    for named, group in groupby(nodes, key=lambda node: node.is_named):
        run = list(group)
        if not named and len(run) > _MAX_STRAY_TOKENS:
            yield run[0].start_byte, run[-1].end_byte


def _blank_ranges(data: bytes, ranges: list[tuple[int, int]]) -> bytes:
    """Replace the byte ranges with spaces, except for line breaks."""
    out = bytearray(data)
    for start, end in ranges:
        out[start:end] = b"\n".join(b" " * len(line) for line in data[start:end].split(b"\n"))
    return bytes(out)


class _ParserInput:
    """Input of the parser, which reports the end of the file when the time limit is exceeded.

    The input is the only way to stop the parser, because progress callbacks crash it (tree-sitter 0.26). The reported
    end must not move, because the parser seeks backwards and crashes at a different end. If the parser has already read
    the real end, or error recovery at the reported end takes too long, `gave_up` is set. All further reads then return
    filler bytes, and the tree is unusable.

    The Python binding (0.26) never frees the returned bytes, and error recovery reads the same offsets up to 100,000
    times. Repeated reads are therefore short and return the same object for the same offset.
    """

    def __init__(self, data: bytes, limit_seconds: float) -> None:
        self._data = data
        self._deadline = time.thread_time() + limit_seconds
        self._last_deadline = self._deadline + _EXTRA_TIME_SHARE * limit_seconds
        self._end = len(data)
        self._read_to = 0
        self._repeated_reads: dict[int, bytes] = {}
        self.parsed = False
        self.gave_up = False

    def read(self, offset: int, _point: tree_sitter.Point) -> bytes:
        """Return the next bytes of the file, starting at `offset`. The parser calls this function."""
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
        chunk = self._data[offset : self._end_of_character(min(offset + READ_BYTES, self._end))]
        self._read_to = max(self._read_to, offset + len(chunk))
        return chunk

    def _read_again(self, offset: int) -> bytes:
        """Return bytes at an offset that was read before; the result is always the same object."""
        chunk = self._repeated_reads.get(offset)
        if chunk is None:
            aligned_end = offset - offset % _REREAD_ALIGNMENT_BYTES + _REREAD_ALIGNMENT_BYTES
            chunk = self._data[offset : self._end_of_character(min(aligned_end, self._read_to))]
            self._repeated_reads[offset] = chunk
        return chunk

    def _end_of_character(self, offset: int) -> int:
        """Return the offset after the character at `offset`, because a read must not split a character."""
        rest = self._data[offset : min(offset + _MAX_CONTINUATION_BYTES, self._end)]
        return offset + len(rest) - len(rest.lstrip(_CONTINUATION))


@cache
def definitions_query(language: Language) -> tree_sitter.Query | None:
    """Return the query that finds the definitions of a language, or None if it has no query."""
    import tree_sitter  # deferred import: listing languages must not load a parser

    if not language.queries:
        return None
    folder = files("deltos.languages") / "queries"
    source = "\n".join((folder / f"{name}.scm").read_text("utf-8") for name in language.queries)
    return tree_sitter.Query(_load_grammar(language.grammar), source)


@cache
def is_installed(language: Language) -> bool:
    """Whether the package (wheel) with the language's grammar is installed. Some platforms have no wheel."""
    return find_spec(language.grammar.rpartition(".")[0]) is not None


def missing_grammars() -> list[str]:
    """Return the languages without an installed grammar, whose files are indexed by lines."""
    return [language.name for language in LANGUAGES if language.grammar and not is_installed(language)]


def self_test() -> list[str]:
    """Test every installed grammar and query with a sample, and return the problems."""
    installed = [language for language in LANGUAGES if language.grammar and is_installed(language)]
    return [f"{language.name}: {problem}" for language in installed if (problem := _find_grammar_problem(language))]


def _find_grammar_problem(language: Language) -> str:
    try:
        definitions_query(language)
        tree = parse(language, language.sample.encode())
    except (ImportError, AttributeError, ValueError, OSError) as exc:
        return f"{type(exc).__name__}: {exc}"
    return "the sample does not parse" if tree is None or tree.root_node.has_error else ""


@cache
def _load_grammar(grammar: str) -> tree_sitter.Language:
    import tree_sitter  # deferred import: listing languages must not load a parser

    module, _, function = grammar.rpartition(".")
    with warnings.catch_warnings():
        # Some wheels return their grammar as an integer.
        warnings.simplefilter("ignore", DeprecationWarning)
        return tree_sitter.Language(getattr(import_module(module), function)())
