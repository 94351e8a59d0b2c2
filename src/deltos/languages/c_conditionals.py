"""Resolution of C preprocessor conditionals whose branches are not complete statements, which no grammar can parse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    rb"[{}\"]|//|/\*|'(?:[^'\\\n]|\\[^\n]){1,8}+'"
    rb"|^[ \t]*+#[ \t]*+(?:(?P<word>if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b)?+"
    rb"(?P<condition>(?:[^\\\n]|\\\r?+\n|\\)*+)",
    re.MULTILINE,
)
_STRING = re.compile(rb'(?:[^"\\\n]|\\[^\n])*+"?+')
_COMMENT_ENDS = {b"//": b"\n", b"/*": b"*/"}
_OPENING = (b"if", b"ifdef", b"ifndef")
_MAX_STRING_BYTES = 2_000
_MAX_BRANCH_BYTES = (
    4_000  # longer branches are assumed to be complete, so that a wrong brace count cannot hide much code
)


@dataclass(slots=True)
class _Branch:
    """A branch of a conditional: its directive, its content, and the balance of its braces."""

    directive: tuple[int, int]
    start: int
    condition: bytes
    end: int = 0
    depth: int = 0
    lowest: int = 0

    def add(self, depth: int, lowest: int) -> None:
        """Add the brace depth, and the lowest depth, of the next part of the branch."""
        self.lowest = min(self.lowest, self.depth + lowest)
        self.depth += depth


@dataclass(slots=True)
class _Conditional:
    branches: list[_Branch] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Whether a branch begins or ends within a statement, except `extern "C" {`, which the grammar supports."""
        return any(each.depth or each.lowest for each in self.branches) and not any(
            b"__cplusplus" in each.condition or each.end - each.start > _MAX_BRANCH_BYTES for each in self.branches
        )

    @property
    def used(self) -> _Branch:
        """The branch that is kept: the first one, unless its condition is 0."""
        first, *others = self.branches
        return others[0] if others and first.condition.strip() == b"0" else first


def cut_conditionals(data: bytes) -> list[tuple[int, int]]:
    """Return the ranges to blank so that one branch remains of each conditional with incomplete statements."""
    if b"#" not in data or b"if" not in data:
        return []
    ranges: list[tuple[int, int]] = []
    pending: list[_Conditional] = []
    for token in _tokens(data):
        word = token["word"]
        if word is None:
            step = {b"{": 1, b"}": -1}.get(token[0], 0)  # 0 for another directive or a character literal
            if step and pending:
                pending[-1].branches[-1].add(step, min(step, 0))
        elif word in _OPENING:
            pending.append(_Conditional([_Branch(token.span(), token.end(), token["condition"])]))
        elif pending:
            pending[-1].branches[-1].end = token.start()
            if word != b"endif":
                pending[-1].branches.append(_Branch(token.span(), token.end(), token["condition"]))
                continue
            conditional = pending.pop()
            if pending:
                pending[-1].branches[-1].add(conditional.used.depth, conditional.used.lowest)
            if conditional.is_cut:
                ranges += [*_unused_ranges(conditional), token.span()]
    return ranges


def _tokens(data: bytes) -> Iterator[re.Match[bytes]]:
    """Yield braces and directives outside comments and strings; an unclosed one ends with its line or the file."""
    at = 0
    while token := _TOKEN.search(data, at):
        at = token.end()
        if token[0] == b'"':
            string = _STRING.match(data[at : at + _MAX_STRING_BYTES])
            at += string.end() if string else 0
        elif token[0] in _COMMENT_ENDS:
            end_at = data.find(_COMMENT_ENDS[token[0]], at)
            at = end_at if end_at >= 0 else len(data)
        else:
            yield token


def _unused_ranges(conditional: _Conditional) -> list[tuple[int, int]]:
    """Return the ranges of the directives and of the unused branches."""
    kept = conditional.used
    return [(each.directive[0], each.directive[1] if each is kept else each.end) for each in conditional.branches]
