"""Prove that Python's `re` matches a pattern in linear time, or find an input for which it may not.

`re` backtracks: its work is the number of partial runs of the pattern's automaton that it follows before the first
accepting one, so the proof counts runs. It explores every reachable combination of

- the *main* run, which accepts in the end (for `finditer` and related methods also the text between matches), and
- the number of *failed* runs, tried before it, in each state,

over the characters that the pattern distinguishes. If only finitely many combinations exist and none has more than
`MAX_RUNS` failed runs, a text of n characters costs at most n * MAX_RUNS steps. Otherwise a string that makes the
number grow is an attack. The exploration is exact about priorities, anchors, word boundaries and look-around of one
character. It over-approximates longer look-around (always succeeds, its own runs are counted), atomic groups (treated
as plain groups, except that a possessive loop never stops before a character that it accepts), and repeats beyond
`MAX_COPIES` (treated as unbounded).

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

MAX_RUNS = 64
MAX_COPIES = 64
MAX_STATES = 3_000
MAX_COMBINATIONS = 20_000
_MAX_MOVES = 4_000
_MAX_SETS = 400

_parser: Any = importlib.import_module("re._parser")  # private and without stubs, but `re.compile` itself uses it
_compiler: Any = importlib.import_module("re._compiler")
_c: Any = importlib.import_module("re._constants")

_START, _END = -1, -2  # boundaries of the text, used in place of a character
_SCAN = -3  # the state between two matches
_MOVE, _ACCEPT, _SPAWN = range(3)
# Two characters represent everything beyond the BMP, because no class distinguishes more, unless a literal is there.
_BMP = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)])) + "\U0001d400\U0001f600"
_BYTES = bytes(range(256))


class Use(Enum):
    """How a pattern is applied: where matches may start, and how often."""

    MATCH = "match"
    FULLMATCH = "fullmatch"
    SEARCH = "search"
    SCAN = "scan"  # finditer, findall, sub, split; match or search from a position, which usually happens in a loop


@dataclass(frozen=True, slots=True)
class Attack:
    """Texts for which the number of runs grows: `prefix`, then `pump` any number of times, then `suffix`."""

    prefix: str
    pump: str
    suffix: str

    def text(self, characters: int) -> str:
        """Return a text of this attack with about the given length."""
        return self.prefix + self.pump * max(1, characters // max(1, len(self.pump))) + self.suffix

    def __str__(self) -> str:
        edges = [repr(edge) if edge else "" for edge in (self.prefix, self.suffix)]
        return " + ".join(filter(None, (edges[0], f"{self.pump!r} * n", edges[1])))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a proof: linear with a maximum number of simultaneous runs, or the reason why not."""

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
    """Raised for a part of the pattern that the proof does not cover."""


class _Guard:
    """Condition on an edge that consumes nothing: true, false, or None if the adjacent characters do not decide it."""

    before = False  # whether the condition depends on the preceding character

    def holds(self, before: int, after: int) -> bool | None:
        """Return whether the edge may be taken between two characters, or None if that is unknown."""
        raise NotImplementedError

    def classes(self) -> Iterator[_Class]:
        """Yield the character classes that the condition tests."""
        return iter(())


