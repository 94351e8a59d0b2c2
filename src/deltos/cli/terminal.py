"""Escape control characters in all printed text."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_ERASE_LINE = "\r\x1b[K"
# C0 control characters except tab and line feed, DEL, and C1 control characters.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDIRECTIONAL_CONTROLS = "\u202a-\u202e\u2066-\u2069"  # bidirectional control characters, which reorder text
# Surrogates: bytes of file names that Python could not decode, and unpaired surrogates.
_SURROGATES = "\ud800-\udfff"
# Text of a pattern that is not compiled at import, because compiling takes 4 ms and hooks rarely print.
_UNSAFE_CHARACTERS = f"[{_CONTROLS}{_BIDIRECTIONAL_CONTROLS}{_SURROGATES}]"
_UNSAFE_IN_JSON = f"[\x7f-\x9f{_BIDIRECTIONAL_CONTROLS}{_SURROGATES}]"  # JSON encoders escape C0 controls
_CONTROL_PICTURES_START = 0x2400  # start of the Unicode block with a symbol for each C0 code
_DELETE_PICTURE = "\u2421"


def escape_controls(text: str) -> str:
    r"""Replace characters that control a terminal: ESC by ␛, C1 by \x9b, bidirectional overrides by <U+202E>.

    No text is removed, because an unterminated escape sequence would hide everything after it.
    """
    if re.search(_UNSAFE_CHARACTERS, text) is None:
        return text
    return re.sub(_UNSAFE_CHARACTERS, _escape_match, text.replace("\r\n", "\n"))


def escape_json(line: str) -> str:
    """Escape the characters of a JSON line that control a terminal, without changing the JSON value."""
    return re.sub(_UNSAFE_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", line)


@contextmanager
def sanitized_output() -> Iterator[None]:
    """Apply `escape_controls` to everything printed in the `with` block, including warnings, logs and tracebacks."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and SanitizedStream(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def redraw_line(drawn: str) -> None:
    """Replace the current line on stderr with `drawn` (from `style.progress_line`), or erase it if `drawn` is empty."""
    stream = sys.stderr
    raw = stream.inner if isinstance(stream, SanitizedStream) else stream
    raw.write(_ERASE_LINE + drawn)
    raw.flush()


def discard_output() -> None:
    """Redirect stdout to the null device, so that flushing the buffer at exit does not fail again."""
    stream = sys.stdout
    raw = stream.inner if isinstance(stream, SanitizedStream) else stream
    with suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor has no buffer to flush
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, raw.fileno())
        os.close(nowhere)


class SanitizedStream:
    """Text stream that escapes control characters in everything written to it."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        """Write text, escaping characters that the stream's encoding does not support."""
        shown = escape_controls(text)
        try:
            self.inner.write(shown)
        except UnicodeEncodeError:
            encoding = self.inner.encoding or "ascii"
            self.inner.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write the lines in order."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _escape_match(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_CONTROL_PICTURES_START + code)
    if code == 0x7F:
        return _DELETE_PICTURE
    if code < 0xA0:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python could not decode
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"
