"""What keeps a native parser within bounds: memory and time for one tree, and texts that its own code cannot hold.

Parsing happens in child processes, which such texts end. Here they end sooner, or are refused before anything is lost.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_TREE_BYTES = 48 << 20
TREE_BYTES_PER_BYTE = 80  # ordinary files take up to 51
LEAST_PARSE_SECONDS = 0.25  # of CPU, before a parser is ended with its process
# The YAML grammar keeps its open blocks in 1,024 bytes, four for each, and writes beyond them. In one column two blocks
# can begin: a mapping, and a sequence in it.
MOST_YAML_COLUMNS = 120
_YAML_INDICATORS = frozenset({b"-", b"?", b":"})
_WORD = re.compile(rb"[^ \t]+")
_LETTER_OR_DIGIT = re.compile(rb"[A-Za-z0-9\x80-\xff]")


def refuse_unholdable(grammar: str, data: bytes) -> None:
    """Raise SourceError for a text that would make a grammar write beyond its own memory."""
    if grammar.startswith("tree_sitter_yaml.") and has_many_block_columns(data):
        raise SourceError("its blocks may be nested deeper than the YAML parser can hold")


def has_many_block_columns(data: bytes) -> bool:
    """Whether YAML has so many columns in which blocks may begin that their nesting cannot be held."""
    lines = data.replace(b"\r", b"\n").split(b"\n")
    if max(map(len, lines)) <= MOST_YAML_COLUMNS:
        return False
    columns: set[int] = set()
    for line in lines:
        for column in _block_columns(line):
            columns.add(column)
            if len(columns) > MOST_YAML_COLUMNS:
                return True
    return False


def _block_columns(line: bytes) -> Iterator[int]:
    """The column of a line's first word; those of `-`, `?` and `:` behind no other words than signs, and behind them.

    In the midst of a line they begin no block in correct YAML, but they can where the parser recovers from an error.
    """
    is_behind_signs, may_begin = True, True
    for word in _WORD.finditer(line):
        is_indicator = is_behind_signs and word[0] in _YAML_INDICATORS
        if may_begin or is_indicator:
            yield word.start()
        may_begin = is_indicator
        is_behind_signs = not _LETTER_OR_DIGIT.search(word[0])


if sys.platform == "win32":

    @contextmanager
    def bounded_memory(size: int) -> Iterator[None]:  # noqa: ARG001 (as elsewhere)
        """Windows has no such limit: there time alone is limited."""
        yield

    @contextmanager
    def bounded_time(seconds: float) -> Iterator[None]:  # noqa: ARG001 (as elsewhere)
        """Windows has no such timer: there the limit of the whole task ends a parser."""
        yield

else:
    import resource
    import signal

    @contextmanager
    def bounded_memory(size: int) -> Iterator[None]:
        """Let a tree of `size` bytes of source take many times what an ordinary one does, and no more.

        A parser that recovers from errors can take memory with the square of its input, and ends its process when it
        gets none. So this holds only where the process is limited already: in a child.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        room = LEAST_TREE_BYTES + TREE_BYTES_PER_BYTE * size
        used = _used_bytes() if soft != resource.RLIM_INFINITY else 0
        if not used or used + room >= soft:
            yield
            return
        resource.setrlimit(resource.RLIMIT_AS, (used + room, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    @contextmanager
    def bounded_time(seconds: float) -> Iterator[None]:
        """Let parsing take `seconds` of CPU and a little more, and no longer.

        A parser that recovers from errors at the end of its input may read nothing for minutes, so that nothing
        there can stop it. This ends its process, so it holds only in a child, as above.
        """
        if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
            yield
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, LEAST_PARSE_SECONDS + seconds)  # brings SIGVTALRM
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _used_bytes() -> int:
        """The address space in use; 0 where the system does not tell."""
        with suppress(OSError):
            return int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        return 0
