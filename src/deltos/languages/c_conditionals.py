"""Remove branches of C preprocessor conditionals with incomplete statements, which the grammar cannot parse."""

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
_DIRECTIVE = re.compile(
    rb"^#[ \t]*+(?:if|ifdef|ifndef|elif|else|endif|define|undef|include)\b(?:[^\\\n]|\\\r?+\n|\\)*+", re.MULTILINE
)
_STRING = re.compile(rb'(?:[^"\\\n]|\\[^\n])*+"?+')
_COMMENT_ENDS = {b"//": b"\n", b"/*": b"*/"}
_OPENING_DIRECTIVES = (b"if", b"ifdef", b"ifndef")
_MAX_STRING_BYTES = 2_000  # maximum number of bytes searched for the end of a string literal
# Longer branches count as complete, so that an incorrect brace count cannot hide much code.
_MAX_BRANCH_BYTES = 4_000


@dataclass(slots=True)
class _Branch:
    """A branch of a preprocessor conditional: the offsets of its directive and content, its condition and brace depths.

    `depth` is the number of opening braces minus the number of closing braces. `lowest` is the minimum that this
    difference reaches in the branch.
    """

    directive: tuple[int, int]
    start: int
    condition: bytes
    end: int = 0
    depth: int = 0
    lowest: int = 0

    def add(self, depth: int, lowest: int) -> None:
        """Add the brace depths of one brace, or of a nested conditional, to this branch."""
        self.lowest = min(self.lowest, self.depth + lowest)
        self.depth += depth


@dataclass(slots=True)
class _Conditional:
    """A preprocessor conditional with its branches."""

    branches: list[_Branch] = field(default_factory=list)

    @property
    def is_unbalanced(self) -> bool:
        """Whether a branch has unbalanced braces, except in `extern "C" {`, which the grammar can parse."""
        return any(each.depth or each.lowest for each in self.branches) and not any(
            b"__cplusplus" in each.condition or each.end - each.start > _MAX_BRANCH_BYTES for each in self.branches
        )

    @property
    def kept_branch(self) -> _Branch:
        """The branch to parse: the first branch, unless its condition is 0."""
        first, *others = self.branches
        return others[0] if others and first.condition.strip() == b"0" else first


def unbalanced_conditional_ranges(data: bytes) -> list[tuple[int, int]]:
    """Return the byte ranges to replace with spaces so that only one branch of each unbalanced conditional remains."""
    if b"#" not in data or b"if" not in data:
        return []
    ranges: list[tuple[int, int]] = []
    pending: list[_Conditional] = []
    for token in _tokens(data):
        word = token["word"]
        if word is None:
            # The token is a brace, another directive or a character literal. Only braces change the depth.
            step = {b"{": 1, b"}": -1}.get(token[0], 0)
            if step and pending:
                pending[-1].branches[-1].add(step, min(step, 0))
        elif word in _OPENING_DIRECTIVES:
            pending.append(_Conditional([_Branch(token.span(), token.end(), token["condition"])]))
        elif pending:
            pending[-1].branches[-1].end = token.start()
            if word != b"endif":
                pending[-1].branches.append(_Branch(token.span(), token.end(), token["condition"]))
                continue
            conditional = pending.pop()
            if pending:
                pending[-1].branches[-1].add(conditional.kept_branch.depth, conditional.kept_branch.lowest)
            if conditional.is_unbalanced:
                ranges += [*_unused_ranges(conditional), token.span()]
    return ranges


def directive_ranges(data: bytes) -> list[tuple[int, int]]:
    """Return the byte ranges of preprocessor lines, for grammars that would otherwise parse only the first branch."""
    return [found.span() for found in _DIRECTIVE.finditer(data)] if b"#if" in data else []


def _tokens(data: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the braces and directives outside comments and strings."""
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
    """Return the byte ranges of the directives and of all branches that are not parsed."""
    kept = conditional.kept_branch
    return [(each.directive[0], each.directive[1] if each is kept else each.end) for each in conditional.branches]
