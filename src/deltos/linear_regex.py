"""Untrusted regular expressions, which RE2 matches in linear time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import BadArgument

if TYPE_CHECKING:
    import re

_MAX_MEMORY_BYTES = 32 << 20  # memory limit of a compiled pattern
_MULTILINE_FLAG = "(?m)"
_HINT = "Use RE2 syntax, which has no look-around and no back-references."


def compile_regex(pattern: str, *, hint: str = _HINT) -> re.Pattern[bytes]:
    """Compile a pattern for searching bytes. `^` and `$` match at line boundaries."""
    import re2  # deferred import: few calls need this compiled library

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    try:
        found: re.Pattern[bytes] = re2.compile((_MULTILINE_FLAG + pattern).encode("utf-8"), options)
    except re2.error as exc:
        raise BadArgument(f"Invalid regular expression: {_error_text(exc)}", hint=hint) from None
    return found


def _error_text(exc: Exception) -> str:
    reason = exc.args[0] if exc.args else ""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return text.replace(_MULTILINE_FLAG, "", 1)
