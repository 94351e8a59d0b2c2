"""Whether patterns and parsers of outside text take time in proportion to it: attacks are doubled, CPU is compared.

python -m benchmarks.linearity [--patterns | --parsers] [--target GLOB] [--limit SECONDS]

For every parser (the targets of `fuzz/`) and for every `re` pattern in src: repeats of each word of the format, of
pairs of words, of blanks and newlines, nested and unclosed delimiters, at n, 2n and 4n bytes. A ratio above 2.6 on a
doubling that takes more than 20 ms is looked into: the attack is doubled further, and is a finding when its time still
grows so after two seconds or at 64n. Each parser runs in a process of its own, which is ended when it takes too long.
Into formats that are JSON (hooks of agents, calls of tools, manifests) the repeats are put where each text and list of
a real input stands, written as JSON writes them: alone they would be refused before anything reads them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.corpus import committed
from fuzz.targets import all_targets
from scripts.backtracking import Use
from scripts.check_patterns import inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection

    from fuzz.target import Target
    from scripts.check_patterns import PatternUse

SMALLEST_BYTES = 4_000
DOUBLINGS = 2
MORE_DOUBLINGS = 4  # of what seems to grow too fast: noise does not persist, and some parsers stop at a limit of theirs
MOST_RATIO = 2.6
SHORTEST_SECONDS = 0.020
SCREEN_SHARE = 8  # the first size is screened at an eighth: most attacks are harmless and need no more
ENOUGH_SECONDS = 2.0  # a run that takes so long is doubled no further
SILENCE_SECONDS = 300.0  # a process that says nothing for so long hangs: one attack takes some seconds of CPU at most
GENERIC = (
    *(bytes([code]) for code in range(32, 127) if not chr(code).isalnum()),
    b"\n", b"\t", b"\r\n", b"a", b"a ", b"a\n", b"\n ", b" \n", b"0", b"A", b"<!--", b"/*", b"//", b"{/*", b"[a](",
    b"<a", b"<a ", b"![", b"\xc3\xa4", b"\0",
)  # fmt: skip
PAIRS = (
    (b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<div>", b"</div>"), (b"<ul><li>", b"</li></ul>"), (b"[a](", b")"),
    (b'{"a":', b"}"), (b"/*", b"*/"), (b"> ", b""), (b"- ", b""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that can be made as long as one likes: `head`, then repeats, then `tail`."""

    head: bytes
    repeated: bytes
    tail: bytes = b""
    closing: bytes = b""

    def text(self, size: int) -> bytes:
        """About `size` bytes of it."""
        times = max(1, (size - len(self.head) - len(self.tail)) // max(1, len(self.repeated) + len(self.closing)))
        return self.head + self.repeated * times + self.closing * times + self.tail

    def __str__(self) -> str:
        parts = [repr(self.head[-20:])[1:]] if self.head else []
        parts.append(f"{self.repeated[:40]!r} × n"[1:])
        parts += [f"{self.closing!r} × n"[1:]] if self.closing else []
        parts += [repr(self.tail[:20])[1:]] if self.tail else []
        return " + ".join(parts)


@dataclass(frozen=True, slots=True)
class Worst:
    """The attack whose time grows fastest."""

    name: str
    ratio: float
    seconds: float
    size: int
    attack: str
    attacks: int
    stopped: str = ""
    note: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether it grows faster than its input."""
        return bool(self.stopped) or (self.ratio > MOST_RATIO and self.seconds > SHORTEST_SECONDS)

    def row(self) -> str:
        """A line of the table."""
        what = self.attack.replace("|", "\\|").replace("`", "'")
        ratio = f"{self.ratio:.1f}" if self.ratio else "–"
        figures = f"{self.attacks} | {ratio} | {self.seconds * 1e3:.0f} | {self.size:,}"
        return f"| {self.name} | {figures} | `{what}` | {self.stopped or self.note} |"

    @property
    def is_harmless(self) -> bool:
        """Whether no attack took long enough to be compared."""
        return not self.ratio and not self.stopped


HEADING = "| what | attacks | worst ratio | CPU ms | bytes | attack | |\n|---|--:|--:|--:|--:|---|---|"


def attacks(tokens: Iterable[bytes], seed: bytes = b"") -> Iterator[Attack]:
    """Repeats of every word, nested and unclosed delimiters, alone and after the beginning of a real input."""
    words = list(dict.fromkeys((*tokens, *GENERIC)))
    heads = [b"", seed[:200]] if seed else [b""]
    for head in heads:
        for word in words:
            yield Attack(head, word)
            yield Attack(head, word, b"x")
        for left, right in PAIRS:
            yield Attack(head, left, b"x", right)
    for first, second in pairwise(words):
        yield Attack(b"", first + second)
        yield Attack(first, second, first)
    for word in words:
        yield Attack(word, b" ", word)
        yield Attack(word, b"\n", word)
        yield Attack(word, b"a", b"\n")


def attacks_within(tokens: Iterable[bytes], seeds: Iterable[bytes]) -> Iterator[Attack]:
    """Repeats of every word inside each text of JSON inputs, and of whole members of their lists and objects."""
    words = [json_text(word) for word in dict.fromkeys((*tokens, *GENERIC))]
    places = [place for seed in seeds for place in places_within(seed)]
    for word in words:  # words first: when time runs out, each place has had some of them
        for place in places:
            yield Attack(place.head, word, place.tail)
    for place in places:
        for left, right in PAIRS:
            yield Attack(place.head, json_text(left), place.tail, json_text(right))
    for seed in seeds:
        for at, character in enumerate(seed):
            if character in b"[{" and (whole := _whole_value(seed, at)):
                inner = whole[1:-1].strip()
                if inner:
                    head, tail = seed[: at + 1] + inner, seed[at + len(whole) - 1 :]
                    yield Attack(head, b"," + inner, tail)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands in a JSON input: what is before it and after it."""

    head: bytes
    tail: bytes


def places_within(seed: bytes) -> Iterator[Place]:
    """The texts of a JSON input that are values, one after the other; each replaced by nothing."""
    for found in re.finditer(rb'"(?:[^"\\]|\\.)*"\s*(:?)', seed):
        if not found[1]:
            end = found.start() + len(found[0].rstrip())
            yield Place(seed[: found.start() + 1], seed[end - 1 :])


def json_text(word: bytes) -> bytes:
    """A word of a format as it stands inside a text of JSON."""
    return json.dumps(word.decode("utf-8", "replace"), ensure_ascii=False)[1:-1].encode()


def _whole_value(seed: bytes, at: int) -> bytes:
    """The list or object that begins there; nothing where it is none."""
    try:
        text = seed[at:].decode()
        _, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return b""
    return text[:end].encode()


def worst_of(
    name: str, run: Callable[[bytes], object], found: Iterable[Attack], *, smallest: int, limit: float
) -> Iterator[Worst | str]:
    """Each attack as it begins, and the worst so far each time there is a worse one; the last is the result."""
    until = time.process_time() + limit  # of CPU: the machine may be busy with other things
    worst = Worst(name, 0.0, 0.0, 0, "", 0)
    tried = 0
    for attack in found:
        if time.process_time() > until:
            yield replace(worst, attacks=tried, note=f"not all attacks in {limit:.0f} s of CPU")
            return
        tried += 1
        yield str(attack)
        ratio, seconds, size = growth(run, attack, smallest)
        if (seconds > SHORTEST_SECONDS, ratio) > (worst.seconds > SHORTEST_SECONDS, worst.ratio):
            worst = Worst(name, ratio, seconds, size, str(attack), tried)
            yield worst
    yield replace(worst, attacks=tried)


def growth(run: Callable[[bytes], object], attack: Attack, smallest: int) -> tuple[float, float, int]:
    """The larger ratio of two doublings, CPU time and size of the last run; harmless attacks are dropped early."""
    small, large = (cpu(run, attack.text(size)) for size in (smallest // SCREEN_SHARE, smallest))
    if large < SHORTEST_SECONDS / 4 and large < 3 * SCREEN_SHARE * max(small, 1e-5):
        return 0.0, large, smallest
    previous, ratio, size = large, 0.0, smallest
    for _ in range(DOUBLINGS):
        if previous > ENOUGH_SECONDS:
            break
        size *= 2
        seconds = cpu(run, attack.text(size))
        if seconds > SHORTEST_SECONDS and seconds / max(previous, 1e-5) > MOST_RATIO:  # noise? measure both again
            previous = min(previous, cpu(run, attack.text(size // 2)))
            seconds = min(seconds, cpu(run, attack.text(size)))
            previous = max(previous, cpu(run, attack.text(size // 2)))
        if seconds > SHORTEST_SECONDS:
            ratio = max(ratio, seconds / max(previous, 1e-5))
        previous = seconds
    return _looked_into(run, attack, ratio, previous, size) if ratio > MOST_RATIO else (ratio, previous, size)


def _looked_into(
    run: Callable[[bytes], object], attack: Attack, ratio: float, previous: float, size: int
) -> tuple[float, float, int]:
    """The ratio of the last doubling, CPU time and size, of an attack that seems to grow too fast."""
    for _ in range(MORE_DOUBLINGS):
        if previous > ENOUGH_SECONDS or ratio <= MOST_RATIO:
            break
        size *= 2
        seconds = min(cpu(run, attack.text(size)) for _ in range(2))
        ratio, previous = seconds / max(previous, 1e-5), seconds
    return ratio, previous, size


def cpu(run: Callable[[bytes], object], data: bytes) -> float:
    """The CPU seconds of one run; whatever it raises is not our business here."""
    started = time.process_time()
    with suppress(Exception):
        run(data)
    return time.process_time() - started


def _in_process(name: str, scratch: str, smallest: int, limit: float, pipe: Connection) -> None:
    target = all_targets()[name]
    seeds = [data for data in committed(target) if data]
    seed = next(iter(seeds), b"")
    within = attacks_within(target.tokens, seeds) if target.is_json else ()
    with target.open(Path(scratch)) as opened:
        cpu(opened.run, seed)
        tried = chain(within, attacks(target.tokens, seed))
        for worst in worst_of(name, opened.run, tried, smallest=smallest, limit=limit):
            pipe.send(worst)
    pipe.send(None)


def parser_result(target: Target, *, smallest: int, limit: float) -> Worst:
    """The worst of one parser; one that never comes back is ended and says so."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worst = Worst(target.name, 0.0, 0.0, 0, "", 0, "nothing ran")
    attack = ""
    with tempfile.TemporaryDirectory() as scratch:
        process = context.Process(target=_in_process, args=(target.name, scratch, smallest, limit, theirs))
        process.start()
        theirs.close()
        try:
            while ours.poll(SILENCE_SECONDS):
                received = ours.recv()
                if received is None:
                    return worst
                if isinstance(received, str):
                    attack = received
                else:
                    worst = received
            stopped = "did not come back"
        except EOFError:
            stopped = "died"
        finally:
            process.kill()
            process.join()
    return replace(worst, attack=attack, stopped=stopped)


def patterns() -> list[PatternUse]:
    """Every use of a pattern in src whose source is known before the program runs."""
    return [use for use in inventory() if use.pattern is not None]


def words_of(pattern: str) -> list[bytes]:
    """Pieces of text that a pattern's source names: literals, and samples of its classes."""
    words = re.findall(r"(?:[^\\\[\](){}?*+|^$.]|\\[^A-Za-z0-9])+", pattern)
    literal = [re.sub(r"\\(.)", r"\1", word) for word in words]
    halves = [f"{first}{second}" for first, second in pairwise(literal)]
    return [word.encode("utf-8", "replace") for word in dict.fromkeys((*literal, *halves)) if word]


def pattern_result(use: PatternUse, *, smallest: int, limit: float) -> Worst:
    """The worst of one pattern, applied as the sources apply it."""
    assert use.pattern is not None
    compiled: re.Pattern[Any] = re.compile(use.pattern, use.flags)
    is_bytes = isinstance(use.pattern, bytes)
    source = use.pattern.decode("latin-1") if isinstance(use.pattern, bytes) else use.pattern

    def run(data: bytes) -> None:
        text = data if is_bytes else data.decode("utf-8", "replace")
        if use.use is Use.SCAN:
            for _ in compiled.finditer(text):
                pass
        else:
            getattr(compiled, use.use.name.lower())(text)

    words = words_of(source)
    joined = b"".join(words)[:60]
    tried = (*_proposed(use), *attacks((*words, joined), joined))
    found = worst_of(use.place, run, tried, smallest=smallest, limit=limit)
    return [worst for worst in found if isinstance(worst, Worst)][-1]


def _proposed(use: PatternUse) -> Iterator[Attack]:
    """The attack that the proof of linearity failed with, if it did."""
    attack = use.verdict().attack
    if attack is not None:
        yield Attack(*(part.encode("utf-8", "replace") for part in (attack.prefix, attack.pump, attack.suffix)))


def _pattern_in_process(index: int, smallest: int, limit: float, pipe: Connection) -> None:
    for use in patterns()[index:]:
        pipe.send(use.place)
        pipe.send(pattern_result(use, smallest=smallest, limit=limit))
    pipe.send(None)


def pattern_results(*, smallest: int, limit: float) -> Iterator[Worst]:
    """The worst of each pattern; one that never comes back is named, and the next process goes on behind it."""
    context = multiprocessing.get_context("spawn")
    done, total = 0, None
    while total is None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_pattern_in_process, args=(done, smallest, limit, theirs))
        process.start()
        theirs.close()
        name = ""
        try:
            while True:
                if not ours.poll(SILENCE_SECONDS):
                    yield Worst(name, 0.0, 0.0, 0, "", 0, "did not come back")
                    done += 1
                    break
                received = ours.recv()
                if received is None:
                    total = done
                    break
                if isinstance(received, str):
                    name = received
                else:
                    done += 1
                    yield received
        finally:
            process.kill()
            process.join()


def main() -> int:
    """Print a table of parsers and one of patterns; 1 where anything grows faster than its input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", default=[], metavar="GLOB", help="only these parsers")
    parser.add_argument("--parsers", action="store_true", help="no patterns")
    parser.add_argument("--patterns", action="store_true", help="no parsers")
    parser.add_argument("--bytes", type=int, default=SMALLEST_BYTES, help=f"the smallest attack ({SMALLEST_BYTES})")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of CPU for each parser and pattern (60)")
    parser.add_argument("--json", type=Path, help="write the results there too")
    given = parser.parse_args()
    results: list[Worst] = []

    def show(worst: Worst) -> None:
        results.append(worst)
        if not worst.is_harmless:
            print(worst.row(), flush=True)

    print(HEADING, flush=True)
    if not given.patterns:
        for name, target in all_targets().items():
            if name.startswith("server-") or (given.target and not any(fnmatch(name, glob) for glob in given.target)):
                continue
            show(parser_result(target, smallest=given.bytes, limit=given.limit))
    if not given.parsers:
        for worst in pattern_results(smallest=given.bytes, limit=given.limit):
            show(worst)
    findings = [worst for worst in results if worst.is_finding]
    harmless = sum(worst.is_harmless for worst in results)
    print(
        f"\n{len(results)} measured; {harmless} of them, not shown, take less than {SHORTEST_SECONDS * 1e3:.0f} ms for "
        f"every attack of {given.bytes << DOUBLINGS:,} bytes; {len(findings)} grow faster than their input."
    )
    if given.json:
        given.json.write_text(json.dumps([worst.row() for worst in results]))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
