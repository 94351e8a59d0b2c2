"""A simple backtracking matcher that counts its steps, to test the proofs about `re`."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")
_c: Any = importlib.import_module("re._constants")


class TooManySteps(Exception):
    """The limit on steps was reached."""


class Backtracker:
    """Matcher that tries alternatives in the order of `re`, one character at a time."""

    def __init__(self, pattern: str, text: str, most_steps: int) -> None:
        tree = _parser.parse(pattern)
        self._tree = list(tree)
        self._flags = tree.state.flags
        self._known: dict[tuple[Any, Any, str], bool] = {}
        self._text = text
        self._most = most_steps
        self.steps = 0

    def apply(self, use: str) -> None:
        """Apply the pattern to the text with the `re` method named by `use`."""
        methods = {"scan": self.scan, "search": self.search, "fullmatch": self.fullmatch}
        methods.get(use, self.match)()

    def match(self, start: int = 0) -> int | None:
        """Return the end of the match at `start`, or None if there is none."""
        return self._match_items(self._tree, start, lambda end: end)

    def fullmatch(self) -> int | None:
        """Return the end of the text if the complete text matches, or None."""
        return self._match_items(self._tree, 0, lambda end: end if end == len(self._text) else None)

    def search(self) -> int | None:
        """Return the end of the first match, or None if there is none."""
        ends = (self.match(position) for position in range(len(self._text) + 1))
        return next((end for end in ends if end is not None), None)

    def scan(self) -> list[tuple[int, int]]:
        """Return the spans of all non-empty matches in the order of `finditer`."""
        found, position = [], 0
        while position <= len(self._text):
            end = self.match(position)
            if end == position:  # after an empty match, a non-empty one may begin at the same position
                end = self._match_non_empty(position)
            if end is not None and end > position:
                found.append((position, end))
            position = end if end is not None and end > position else position + 1
        return found

    def _match_non_empty(self, start: int) -> int | None:
        return self._match_items(self._tree, start, lambda end: end if end > start else None)

    def _match_items(self, items: list[Any], position: int, continuation: Callable[[int], int | None]) -> int | None:
        if not items:
            return continuation(position)
        op, argument = items[0]
        return self._match_one(op, argument, position, lambda end: self._match_items(items[1:], end, continuation))

    def _match_one(
        self, op: Any, argument: Any, position: int, continuation: Callable[[int], int | None]
    ) -> int | None:
        self.steps += 1
        if self.steps > self._most:
            raise TooManySteps
        match op:
            case _c.LITERAL | _c.NOT_LITERAL | _c.IN | _c.ANY:
                return (
                    continuation(position + 1)
                    if position < len(self._text) and self._matches_character(op, argument, self._text[position])
                    else None
                )
            case _c.SUBPATTERN:
                return self._match_items(list(argument[3]), position, continuation)
            case _c.BRANCH:
                ends = (self._match_items(list(branch), position, continuation) for branch in argument[1])
                return next((end for end in ends if end is not None), None)
            case _c.AT:
                return continuation(position) if self._is_at_anchor(argument, position) else None
            case _c.ASSERT | _c.ASSERT_NOT:
                if argument[0] < 0:
                    raise NotImplementedError("look-behind")
                found = self._match_items(list(argument[1]), position, lambda end: end) is not None
                return continuation(position) if found == (op is _c.ASSERT) else None
            case _c.ATOMIC_GROUP:
                end = self._match_items(list(argument), position, lambda end: end)
                return None if end is None else continuation(end)
            case _c.POSSESSIVE_REPEAT:
                end = self._match_repeat(_c.MAX_REPEAT, argument, position, lambda end: end)
                return None if end is None else continuation(end)
        return self._match_repeat(op, argument, position, continuation)

    def _match_repeat(
        self, op: Any, argument: Any, position: int, continuation: Callable[[int], int | None]
    ) -> int | None:
        min_count, max_count, items = argument
        left = None if max_count is _c.MAXREPEAT else max_count - 1

        def once_more() -> int | None:
            def after(end: int) -> int | None:
                if end == position and min_count <= 0:  # an empty repetition ends the loop
                    return continuation(end)
                return self._match_repeat(
                    op, (min_count - 1, _c.MAXREPEAT if left is None else left, items), end, continuation
                )

            return self._match_items(list(items), position, after) if left is None or left >= 0 else None

        if min_count > 0:
            return once_more()
        if op is _c.MIN_REPEAT:
            end = continuation(position)
            return once_more() if end is None else end
        end = once_more()
        return continuation(position) if end is None else end

    def _is_at_anchor(self, argument: Any, position: int) -> bool:
        before, after = self._text[position - 1 : position], self._text[position : position + 1]
        lines = bool(self._flags & re.MULTILINE)
        match argument:
            case _c.AT_BEGINNING:
                return position == 0 or (lines and before == "\n")
            case _c.AT_END:
                return position == len(self._text) or (after == "\n" and (lines or position == len(self._text) - 1))
            case _c.AT_END_STRING:
                return position == len(self._text)
            case _c.AT_BOUNDARY:
                return bool(re.match(r"\w", before)) != bool(re.match(r"\w", after))
        raise NotImplementedError(argument)

    def _matches_character(self, op: Any, argument: Any, character: str) -> bool:
        key = (
            op,
            id(argument) if op is _c.IN else argument,
            character,
        )  # the tree, and therefore this id, lives as long as the matcher
        if key not in self._known:
            state = _parser.State()
            state.flags = self._flags
            one = _compiler.compile(_parser.SubPattern(state, [(op, argument)]), self._flags)
            self._known[key] = one.match(character) is not None
        return self._known[key]


def agrees_with_re(pattern: str, text: str, most_steps: int) -> bool:
    """Return whether `re` and the backtracking matcher find the same non-empty matches."""
    ours = Backtracker(pattern, text, most_steps).scan()
    return ours == [match.span() for match in re.finditer(pattern, text) if match.group()]
