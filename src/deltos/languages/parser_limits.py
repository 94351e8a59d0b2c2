"""Limits for native parsers: memory and time for each tree, and rejection of unsafe input.

Parsing happens in child processes. The limits end such a process early, or reject the input before the parser runs.
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

MIN_TREE_BYTES = 48 << 20
TREE_BYTES_PER_BYTE = 80  # bytes of tree for each byte of source; ordinary files need up to 51
MIN_PARSE_SECONDS = 0.25  # CPU time after which the parser's process is ended
# The YAML grammar stores its open blocks in 1,024 bytes, four for each, without a bounds check. Two blocks can begin in
# the same column: a mapping and a sequence inside it.
MAX_YAML_BLOCK_COLUMNS = 120
_YAML_INDICATORS = frozenset({b"-", b"?", b":"})
_WORD = re.compile(rb"[^ \t]+")
_LETTER_OR_DIGIT = re.compile(rb"[A-Za-z0-9\x80-\xff]")


def reject_unsafe_input(grammar: str, data: bytes) -> None:
    """Raise SourceError for text that would make a grammar write beyond its buffer."""
    if grammar.startswith("tree_sitter_yaml.") and has_too_many_block_columns(data):
        raise SourceError("blocks may be nested deeper than the YAML parser supports")


def has_too_many_block_columns(data: bytes) -> bool:
    """Whether blocks may begin in more columns than the parser's memory allows."""
    lines = data.replace(b"\r", b"\n").split(b"\n")
    if max(map(len, lines)) <= MAX_YAML_BLOCK_COLUMNS:
        return False
    columns: set[int] = set()
    for line in lines:
        for column in _block_columns(line):
            columns.add(column)
            if len(columns) > MAX_YAML_BLOCK_COLUMNS:
                return True
    return False


def _block_columns(line: bytes) -> Iterator[int]:
    """Yield the columns of a line in which a YAML block may begin.

    These are the columns of the first word, and of `-`, `?` and `:` and the word after them if only such indicators
    precede. In valid YAML, no block begins in the middle of a line, but error recovery may open one there.
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
        """Do nothing, because Windows has no memory limit of this kind."""
        yield

    @contextmanager
    def bounded_time(seconds: float) -> Iterator[None]:  # noqa: ARG001 (as elsewhere)
        """Do nothing, because Windows has no such timer; the timeout of the entire task applies."""
        yield

else:
    import resource
    import signal

    @contextmanager
    def bounded_memory(size: int) -> Iterator[None]:
        """Limit the memory of a parse of `size` bytes of source to a multiple of the ordinary size.

        During error recovery, a parser can use memory quadratic in its input, and it aborts the process if memory runs
        out. The limit is therefore applied only in a child process that already has a memory limit.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        room = MIN_TREE_BYTES + TREE_BYTES_PER_BYTE * size
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
        """Limit parsing to `seconds` of CPU time plus `MIN_PARSE_SECONDS`.

        During error recovery at the end of its input, a parser may run for minutes without reading, so it cannot be
        stopped through its input. The timer ends the process and is therefore set only in a child process.
        """
        if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
            yield
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, MIN_PARSE_SECONDS + seconds)  # the timer sends SIGVTALRM
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _used_bytes() -> int:
        """Return the used address space, or 0 if the system does not report it."""
        with suppress(OSError):
            return int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        return 0
