"""Prove that Python's `re` matches a pattern in linear time, or find an input for which it may not.

`re` backtracks: its running time is proportional to the number of runs of the pattern's automaton that it tries before
the first accepting run. The proof therefore counts runs. It explores every reachable combination of

- the *main* run, which accepts in the end (for `finditer` and related methods, this includes the text between matches),
- and the number of *failed* runs in each state, which were tried before the main run,

over the characters that the pattern distinguishes. If only finitely many combinations exist and none has more than
`MAX_RUNS` failed runs, a text of n characters takes at most n * MAX_RUNS steps. Otherwise, a string that makes the
number of runs grow is reported as an attack. The exploration is exact about priorities, anchors, word boundaries and
look-around of one character. It over-approximates longer look-around (which always succeeds, and whose own runs are
counted), atomic groups (treated as plain groups, except that a possessive loop never stops before a character that the
loop accepts), and repeats beyond `MAX_COPIES` (treated as unbounded).

The proof covers one call of the given method, not a caller that calls it repeatedly at the same position.
"""

from __future__ import annotations

import heapq
import importlib
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_RUNS = 64  # maximum number of simultaneous failed runs of a linear pattern
MAX_COPIES = 64  # maximum number of repeats that are represented exactly
MAX_STATES = 3_000  # maximum number of states of an automaton
MAX_COMBINATIONS = 20_000  # maximum number of explored combinations of runs
_MAX_TRANSITIONS = 4_000  # maximum number of transitions from one state on one character
_MAX_STATE_SETS = 400  # maximum number of sets of states that are explored to show that a run cannot fail

_parser: Any = importlib.import_module("re._parser")  # private module without stubs, which `re.compile` itself uses
_compiler: Any = importlib.import_module("re._compiler")
_re_constants: Any = importlib.import_module("re._constants")

_START, _END = -1, -2  # boundaries of the text, used in place of a character
_SCAN = -3  # state of the main run between two matches
_MOVE, _ACCEPT, _SPAWN = range(3)  # kinds of moves
# Two characters beyond the BMP are enough, because patterns distinguish them only if they name them literally.
_UNICODE_ALPHABET = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)])) + "\U0001d400\U0001f600"
_BYTE_ALPHABET = bytes(range(256))


class Use(Enum):
    """How a pattern is applied: where matches may start, and how often."""

    MATCH = "match"
    FULLMATCH = "fullmatch"
    SEARCH = "search"
    # finditer, findall, sub, split; also match and search with a start position, because they are usually called in a
    # loop
    SCAN = "scan"


