"""Find member names in files with merge conflicts.

The parser may misread the code after a conflict marker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.languages.code_text import code_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = re.compile(rb"^<{7} ", re.MULTILINE)
_END = re.compile(rb"^>{7} ", re.MULTILINE)
_MEMBER_ACCESS = re.compile(r"(?:\.|->|::)\s*([A-Za-z_]\w*)")


def members_in_conflict(data: bytes, language: str) -> Iterator[tuple[int, str]]:
    """Yield the member names after the first conflict marker, each with its line number."""
    begin = _BEGIN.search(data)
    if begin is None or _END.search(data, begin.end()) is None:
        return
    first = data.count(b"\n", 0, begin.start())
    lines = code_text(data.decode("utf-8", "replace"), language).split("\n")
    for number, line in enumerate(lines[first:], first + 1):
        for name in _MEMBER_ACCESS.findall(line):
            yield number, name
