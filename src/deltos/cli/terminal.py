"""Escapes control characters in everything that is printed. All output passes through `sanitized_output`."""

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
_BIDI = "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides and isolates, which reorder text
_SURROGATES = "\ud800-\udfff"  # undecodable bytes of file names, and lone surrogates
# Not compiled at import, which would take 4 ms: hooks rarely print.
_UNSAFE = f"[{_CONTROLS}{_BIDI}{_SURROGATES}]"
_UNSAFE_IN_JSON = f"[\x7f-\x9f{_BIDI}{_SURROGATES}]"  # JSON escapes C0 itself
_PICTURES = 0x2400  # start of the Unicode block with a symbol for each C0 code
_PICTURE_OF_DELETE = "\u2421"


def escape_controls(text: str) -> str:
    r"""Replace characters that act on a terminal: ESC by ␛, C1 by \x9b, bidirectional overrides by <U+202E>.

    No text is removed, because an escape sequence without end would hide everything after it.
    """
    if re.search(_UNSAFE, text) is None:
        return text
    return re.sub(_UNSAFE, _shown, text.replace("\r\n", "\n"))


def escape_json(line: str) -> str:
    """Escape the characters of a JSON line that act on a terminal; the JSON value stays the same."""
    return re.sub(_UNSAFE_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", line)


@contextmanager
def sanitized_output() -> Iterator[None]:
    """Apply `escape_controls` to everything printed inside, also to usage messages, warnings, logs and tracebacks."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and SanitizedStream(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def redraw_line(drawn: str) -> None:
    """Replace the current line of standard error by `drawn` (from `style.progress_line`); an empty text erases it."""
    stream = sys.stderr
    raw = stream.inner if isinstance(stream, SanitizedStream) else stream
    raw.write(_ERASE_LINE + drawn)
    raw.flush()


def discard_output() -> None:
    """Redirect stdout to the null device, because Python would report an error when it flushes the buffer at exit."""
    stream = sys.stdout
    raw = stream.inner if isinstance(stream, SanitizedStream) else stream
    with suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor has no buffer to flush
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, raw.fileno())
        os.close(nowhere)


class SanitizedStream:
    """Wraps a text stream and escapes control characters of everything that is written to it."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        """Write text; characters that the stream's encoding lacks are escaped."""
        shown = escape_controls(text)
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
