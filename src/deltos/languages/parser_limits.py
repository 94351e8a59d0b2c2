"""Memory and time limits for native parsers, and rejection of input that could crash a parser.

Parsers run in child processes, which are terminated when they exceed a limit.
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

MIN_TREE_BYTES = 48 << 20  # minimum memory limit for a syntax tree
# Memory that is added to the limit for each byte of source; ordinary files need up to 51 bytes.
TREE_BYTES_PER_BYTE = 80
MIN_PARSE_SECONDS = 0.25  # time that is added to every CPU time limit
# Maximum number of columns in which YAML blocks may begin. The YAML grammar stores open blocks in a buffer of 1,024
# bytes, four bytes for each block, without a bounds check. Two blocks can begin in the same column: a mapping and a
# sequence inside it.
MAX_YAML_BLOCK_COLUMNS = 120
_YAML_INDICATORS = frozenset({b"-", b"?", b":"})
_WORD = re.compile(rb"[^ \t]+")
_LETTER_OR_DIGIT = re.compile(rb"[A-Za-z0-9\x80-\xff]")


def reject_unsafe_input(grammar: str, data: bytes) -> None:
    """Raise SourceError for text that may cause a buffer overflow in the parser."""
    if grammar.startswith("tree_sitter_yaml.") and has_too_many_block_columns(data):
        raise SourceError("blocks may be nested deeper than the YAML parser supports")


def has_too_many_block_columns(data: bytes) -> bool:
    """Whether YAML blocks may begin in more columns than the parser's buffer can store."""
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

    A block may begin at the first word of a line, at leading indicators (`-`, `?`, `:`), and at the word after them.
    """
    is_after_indicators, may_begin = True, True
    for word in _WORD.finditer(line):
        is_indicator = is_after_indicators and word[0] in _YAML_INDICATORS
        if may_begin or is_indicator:
            yield word.start()
        may_begin = is_indicator
        is_after_indicators = not _LETTER_OR_DIGIT.search(word[0])


if sys.platform == "win32":

    @contextmanager
    def bounded_memory(size: int) -> Iterator[None]:  # noqa: ARG001 (as elsewhere)
        """Do nothing, because Windows does not support a memory limit for the address space of a process."""
        yield

    @contextmanager
    def bounded_time(seconds: float) -> Iterator[None]:  # noqa: ARG001 (as elsewhere)
        """Do nothing, because Windows does not support CPU timers; only the timeout of the child process applies."""
        yield

else:
    import resource
    import signal

    @contextmanager
    def bounded_memory(size: int) -> Iterator[None]:
        """Limit the memory for parsing `size` bytes of source.

        During error recovery, a parser can use memory quadratic in the size of its input. Exceeding the limit aborts
        the process, so the limit is set only in child processes, which already have a memory limit.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        tree_bytes = MIN_TREE_BYTES + TREE_BYTES_PER_BYTE * size
        used = _used_bytes() if soft != resource.RLIM_INFINITY else 0
        if not used or used + tree_bytes >= soft:
            yield
            return
        resource.setrlimit(resource.RLIMIT_AS, (used + tree_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    @contextmanager
    def bounded_time(seconds: float) -> Iterator[None]:
        """Limit parsing to `seconds` of CPU time plus `MIN_PARSE_SECONDS`.

        During error recovery at the end of its input, a parser may run for minutes without reading. Exceeding the limit
        terminates the process, so the timer is set only in child processes, which have a memory limit.
        """
        if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
            yield
            return
        # When the time is over, the timer sends SIGVTALRM, which terminates the process.
        signal.setitimer(signal.ITIMER_VIRTUAL, MIN_PARSE_SECONDS + seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _used_bytes() -> int:
        """Return the size of the used address space in bytes, or 0 if it is unknown."""
        with suppress(OSError):
            return int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        return 0
