"""What reaches a terminal: no control characters of others. All that this process prints goes through `guarded`."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_ERASE_LINE = "\r\x1b[K"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
_BIDI = "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates, which show text in another order
_SURROGATES = "\ud800-\udfff"  # bytes of file names that are no UTF-8, and half characters
# Compiled when something is printed, which hooks seldom do: these take 4 ms.
_UNSAFE = f"[{_CONTROLS}{_BIDI}{_SURROGATES}]"
_UNSAFE_IN_JSON = f"[\x7f-\x9f{_BIDI}{_SURROGATES}]"  # JSON escapes C0 itself
_PICTURES = 0x2400  # Unicode has a picture of each C0 code
_PICTURE_OF_DELETE = "\u2421"


def visible(text: str) -> str:
    """`text` with all that would act on a terminal made visible: ESC as ␛, C1 as \\x9b, overrides as <U+202E>.

    Nothing is left out: a sequence that never ends would hide what follows it.
    """
    if re.search(_UNSAFE, text) is None:
        return text
    return re.sub(_UNSAFE, _shown, text.replace("\r\n", "\n"))


def harmless_json(line: str) -> str:
    """A line of JSON that says the same, with the characters that would act on a terminal escaped."""
    return re.sub(_UNSAFE_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", line)


@contextmanager
def guarded() -> Iterator[None]:
    """Let everything that is printed inside pass `visible`: also usage messages, warnings, logs and tracebacks."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and Guarded(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def redraw_line(drawn: str) -> None:
    """Show a line of `looks.progress_line` in place of the current one of standard error; an empty one erases it."""
    stream = sys.stderr
    raw = stream.inner if isinstance(stream, Guarded) else stream
    raw.write(_ERASE_LINE + drawn)
    raw.flush()


def discard_output() -> None:
    """Send what is still buffered nowhere: Python would try to write it once more when it ends, and complain."""
    stream = sys.stdout
    raw = stream.inner if isinstance(stream, Guarded) else stream
    with suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor has nothing to lose
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, raw.fileno())
        os.close(nowhere)


class Guarded:
    """A text stream that writes what is safe to another; in everything else it is that other."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        """Write text; characters that the stream cannot encode are escaped."""
        shown = visible(text)
        try:
            self.inner.write(shown)
        except UnicodeEncodeError:
            encoding = self.inner.encoding or "ascii"
            self.inner.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return _PICTURE_OF_DELETE
    if code < 0xA0:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python could not decode
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"
