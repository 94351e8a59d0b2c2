"""Regular expressions from outside, on an engine that runs in linear time whatever the pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import BadArgument

if TYPE_CHECKING:
    import re

_MOST_MEMORY = 32 << 20
_BY_LINES = "(?m)"
_HINT = "RE2 syntax: no look-around, no back-references."


def compiled(pattern: str, *, hint: str = _HINT) -> re.Pattern[bytes]:
    """The pattern for searching in bytes; lines are what `^` and `$` stand for."""
    import re2  # deferred: a compiled library that most questions do not need

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        found: re.Pattern[bytes] = re2.compile((_BY_LINES + pattern).encode("utf-8"), options)
    except re2.error as exc:
        raise BadArgument(f"Invalid regular expression: {_reason(exc)}", hint=hint) from None
    return found


def _reason(exc: Exception) -> str:
    reason = exc.args[0] if exc.args else ""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return text.replace(_BY_LINES, "", 1)
