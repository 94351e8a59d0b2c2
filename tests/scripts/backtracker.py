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
        return self._items(self._tree, start, lambda end: end)

    def fullmatch(self) -> int | None:
        """Return the end of the text if the complete text matches, or None."""
        return self._items(self._tree, 0, lambda end: end if end == len(self._text) else None)

    def search(self) -> int | None:
        """Return the end of the first match, or None if there is none."""
        ends = (self.match(at) for at in range(len(self._text) + 1))
        return next((end for end in ends if end is not None), None)

    def scan(self) -> list[tuple[int, int]]:
        """Return the spans of all non-empty matches in the order of `finditer`."""
        found, at = [], 0
        while at <= len(self._text):
            end = self.match(at)
            if end == at:  # after an empty match, a non-empty one may begin at the same position
                end = self._longer(at)
            if end is not None and end > at:
                found.append((at, end))
            at = end if end is not None and end > at else at + 1
        return found

    def _longer(self, start: int) -> int | None:
        return self._items(self._tree, start, lambda end: end if end > start else None)

    def _items(self, items: list[Any], at: int, then: Callable[[int], int | None]) -> int | None:
        if not items:
            return then(at)
        op, av = items[0]
        return self._one(op, av, at, lambda end: self._items(items[1:], end, then))

    def _one(self, op: Any, av: Any, at: int, then: Callable[[int], int | None]) -> int | None:
        self.steps += 1
        if self.steps > self._most:
            raise TooManySteps
        match op:
            case _c.LITERAL | _c.NOT_LITERAL | _c.IN | _c.ANY:
                return then(at + 1) if at < len(self._text) and self._has(op, av, self._text[at]) else None
            case _c.SUBPATTERN:
                return self._items(list(av[3]), at, then)
            case _c.BRANCH:
                ends = (self._items(list(branch), at, then) for branch in av[1])
                return next((end for end in ends if end is not None), None)
            case _c.AT:
                return then(at) if self._anchored(av, at) else None
            case _c.ASSERT | _c.ASSERT_NOT:
                if av[0] < 0:
                    raise NotImplementedError("look-behind")
                found = self._items(list(av[1]), at, lambda end: end) is not None
                return then(at) if found == (op is _c.ASSERT) else None
            case _c.ATOMIC_GROUP:
                end = self._items(list(av), at, lambda end: end)
                return None if end is None else then(end)
            case _c.POSSESSIVE_REPEAT:
                end = self._repeat(_c.MAX_REPEAT, av, at, lambda end: end)
                return None if end is None else then(end)
        return self._repeat(op, av, at, then)

    def _repeat(self, op: Any, av: Any, at: int, then: Callable[[int], int | None]) -> int | None:
        least, most, items = av
        left = None if most is _c.MAXREPEAT else most - 1

        def once_more() -> int | None:
            def after(end: int) -> int | None:
                if end == at and least <= 0:  # an empty repetition ends the loop
                    return then(end)
                return self._repeat(op, (least - 1, _c.MAXREPEAT if left is None else left, items), end, then)

            return self._items(list(items), at, after) if left is None or left >= 0 else None

        if least > 0:
            return once_more()
        if op is _c.MIN_REPEAT:
            end = then(at)
            return once_more() if end is None else end
        end = once_more()
        return then(at) if end is None else end

    def _anchored(self, av: Any, at: int) -> bool:
        before, after = self._text[at - 1 : at], self._text[at : at + 1]
        lines = bool(self._flags & re.MULTILINE)
        match av:
            case _c.AT_BEGINNING:
                return at == 0 or (lines and before == "\n")
            case _c.AT_END:
                return at == len(self._text) or (after == "\n" and (lines or at == len(self._text) - 1))
            case _c.AT_END_STRING:
                return at == len(self._text)
            case _c.AT_BOUNDARY:
                return bool(re.match(r"\w", before)) != bool(re.match(r"\w", after))
        raise NotImplementedError(av)

    def _has(self, op: Any, av: Any, character: str) -> bool:
        key = (
            op,
            id(av) if op is _c.IN else av,
            character,
        )  # the tree, and therefore this id, lives as long as the matcher
        if key not in self._known:
            state = _parser.State()
            state.flags = self._flags
            one = _compiler.compile(_parser.SubPattern(state, [(op, av)]), self._flags)
            self._known[key] = one.match(character) is not None
        return self._known[key]


def agrees_with_re(pattern: str, text: str, most_steps: int) -> bool:
    """Return whether `re` and the backtracking matcher find the same non-empty matches."""
    ours = Backtracker(pattern, text, most_steps).scan()
    return ours == [match.span() for match in re.finditer(pattern, text) if match.group()]