@dataclass(frozen=True, slots=True)
class Attack:
    """Texts of any length for which the number of runs grows: `prefix`, then many times `pump`, then `suffix`."""

    prefix: str
    pump: str
    suffix: str

    def text(self, characters: int) -> str:
        """Return a text of this attack with about the given length."""
        return self.prefix + self.pump * max(1, characters // max(1, len(self.pump))) + self.suffix

    def __str__(self) -> str:
        prefix, suffix = (repr(text) if text else "" for text in (self.prefix, self.suffix))
        return " + ".join(filter(None, (prefix, f"{self.pump!r} * n", suffix)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a proof: the maximum number of simultaneous runs, or the reason why the pattern is not linear."""

    linear: bool
    runs: int = 0
    reason: str = ""
    attack: Attack | None = None


def prove(pattern: str | bytes, flags: int = 0, use: Use = Use.SCAN) -> Verdict:
    """Return whether `use` of the pattern takes linear time on every text."""
    try:
        return _Exploration(_Automaton(pattern, flags, use), use).verdict()
    except _Unproven as exc:
        return Verdict(linear=False, reason=str(exc))


class _Unproven(Exception):
    """Raised if the proof does not cover a part of the pattern."""


class _Guard:
    """Condition on an edge of the automaton that consumes no character."""

    tests_preceding = False  # whether the condition depends on the preceding character

    def holds(self, before: int, after: int) -> bool | None:
        """Return whether the edge may be taken between two characters, or None if this cannot be decided."""
        raise NotImplementedError

    def classes(self) -> Iterator[_Class]:
        """Yield the character classes that the condition tests."""
        return iter(())


@dataclass(frozen=True, slots=True)
class _Class:
    """Set of characters, as ranges of positions in the alphabet."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    # Letters in the class. They are computed after the automaton is built.
    members: set[int] = field(default_factory=set, compare=False)

    def contains(self, position: int) -> bool:
        """Return whether the class contains the character at a position in the alphabet."""
        at = bisect_right(self.starts, position) - 1
        return at >= 0 and position < self.ends[at]


@dataclass(slots=True)
class _UnknownGuard(_Guard):
    """Condition that cannot be decided from the adjacent characters."""

    def holds(self, before: int, after: int) -> bool | None:  # noqa: ARG002
        return None


@dataclass(slots=True)
class _Anchor(_Guard):
    """Boundary of the text, a line or a word."""

    at: Any
    newline: _Class
    word: _Class

    def __post_init__(self) -> None:
        self.tests_preceding = self.at not in (
            _re_constants.AT_END,
            _re_constants.AT_END_LINE,
            _re_constants.AT_END_STRING,
        )

    def holds(self, before: int, after: int) -> bool | None:
        match self.at:
            case _re_constants.AT_BEGINNING | _re_constants.AT_BEGINNING_STRING:
                return before == _START
            case _re_constants.AT_BEGINNING_LINE:
                return before == _START or before in self.newline.members
            case _re_constants.AT_END_STRING:
                return after == _END
            case _re_constants.AT_END:
                return True if after == _END else None if after in self.newline.members else False
            case _re_constants.AT_END_LINE:
                return after == _END or after in self.newline.members
            case _re_constants.AT_BOUNDARY:
                return (before in self.word.members) != (after in self.word.members)
            case _re_constants.AT_NON_BOUNDARY:
                return (before in self.word.members) == (after in self.word.members)
            case _:
                raise _Unproven(f"anchor {self.at} is not covered")

    def classes(self) -> Iterator[_Class]:
        yield from (self.newline, self.word)


@dataclass(slots=True)
class _Look(_Guard):
    """Look-around of at most one character. It holds if an alternative matches or, if negated, if none does."""

    alternatives: list[_Class | _Anchor | None]  # None: the empty alternative
    behind: bool
    negative: bool

    def __post_init__(self) -> None:
        self.tests_preceding = self.behind or any(
            isinstance(part, _Anchor) and part.tests_preceding for part in self.alternatives
        )

    def holds(self, before: int, after: int) -> bool | None:
        found: bool | None = False
        for part in self.alternatives:
            one = self._part_holds(part, before, after)
            found = True if found or one else None if one is None or found is None else False
        return found if found is None or not self.negative else not found

    def _part_holds(self, part: _Class | _Anchor | None, before: int, after: int) -> bool | None:
        if part is None:
            return True
        if isinstance(part, _Class):
            return (before if self.behind else after) in part.members
        return part.holds(before, after)

    def classes(self) -> Iterator[_Class]:
        for part in self.alternatives:
            if isinstance(part, _Class):
                yield part
            elif part is not None:
                yield from part.classes()


@dataclass(slots=True)
class _LongLookahead(_UnknownGuard):
    """Look-ahead of more than one character. It is assumed to succeed, and its own runs are counted."""

    start: int


@dataclass(slots=True)
class _PossessiveExit(_Guard):
    """Condition for leaving a possessive loop, which fails before a character that the loop accepts."""

    taken: list[_Class]  # characters with which the body of the loop can start
    exact: bool  # whether the body of the loop is a single character in `taken`

    def holds(self, before: int, after: int) -> bool | None:  # noqa: ARG002
        if any(after in part.members for part in self.taken):
            return False
        return True if self.exact else None

    def classes(self) -> Iterator[_Class]:
        yield from self.taken


_Move = tuple[int, int, bool]  # kind, next state, whether all conditions on the way were certain


class _Automaton:
    """Automaton of a pattern. A state either consumes a character of a class or has edges in order of priority."""

    def __init__(self, pattern: str | bytes, flags: int, use: Use) -> None:
        tree = _parser.parse(pattern, flags)
        self._alphabet: str | bytes = _BYTE_ALPHABET if isinstance(pattern, bytes) else _UNICODE_ALPHABET
        self.consumed: list[_Class | None] = []
        self.edges: list[list[tuple[_Guard | None, int]]] = []
        self._classes: dict[_Class, _Class] = {}
        self._cache: dict[tuple[int, int, int], tuple[_Move, ...]] = {}
        self.loop_exits: dict[int, tuple[_Guard | None, int]] = {}  # exit of each loop, by the first state of the loop
        self.accept = self._add_state()
        flags = tree.state.flags
        last = self.accept
        if use is Use.FULLMATCH:
            last = self._add_guarded_state(self._build_anchor(_re_constants.AT_END_STRING, flags), self.accept)
        self.start = self._build_sequence(tree, flags, last)
        self._assign_letters()

    # Construction, from the last part of the pattern to the first, because each part leads to the state after it.

    def _add_state(self, consumed: _Class | None = None, edges: list[tuple[_Guard | None, int]] | None = None) -> int:
        if len(self.consumed) > MAX_STATES:
            raise _Unproven(f"more than {MAX_STATES} states")
        self.consumed.append(consumed)
        self.edges.append(edges or [])
        return len(self.consumed) - 1

    def _add_guarded_state(self, guard: _Guard | None, next_state: int) -> int:
        return self._add_state(edges=[(guard, next_state)])

    def _build_sequence(self, items: Any, flags: int, next_state: int) -> int:
        for op, av in reversed(list(items)):
            next_state = self._build_part(op, av, flags, next_state)
        return next_state

    def _build_part(self, op: Any, av: Any, flags: int, next_state: int) -> int:
        if op in (_re_constants.LITERAL, _re_constants.NOT_LITERAL, _re_constants.ANY, _re_constants.IN):
            return self._add_state(consumed=self._build_class(op, av, flags), edges=[(None, next_state)])
        if op is _re_constants.SUBPATTERN:
            _, added, removed, items = av
            return self._build_sequence(items, (flags | added) & ~removed, next_state)
        if op is _re_constants.BRANCH:
            return self._add_state(edges=[(None, self._build_sequence(items, flags, next_state)) for items in av[1]])
        if op is _re_constants.AT:
            return self._add_guarded_state(self._build_anchor(av, flags), next_state)
        if op in (_re_constants.ASSERT, _re_constants.ASSERT_NOT):
            return self._add_guarded_state(self._build_look(op, av, flags), next_state)
        if op in (_re_constants.MAX_REPEAT, _re_constants.MIN_REPEAT, _re_constants.POSSESSIVE_REPEAT):
            return self._build_repeat(op, av, flags, next_state)
        if op is _re_constants.ATOMIC_GROUP:
            return self._build_atomic(av, flags, next_state)
        if op is _re_constants.FAILURE:
            return self._add_state()
        raise _Unproven(f"{str(op).lower()} is not covered (back-references never are)")

    def _build_anchor(self, at: Any, flags: int) -> _Anchor:
        multiline = {
            _re_constants.AT_BEGINNING: _re_constants.AT_BEGINNING_LINE,
            _re_constants.AT_END: _re_constants.AT_END_LINE,
        }
        if flags & re.MULTILINE:
            at = multiline.get(at, at)
        newline = self._build_class(_re_constants.LITERAL, 10, 0)
        return _Anchor(
            at,
            newline,
            self._build_class(_re_constants.IN, [(_re_constants.CATEGORY, _re_constants.CATEGORY_WORD)], flags),
        )

    def _build_look(self, op: Any, av: Any, flags: int) -> _Guard:
        direction, items = av
        alternatives = self._look_alternatives(list(items), flags)
        if alternatives is not None:
            return _Look(alternatives, direction < 0, op is _re_constants.ASSERT_NOT)
        return (
            _UnknownGuard() if direction < 0 else _LongLookahead(self._build_sequence(items, flags, self._add_state()))
        )

    def _look_alternatives(self, items: list[Any], flags: int) -> list[_Class | _Anchor | None] | None:
        """Return the alternatives of a look-around, or None unless each is a character class, an anchor or empty."""
        if not items:
            return [None]
        if len(items) > 1:
            return None
        op, av = items[0]
        if op is _re_constants.BRANCH:
            found = [self._look_alternatives(list(branch), flags) for branch in av[1]]
            return None if None in found else [part for parts in found for part in parts or ()]
        if op is _re_constants.SUBPATTERN:
            return self._look_alternatives(list(av[3]), (flags | av[1]) & ~av[2])
        if op in (_re_constants.LITERAL, _re_constants.NOT_LITERAL, _re_constants.ANY, _re_constants.IN):
            return [self._build_class(op, av, flags)]
        return [self._build_anchor(av, flags)] if op is _re_constants.AT else None

    def _build_repeat(self, op: Any, av: Any, flags: int, next_state: int) -> int:
        minimum, maximum, items = av
        unbounded = maximum is _re_constants.MAXREPEAT or maximum > MAX_COPIES
        stop, inner = self._possessive_guards(op, items, flags, next_state)
        if inner:
            next_state = self._add_guarded_state(inner, next_state)
        after = next_state
        if unbounded:
            exact = maximum is _re_constants.MAXREPEAT and minimum <= MAX_COPIES
            next_state = self._build_loop(op, items, flags, next_state, stop if exact else stop or _UnknownGuard())
            maximum = minimum = min(minimum, MAX_COPIES)
        for left in range(maximum, 0, -1):
            next_state = self._build_sequence(items, flags, next_state)
            if left > minimum:
                next_state = self._build_choice(op, next_state, (stop, after))
        return self._add_guarded_state(inner, next_state) if inner else next_state

    def _possessive_guards(
        self, op: Any, items: Any, flags: int, next_state: int
    ) -> tuple[_Guard | None, _Guard | None]:
        """Return two conditions of a possessive repeat: for leaving it, and for the edges before and after it."""
        # If this is the last part of the pattern, no later part can fail.
        if op is not _re_constants.POSSESSIVE_REPEAT or next_state == self.accept:
            return None, None
        taken, exact = self._first_classes(list(items), flags)
        return _PossessiveExit(taken, exact), None if exact else _UnknownGuard()

    def _first_classes(self, items: list[Any], flags: int) -> tuple[list[_Class], bool]:
        """Return the classes with which the items can start, and whether the items match exactly one character."""
        if len(items) != 1:
            return [], False
        op, av = items[0]
        if op in (_re_constants.LITERAL, _re_constants.NOT_LITERAL, _re_constants.ANY, _re_constants.IN):
            return [self._build_class(op, av, flags)], True
        if op is _re_constants.SUBPATTERN:
            return self._first_classes(list(av[3]), (flags | av[1]) & ~av[2])
        if op is _re_constants.BRANCH:
            return [part for branch in av[1] for part in self._first_classes(list(branch), flags)[0]], False
        return [], False

    def _build_loop(self, op: Any, items: Any, flags: int, next_state: int, guard: _Guard | None) -> int:
        head = self._add_state()
        body = self._build_sequence(items, flags, head)
        self.loop_exits[head] = (guard, next_state)
        self.edges[head] = self._order_branches(op, body, (guard, next_state))
        return head

    def _build_choice(self, op: Any, body: int, exit_edge: tuple[_Guard | None, int]) -> int:
        return self._add_state(edges=self._order_branches(op, body, exit_edge))

    def _order_branches(
        self, op: Any, body: int, exit_edge: tuple[_Guard | None, int]
    ) -> list[tuple[_Guard | None, int]]:
        return [exit_edge, (None, body)] if op is _re_constants.MIN_REPEAT else [(None, body), exit_edge]

    def _build_atomic(self, items: Any, flags: int, next_state: int) -> int:
        if len(items) == 1 and items[0][0] is _re_constants.MAX_REPEAT:
            return self._build_repeat(_re_constants.POSSESSIVE_REPEAT, items[0][1], flags, next_state)
        return self._add_guarded_state(
            _UnknownGuard(), self._build_sequence(items, flags, self._add_guarded_state(_UnknownGuard(), next_state))
        )

    # A letter represents all characters that the pattern treats alike.

    def _build_class(self, op: Any, av: Any, flags: int) -> _Class:
        spans = _class_ranges(op, repr(av), _UncachedArgument(av), flags & ~re.MULTILINE, self._alphabet)
        found = _Class(tuple(a for a, _ in spans), tuple(b for _, b in spans))
        return self._classes.setdefault(found, found)

    def _assign_letters(self) -> None:
        """Compute the letters of each class, and one character as an example of each letter."""
        classes = list(self._classes)
        tested_before = {
            part
            for edges in self.edges
            for guard, _ in edges
            if guard and guard.tests_preceding
            for part in guard.classes()
        }
        cuts = sorted({0, *(at for part in classes for at in (*part.starts, *part.ends))})
        examples: dict[tuple[bool, ...], int] = {}
        for at in cuts:
            if at < len(self._alphabet):
                signature = tuple(part.contains(at) for part in classes)
                examples[signature] = min(examples.get(signature, at), at, key=_readability_key(self._alphabet))
        self.letters = [_example_character(self._alphabet, at) for at in examples.values()]
        for letter, signature in enumerate(examples):
            for part, member in zip(classes, signature, strict=True):
                if member:
                    part.members.add(letter)
        # Two letters are treated as the same preceding letter if no condition on the preceding character distinguishes
        # them.
        seen: dict[tuple[bool, ...], int] = {}
        self.remembered_letters = [
            seen.setdefault(tuple(letter in part.members for part in tested_before), letter)
            for letter in range(len(self.letters))
        ]

    # Matching

    def moves(self, state: int, before: int, after: int) -> tuple[_Move, ...]:
        """Return the moves from a state in order of priority: steps over the letter `after`, or acceptance."""
        key = (state, before, after)
        if key not in self._cache:
            found: list[_Move] = []
            self._collect_moves(state, before, after, True, Counter(), found, _MOVE)
            self._cache[key] = tuple(found)
        return self._cache[key]

    def _collect_moves(
        self,
        state: int,
        before: int,
        after: int,
        is_certain: bool,
        visited: Counter[int],
        found: list[_Move],
        kind: int,
    ) -> None:
        if state == self.accept:
            found.append((_ACCEPT, state, is_certain))
            return
        consumed = self.consumed[state]
        if consumed is not None:
            if after in consumed.members:
                found.append((kind, self.edges[state][0][1], is_certain))
            return
        if visited[state] > (state in self.loop_exits) or len(found) > _MAX_TRANSITIONS:
            if len(found) > _MAX_TRANSITIONS:
                raise _Unproven(f"more than {_MAX_TRANSITIONS} possible moves at one character")
            return
        # Leave a loop after its body has matched the empty string.
        edges = self.edges[state] if not visited[state] else [self.loop_exits[state]]
        visited[state] += 1
        for guard, target in edges:
            holds = True if guard is None else guard.holds(before, after)
            if isinstance(guard, _LongLookahead):
                self._collect_moves(guard.start, before, after, False, Counter(), found, _SPAWN)
            if holds is not False:
                self._collect_moves(target, before, after, is_certain and holds is True, visited, found, kind)
        visited[state] -= 1


@dataclass(frozen=True)
class _UncachedArgument:
    """Argument that is not part of the key of a cache."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UncachedArgument)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _class_ranges(
    op: Any, _: str, av: _UncachedArgument, flags: int, alphabet: str | bytes
) -> tuple[tuple[int, int], ...]:
    """Return the ranges of positions in the alphabet that a class matches, determined with `re`."""
    state = _parser.State()
    state.flags = flags
    one = _parser.SubPattern(state, [(op, av.value)])
    run = _parser.SubPattern(state, [(_re_constants.MAX_REPEAT, (1, _re_constants.MAXREPEAT, one))])
    compiled: re.Pattern[Any] = _compiler.compile(run, flags)
    return tuple(match.span() for match in compiled.finditer(alphabet))


def _readability_key(alphabet: str | bytes) -> Any:
    def key(at: int) -> tuple[bool, int]:
        return not _example_character(alphabet, at).isprintable(), at

    return key


def _example_character(alphabet: str | bytes, at: int) -> str:
    return alphabet[at] if isinstance(alphabet, str) else chr(alphabet[at])


_Runs = tuple[tuple[int, int], ...]  # (twice the state, plus one if the run is certain; number of such runs)
_Node = tuple[int, int | None, _Runs]  # letter before, state of the main run (None if there is none), failed runs


class _RunAccepts(Exception):
    """Raised when a run that was assumed to fail accepts."""


class _Exploration:
    """Explores all combinations of a main run and failed runs that a text can reach."""

    def __init__(self, automaton: _Automaton, use: Use) -> None:
        self._automaton = automaton
        self._use = use
        self._universal: dict[tuple[int, frozenset[int]], bool] = {}
        self._parents: dict[_Node, tuple[_Node, int] | None] = {}
        self._queue: list[tuple[int, int, int, _Node]] = []
        self._max_runs = 0

    def verdict(self) -> Verdict:
        """Explore combinations with the most runs first, until all have been seen or a limit is exceeded."""
        for node in self._start_nodes():
            self._add(node, None, 0)
        while self._queue:
            runs, depth, _, node = heapq.heappop(self._queue)
            if -runs > MAX_RUNS:
                return Verdict(
                    linear=False, runs=-runs, reason=f"{-runs} simultaneous runs", attack=self._build_attack(node)
                )
            if len(self._parents) > MAX_COMBINATIONS:
                return Verdict(
                    linear=False, reason=f"more than {MAX_COMBINATIONS} combinations of runs, so the proof was stopped"
                )
            for letter in range(len(self._automaton.letters)):
                for following in self._step_runs(node, letter):
                    self._add(following, (node, letter), depth + 1)
        return Verdict(linear=True, runs=self._max_runs)

    def _start_nodes(self) -> Iterator[_Node]:
        start = self._automaton.start
        if self._use in (Use.SEARCH, Use.SCAN):
            yield (_START, _SCAN, ())
        else:
            yield (_START, start, ())
            if not self._is_universal(_START, frozenset({start})):
                yield (_START, None, ((2 * start + 1, 1),))

    def _add(self, node: _Node, parent: tuple[_Node, int] | None, depth: int) -> None:
        if node not in self._parents:
            self._parents[node] = parent
            runs = sum(count for _, count in node[2])
            self._max_runs = max(self._max_runs, runs)
            heapq.heappush(self._queue, (-runs, depth, len(self._parents), node))

    def _step_runs(self, node: _Node, letter: int) -> Iterator[_Node]:
        before, main, runs = node
        failed: Counter[int] = Counter()
        remembered = self._automaton.remembered_letters[letter]
        try:
            for run, count in runs:
                for move in self._automaton.moves(run // 2, before, letter):
                    self._add_failed_move(move, bool(run % 2), count, remembered, failed)
        except _RunAccepts:
            return
        for state, failed_before in self._main_run_moves(main, before, letter):
            all_failed = failed.copy()
            all_failed.update(failed_before)
            if state is not None or all_failed:
                yield remembered, state, tuple(sorted(all_failed.items()))

    def _add_failed_move(self, move: _Move, certain: bool, count: int, remembered: int, failed: Counter[int]) -> None:
        """Follow one move of a failed run."""
        kind, target, is_certain = move
        certain = certain and is_certain and kind != _SPAWN
        if kind == _ACCEPT or (kind == _MOVE and self._is_universal(remembered, frozenset({target}))):
            if certain:
                raise _RunAccepts
            return
        failed[2 * target + certain] += count

    def _main_run_moves(self, main: int | None, before: int, letter: int) -> Iterator[tuple[int | None, Counter[int]]]:
        """Yield the moves of the main run, each with the failed runs that were tried before the move."""
        failed_before: Counter[int] = Counter()
        if main is None:
            yield None, failed_before
        elif main == _SCAN:
            yield from self._scan_moves(before, letter, failed_before)
        else:
            for move in self._automaton.moves(main, before, letter):
                if move[0] == _ACCEPT:
                    if self._use is Use.SCAN:
                        yield from self._scan_moves(before, letter, failed_before.copy())
                    else:
                        yield None, failed_before.copy()
                elif move[0] == _MOVE:
                    yield move[1], failed_before.copy()
                if not self._count_failed(move, letter, failed_before):
                    return

    def _scan_moves(
        self, before: int, letter: int, failed_before: Counter[int]
    ) -> Iterator[tuple[int | None, Counter[int]]]:
        """Yield the moves of the main run between matches: a match begins at this position, or no match begins."""
        for move in self._automaton.moves(self._automaton.start, before, letter):
            if move[0] == _ACCEPT and self._use is Use.SEARCH:
                yield None, failed_before.copy()
            elif move[0] == _MOVE:
                yield move[1], failed_before.copy()
            # An empty match is followed by another attempt at the same position.
            if not self._count_failed(move, letter, failed_before) and (move[0] != _ACCEPT or self._use is Use.SEARCH):
                return
        yield _SCAN, failed_before

    def _count_failed(self, move: _Move, letter: int, failed_before: Counter[int]) -> bool:
        """Count a move of a failed run. Return False if the run cannot fail, because it accepts."""
        try:
            self._add_failed_move(move, True, 1, self._automaton.remembered_letters[letter], failed_before)
        except _RunAccepts:
            return False
        return True

    def _is_universal(self, before: int, states: frozenset[int]) -> bool:
        """Return whether runs in these states cannot fail, because every continuation of the text is accepted."""
        key = (before, states)
        if key in self._universal:
            return self._universal[key]
        seen, todo = {key}, [key]
        while todo:
            following = self._continuations(*todo.pop())
            if following is None or any(self._universal.get(one) is False for one in following):
                self._universal[key] = False
                return False
            new = following - seen
            seen |= new
            todo += new
            if len(seen) > _MAX_STATE_SETS:
                self._universal[key] = False
                return False
        self._universal.update(dict.fromkeys(seen, True))
        return True

    def _continuations(self, before: int, states: frozenset[int]) -> set[tuple[int, frozenset[int]]] | None:
        """Return the state sets after the next letter, or None if a continuation may be rejected."""
        found = set()
        for letter in (_END, *range(len(self._automaton.letters))):
            moves = [move for state in states for move in self._automaton.moves(state, before, letter) if move[2]]
            if any(kind == _ACCEPT for kind, _, _ in moves):
                continue
            targets = frozenset(target for kind, target, _ in moves if kind == _MOVE)
            if not targets:
                return None
            found.add((self._automaton.remembered_letters[letter], targets))
        return found

    def _build_attack(self, node: _Node) -> Attack:
        """Return an attack from the path to a node: the text before the growth, and the text that adds runs."""
        nodes, letters = [node], []
        while (parent := self._parents[nodes[-1]]) is not None:
            nodes.append(parent[0])
            letters.append(self._automaton.letters[parent[1]])
        nodes.reverse()
        text = "".join(reversed(letters))
        first, last = _find_growth(nodes)
        return Attack(text[:first], text[first:last], self._failing_suffix(node))

    def _failing_suffix(self, node: _Node) -> str:
        """Return a character that makes all failed runs fail, or an empty string if the end of the text does."""
        before, _, runs = node
        ends = [move for run, _ in runs for move in self._automaton.moves(run // 2, before, _END)]
        if not any(kind == _ACCEPT for kind, _, _ in ends):
            return ""
        for letter, example in enumerate(self._automaton.letters):
            if not any(self._automaton.moves(run // 2, before, letter) for run, _ in runs):
                return example
        return ""


def _find_growth(nodes: list[_Node]) -> tuple[int, int]:
    """Return the indexes of the two closest nodes on the path between which only the number of runs grows."""
    for length in range(1, len(nodes)):
        for last in range(length, len(nodes)):
            one, other = nodes[last - length], nodes[last]
            counts, later = Counter(dict(one[2])), Counter(dict(other[2]))
            if one[:2] == other[:2] and counts and counts < later and set(counts) == set(later):
                return last - length, last
    return 0, len(nodes) - 1