@dataclass(frozen=True, slots=True)
class _Class:
    """Set of characters: positions in the alphabet, as ranges."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    members: set[int] = field(
        default_factory=set, compare=False
    )  # letters in the class, set once the alphabet is known

    def has(self, position: int) -> bool:
        """Return whether the class contains the character at a position in the alphabet."""
        at = bisect_right(self.starts, position) - 1
        return at >= 0 and position < self.ends[at]


@dataclass(slots=True)
class _UnknownGuard(_Guard):
    """Condition on an edge whose truth is not known."""

    def holds(self, before: int, after: int) -> bool | None:  # noqa: ARG002
        return None


@dataclass(slots=True)
class _Edge(_Guard):
    """Boundary of the text, a line or a word."""

    at: Any
    newline: _Class
    word: _Class

    def __post_init__(self) -> None:
        self.before = self.at not in (_c.AT_END, _c.AT_END_LINE, _c.AT_END_STRING)

    def holds(self, before: int, after: int) -> bool | None:
        match self.at:
            case _c.AT_BEGINNING | _c.AT_BEGINNING_STRING:
                return before == _START
            case _c.AT_BEGINNING_LINE:
                return before == _START or before in self.newline.members
            case _c.AT_END_STRING:
                return after == _END
            case _c.AT_END:
                return True if after == _END else None if after in self.newline.members else False
            case _c.AT_END_LINE:
                return after == _END or after in self.newline.members
            case _c.AT_BOUNDARY:
                return (before in self.word.members) != (after in self.word.members)
            case _c.AT_NON_BOUNDARY:
                return (before in self.word.members) == (after in self.word.members)
            case _:
                raise _Unproven(f"anchor {self.at} is not covered")

    def classes(self) -> Iterator[_Class]:
        yield from (self.newline, self.word)


@dataclass(slots=True)
class _Look(_Guard):
    """Look-around of at most one character: one of the alternatives holds, or none if it is negated."""

    alternatives: list[_Class | _Edge | None]  # None: the empty alternative
    behind: bool
    negative: bool

    def __post_init__(self) -> None:
        self.before = self.behind or any(isinstance(part, _Edge) and part.before for part in self.alternatives)

    def holds(self, before: int, after: int) -> bool | None:
        found: bool | None = False
        for part in self.alternatives:
            one = self._part_holds(part, before, after)
            found = True if found or one else None if one is None or found is None else False
        return found if found is None or not self.negative else not found

    def _part_holds(self, part: _Class | _Edge | None, before: int, after: int) -> bool | None:
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
    """Look-ahead of more than one character, which is assumed to succeed and starts its own runs."""

    start: int


@dataclass(slots=True)
class _PossessiveExit(_Guard):
    """Exit of a possessive loop: never before a character that the loop accepts."""

    taken: list[_Class]
    exact: bool  # the only characters that the loop accepts

    def holds(self, before: int, after: int) -> bool | None:  # noqa: ARG002
        if any(after in part.members for part in self.taken):
            return False
        return True if self.exact else None

    def classes(self) -> Iterator[_Class]:
        yield from self.taken


_Move = tuple[int, int, bool]  # kind, state, whether all conditions passed were certain


class _Automaton:
    """A pattern as states, which consume a character of a class or lead on through edges in order of priority."""

    def __init__(self, pattern: str | bytes, flags: int, use: Use) -> None:
        tree = _parser.parse(pattern, flags)
        self._alphabet: str | bytes = _BYTES if isinstance(pattern, bytes) else _BMP
        self.takes: list[_Class | None] = []
        self.leads: list[list[tuple[_Guard | None, int]]] = []
        self._classes: dict[_Class, _Class] = {}
        self._cache: dict[tuple[int, int, int], tuple[_Move, ...]] = {}
        self.heads: dict[int, tuple[_Guard | None, int]] = {}  # exits of the loops, by the state of the loop head
        self.accept = self._add_state()
        flags = tree.state.flags
        last = self.accept
        if use is Use.FULLMATCH:
            last = self._guarded_state(self._build_edge(_c.AT_END_STRING, flags), self.accept)
        self.start = self._build_sequence(tree, flags, last)
        self._assign_letters()

    # Building: each part is built in front of the state that follows it.

    def _add_state(self, takes: _Class | None = None, leads: list[tuple[_Guard | None, int]] | None = None) -> int:
        if len(self.takes) > MAX_STATES:
            raise _Unproven(f"more than {MAX_STATES} states")
        self.takes.append(takes)
        self.leads.append(leads or [])
        return len(self.takes) - 1

    def _guarded_state(self, guard: _Guard | None, then: int) -> int:
        return self._add_state(leads=[(guard, then)])

    def _build_sequence(self, items: Any, flags: int, then: int) -> int:
        for op, av in reversed(list(items)):
            then = self._build_part(op, av, flags, then)
        return then

    def _build_part(self, op: Any, av: Any, flags: int, then: int) -> int:
        if op in (_c.LITERAL, _c.NOT_LITERAL, _c.ANY, _c.IN):
            return self._add_state(takes=self._build_class(op, av, flags), leads=[(None, then)])
        if op is _c.SUBPATTERN:
            _, added, removed, items = av
            return self._build_sequence(items, (flags | added) & ~removed, then)
        if op is _c.BRANCH:
            return self._add_state(leads=[(None, self._build_sequence(items, flags, then)) for items in av[1]])
        if op is _c.AT:
            return self._guarded_state(self._build_edge(av, flags), then)
        if op in (_c.ASSERT, _c.ASSERT_NOT):
            return self._guarded_state(self._build_look(op, av, flags), then)
        if op in (_c.MAX_REPEAT, _c.MIN_REPEAT, _c.POSSESSIVE_REPEAT):
            return self._build_repeat(op, av, flags, then)
        if op is _c.ATOMIC_GROUP:
            return self._build_atomic(av, flags, then)
        if op is _c.FAILURE:
            return self._add_state()
        raise _Unproven(f"{str(op).lower()} is not covered (back-references never are)")

    def _build_edge(self, at: Any, flags: int) -> _Edge:
        multiline = {_c.AT_BEGINNING: _c.AT_BEGINNING_LINE, _c.AT_END: _c.AT_END_LINE}
        if flags & re.MULTILINE:
            at = multiline.get(at, at)
        newline = self._build_class(_c.LITERAL, 10, 0)
        return _Edge(at, newline, self._build_class(_c.IN, [(_c.CATEGORY, _c.CATEGORY_WORD)], flags))

    def _build_look(self, op: Any, av: Any, flags: int) -> _Guard:
        direction, items = av
        alternatives = self._alternatives(list(items), flags)
        if alternatives is not None:
            return _Look(alternatives, direction < 0, op is _c.ASSERT_NOT)
        return (
            _UnknownGuard() if direction < 0 else _LongLookahead(self._build_sequence(items, flags, self._add_state()))
        )

    def _alternatives(self, items: list[Any], flags: int) -> list[_Class | _Edge | None] | None:
        """Return the alternatives of a look-around if each is a character, an anchor or empty."""
        if not items:
            return [None]
        if len(items) > 1:
            return None
        op, av = items[0]
        if op is _c.BRANCH:
            found = [self._alternatives(list(branch), flags) for branch in av[1]]
            return None if None in found else [part for parts in found for part in parts or ()]
        if op is _c.SUBPATTERN:
            return self._alternatives(list(av[3]), (flags | av[1]) & ~av[2])
        if op in (_c.LITERAL, _c.NOT_LITERAL, _c.ANY, _c.IN):
            return [self._build_class(op, av, flags)]
        return [self._build_edge(av, flags)] if op is _c.AT else None

    def _build_repeat(self, op: Any, av: Any, flags: int, then: int) -> int:
        least, most, items = av
        unbounded = most is _c.MAXREPEAT or most > MAX_COPIES
        stop, inner = self._possessive_guards(op, items, flags, then)
        if inner:
            then = self._guarded_state(inner, then)
        after = then
        if unbounded:
            exact = most is _c.MAXREPEAT and least <= MAX_COPIES
            then = self._build_loop(op, items, flags, then, stop if exact else stop or _UnknownGuard())
            most = least = min(least, MAX_COPIES)
        for left in range(most, 0, -1):
            then = self._build_sequence(items, flags, then)
            if left > least:
                then = self._build_choice(op, then, (stop, after))
        return self._guarded_state(inner, then) if inner else then

    def _possessive_guards(self, op: Any, items: Any, flags: int, then: int) -> tuple[_Guard | None, _Guard | None]:
        """Return conditions on the exits of a possessive repeat, and around it if it repeats more than a class."""
        if op is not _c.POSSESSIVE_REPEAT or then == self.accept:  # no later part can fail
            return None, None
        taken, exact = self._single_class(list(items), flags)
        return _PossessiveExit(taken, exact), None if exact else _UnknownGuard()

    def _single_class(self, items: list[Any], flags: int) -> tuple[list[_Class], bool]:
        """Return the set of characters that the items match, and whether they match exactly one character."""
        if len(items) != 1:
            return [], False
        op, av = items[0]
        if op in (_c.LITERAL, _c.NOT_LITERAL, _c.ANY, _c.IN):
            return [self._build_class(op, av, flags)], True
        if op is _c.SUBPATTERN:
            return self._single_class(list(av[3]), (flags | av[1]) & ~av[2])
        if op is _c.BRANCH:
            return [part for branch in av[1] for part in self._single_class(list(branch), flags)[0]], False
        return [], False

    def _build_loop(self, op: Any, items: Any, flags: int, then: int, guard: _Guard | None) -> int:
        head = self._add_state()
        body = self._build_sequence(items, flags, head)
        self.heads[head] = (guard, then)
        self.leads[head] = self._order_branches(op, body, (guard, then))
        return head

    def _build_choice(self, op: Any, body: int, way_out: tuple[_Guard | None, int]) -> int:
        return self._add_state(leads=self._order_branches(op, body, way_out))

    def _order_branches(
        self, op: Any, body: int, way_out: tuple[_Guard | None, int]
    ) -> list[tuple[_Guard | None, int]]:
        return [way_out, (None, body)] if op is _c.MIN_REPEAT else [(None, body), way_out]

    def _build_atomic(self, items: Any, flags: int, then: int) -> int:
        if len(items) == 1 and items[0][0] is _c.MAX_REPEAT:
            return self._build_repeat(_c.POSSESSIVE_REPEAT, items[0][1], flags, then)
        return self._guarded_state(
            _UnknownGuard(), self._build_sequence(items, flags, self._guarded_state(_UnknownGuard(), then))
        )

    # Letters: characters that no class of the pattern distinguishes form one letter.

    def _build_class(self, op: Any, av: Any, flags: int) -> _Class:
        spans = _class_ranges(op, repr(av), _UncachedArgument(av), flags & ~re.MULTILINE, self._alphabet)
        found = _Class(tuple(a for a, _ in spans), tuple(b for _, b in spans))
        return self._classes.setdefault(found, found)

    def _assign_letters(self) -> None:
        """Assign letters to every class, and keep an example of each letter."""
        classes = list(self._classes)
        asked_before = {
            part for leads in self.leads for guard, _ in leads if guard and guard.before for part in guard.classes()
        }
        cuts = sorted({0, *(at for part in classes for at in (*part.starts, *part.ends))})
        examples: dict[tuple[bool, ...], int] = {}
        for at in cuts:
            if at < len(self._alphabet):
                signature = tuple(part.has(at) for part in classes)
                examples[signature] = min(examples.get(signature, at), at, key=_readability_key(self._alphabet))
        self.letters = [_example_character(self._alphabet, at) for at in examples.values()]
        for letter, signature in enumerate(examples):
            for part, member in zip(classes, signature, strict=True):
                if member:
                    part.members.add(letter)
        # The preceding character matters only for the classes that a condition tests.
        seen: dict[tuple[bool, ...], int] = {}
        self.memory = [
            seen.setdefault(tuple(letter in part.members for part in asked_before), letter)
            for letter in range(len(self.letters))
        ]

    # Matching

    def ways(self, state: int, before: int, after: int) -> tuple[_Move, ...]:
        """Return the moves from a state between two characters, in order: steps over `after`, or acceptance."""
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
        takes = self.takes[state]
        if takes is not None:
            if after in takes.members:
                found.append((kind, self.leads[state][0][1], is_certain))
            return
        if visited[state] > (state in self.heads) or len(found) > _MAX_MOVES:
            if len(found) > _MAX_MOVES:
                raise _Unproven(f"more than {_MAX_MOVES} possible moves at one character")
            return
        # A loop whose body matched the empty string is left and not entered again.
        leads = self.leads[state] if not visited[state] else [self.heads[state]]
        visited[state] += 1
        for guard, target in leads:
            holds = True if guard is None else guard.holds(before, after)
            if isinstance(guard, _LongLookahead):
                self._collect_moves(guard.start, before, after, False, Counter(), found, _SPAWN)
            if holds is not False:
                self._collect_moves(target, before, after, is_certain and holds is True, visited, found, kind)
        visited[state] -= 1


@dataclass(frozen=True)
class _UncachedArgument:
    """Argument that is excluded from the key of a cache."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UncachedArgument)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _class_ranges(
    op: Any, _: str, av: _UncachedArgument, flags: int, alphabet: str | bytes
) -> tuple[tuple[int, int], ...]:
    """Return the positions in the alphabet of the characters that a class matches, according to `re` itself."""
    state = _parser.State()
    state.flags = flags
    one = _parser.SubPattern(state, [(op, av.value)])
    run = _parser.SubPattern(state, [(_c.MAX_REPEAT, (1, _c.MAXREPEAT, one))])
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
    """All combinations of a main run and failed runs that some text can reach."""

    def __init__(self, automaton: _Automaton, use: Use) -> None:
        self._automaton = automaton
        self._use = use
        self._universal: dict[tuple[int, frozenset[int]], bool] = {}
        self._parents: dict[_Node, tuple[_Node, int] | None] = {}
        self._queue: list[tuple[int, int, int, _Node]] = []
        self._most = 0

    def verdict(self) -> Verdict:
        """Explore combinations with the most runs first, until all have been seen or a limit is exceeded."""
        for node in self._start_nodes():
            self._add(node, None, 0)
        while self._queue:
            runs, depth, _, node = heapq.heappop(self._queue)
            if -runs > MAX_RUNS:
                return Verdict(
                    linear=False, runs=-runs, reason=f"{-runs} runs at once", attack=self._build_attack(node)
                )
            if len(self._parents) > MAX_COMBINATIONS:
                return Verdict(linear=False, reason=f"more than {MAX_COMBINATIONS} combinations of runs: not decided")
            for letter in range(len(self._automaton.letters)):
                for following in self._step_runs(node, letter):
                    self._add(following, (node, letter), depth + 1)
        return Verdict(linear=True, runs=self._most)

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
            self._most = max(self._most, runs)
            heapq.heappush(self._queue, (-runs, depth, len(self._parents), node))

    def _step_runs(self, node: _Node, letter: int) -> Iterator[_Node]:
        before, main, runs = node
        failed: Counter[int] = Counter()
        memory = self._automaton.memory[letter]
        try:
            for run, count in runs:
                for way in self._automaton.ways(run // 2, before, letter):
                    self._add_failed_move(way, bool(run % 2), count, memory, failed)
        except _RunAccepts:
            return
        for state, aside in self._main_run_moves(main, before, letter):
            together = failed.copy()
            together.update(aside)
            if state is not None or together:
                yield memory, state, tuple(sorted(together.items()))

    def _add_failed_move(self, way: _Move, certain: bool, count: int, memory: int, failed: Counter[int]) -> None:
        """Follow one move of a failed run."""
        kind, target, is_certain = way
        certain = certain and is_certain and kind != _SPAWN
        if kind == _ACCEPT or (kind == _MOVE and self._is_universal(memory, frozenset({target}))):
            if certain:
                raise _RunAccepts
            return
        failed[2 * target + certain] += count

    def _main_run_moves(self, main: int | None, before: int, letter: int) -> Iterator[tuple[int | None, Counter[int]]]:
        """Return the moves of the main run, each with the runs that were tried before it and failed."""
        aside: Counter[int] = Counter()
        if main is None:
            yield None, aside
        elif main == _SCAN:
            yield from self._scan_moves(before, letter, aside)
        else:
            for way in self._automaton.ways(main, before, letter):
                if way[0] == _ACCEPT:
                    if self._use is Use.SCAN:
                        yield from self._scan_moves(before, letter, aside.copy())
                    else:
                        yield None, aside.copy()
                elif way[0] == _MOVE:
                    yield way[1], aside.copy()
                if not self._set_aside(way, letter, aside):
                    return

    def _scan_moves(self, before: int, letter: int, aside: Counter[int]) -> Iterator[tuple[int | None, Counter[int]]]:
        """Return the moves of the main run between matches: either a match begins here, or no match does."""
        for way in self._automaton.ways(self._automaton.start, before, letter):
            if way[0] == _ACCEPT and self._use is Use.SEARCH:
                yield None, aside.copy()
            elif way[0] == _MOVE:
                yield way[1], aside.copy()
            # An empty match is followed by another attempt at the same position.
            if not self._set_aside(way, letter, aside) and (way[0] != _ACCEPT or self._use is Use.SEARCH):
                return
        yield _SCAN, aside

    def _set_aside(self, way: _Move, letter: int, aside: Counter[int]) -> bool:
        """Count a move among the failed runs; return False if it cannot have failed."""
        try:
            self._add_failed_move(way, True, 1, self._automaton.memory[letter], aside)
        except _RunAccepts:
            return False
        return True

    def _is_universal(self, before: int, states: frozenset[int]) -> bool:
        """Return whether one of the states accepts every continuation, so that a run in these states cannot fail."""
        key = (before, states)
        if key in self._universal:
            return self._universal[key]
        seen, todo = {key}, [key]
        while todo:
            following = self._continuations(*todo.pop())
            if following is None or any(self._universal.get(one) is False for one in following):
                self._universal[key] = False
                return False
            fresh = following - seen
            seen |= fresh
            todo += fresh
            if len(seen) > _MAX_SETS:
                self._universal[key] = False
                return False
        self._universal.update(dict.fromkeys(seen, True))
        return True

    def _continuations(self, before: int, states: frozenset[int]) -> set[tuple[int, frozenset[int]]] | None:
        """Return the sets of states after the next letter, or None if some continuation may not be accepted."""
        found = set()
        for letter in (_END, *range(len(self._automaton.letters))):
            ways = [way for state in states for way in self._automaton.ways(state, before, letter) if way[2]]
            if any(kind == _ACCEPT for kind, _, _ in ways):
                continue
            targets = frozenset(target for kind, target, _ in ways if kind == _MOVE)
            if not targets:
                return None
            found.add((self._automaton.memory[letter], targets))
        return found

    def _build_attack(self, node: _Node) -> Attack:
        """Return a text that leads to a node, split into a beginning and the part that adds runs."""
        nodes, letters = [node], []
        while (parent := self._parents[nodes[-1]]) is not None:
            nodes.append(parent[0])
            letters.append(self._automaton.letters[parent[1]])
        nodes.reverse()
        text = "".join(reversed(letters))
        first, last = _growing_pairs(nodes)
        return Attack(text[:first], text[first:last], self._failing_suffix(node))

    def _failing_suffix(self, node: _Node) -> str:
        """Return a character after which all failed runs have failed, if the end of the text is not enough."""
        before, _, runs = node
        ends = [way for run, _ in runs for way in self._automaton.ways(run // 2, before, _END)]
        if not any(kind == _ACCEPT for kind, _, _ in ends):
            return ""
        for letter, example in enumerate(self._automaton.letters):
            if not any(self._automaton.ways(run // 2, before, letter) for run, _ in runs):
                return example
        return ""


def _growing_pairs(nodes: list[_Node]) -> tuple[int, int]:
    """Return the pairs of nodes on the path between which only the number of runs grew, shortest first."""
    for length in range(1, len(nodes)):
        for last in range(length, len(nodes)):
            one, other = nodes[last - length], nodes[last]
            counts, later = Counter(dict(one[2])), Counter(dict(other[2]))
            if one[:2] == other[:2] and counts and counts < later and set(counts) == set(later):
                return last - length, last
    return 0, len(nodes) - 1
