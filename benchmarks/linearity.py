"""Check that patterns and parsers of untrusted text run in linear time, by doubling the size of attacks and comparing
CPU times.

    python -m benchmarks.linearity [--patterns | --parsers] [--target GLOB] [--limit SECONDS]

For every parser (the targets of `fuzz/`) and every `re` pattern in src, attacks repeat each word of the format, pairs
of words, blanks and newlines, and nested and unclosed delimiters, at n, 2n and 4n bytes. If the time of an attack grows
more than 2.6-fold in a doubling and exceeds 20 ms, the attack is doubled further. It is a finding if the time still
grows as fast when a run takes two seconds or the size is 64n. Each parser runs in its own process, which is killed
after a timeout.

For JSON formats (hooks, tool calls, manifests) the repeats replace the texts and lists of a real input, escaped as
JSON; otherwise the parser would reject them at once.
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

from fuzz.corpus import committed_inputs
from fuzz.targets import all_targets
from scripts.backtracking import Use
from scripts.check_patterns import find_pattern_uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection

    from fuzz.target import Target
    from scripts.check_patterns import PatternUse

MIN_BYTES = 4_000
DOUBLINGS = 2
# After a high ratio, the attack is doubled this many times, because the ratio does not stay high if it is noise.
CONFIRMING_DOUBLINGS = 4
MAX_RATIO = 2.6
MIN_SECONDS = 0.020
SCREENING_DIVISOR = 8  # Attacks are first tried with this fraction of the first size, because most are harmless.
MAX_RUN_SECONDS = 2.0  # an attack is not doubled again if its run takes longer
# A process without output for this time counts as hung. An attack takes only a few seconds.
HANG_TIMEOUT_SECONDS = 300.0
GENERIC_TOKENS = (
    *(bytes([code]) for code in range(32, 127) if not chr(code).isalnum()),
    b"\n", b"\t", b"\r\n", b"a", b"a ", b"a\n", b"\n ", b" \n", b"0", b"A", b"<!--", b"/*", b"//", b"{/*", b"[a](",
    b"<a", b"<a ", b"![", b"\xc3\xa4", b"\0",
)  # fmt: skip
DELIMITER_PAIRS = (
    (b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<div>", b"</div>"), (b"<ul><li>", b"</li></ul>"), (b"[a](", b")"),
    (b'{"a":', b"}"), (b"/*", b"*/"), (b"> ", b""), (b"- ", b""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """A text of any length: `head`, then repetitions, then `tail`."""

    head: bytes
    repeated: bytes
    tail: bytes = b""
    closing: bytes = b""

    def text(self, size: int) -> bytes:
        """Return the attack with about `size` bytes."""
        times = max(1, (size - len(self.head) - len(self.tail)) // max(1, len(self.repeated) + len(self.closing)))
        return self.head + self.repeated * times + self.closing * times + self.tail

    def __str__(self) -> str:
        parts = [repr(self.head[-20:])[1:]] if self.head else []
        parts.append(f"{self.repeated[:40]!r} × n"[1:])
        parts += [f"{self.closing!r} × n"[1:]] if self.closing else []
        parts += [repr(self.tail[:20])[1:]] if self.tail else []
        return " + ".join(parts)


@dataclass(frozen=True, slots=True)
class WorstAttack:
    """The attack whose CPU time grows fastest with its size."""

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
        """Whether the time of the attack grows faster than the size of the input."""
        return bool(self.stopped) or (self.ratio > MAX_RATIO and self.seconds > MIN_SECONDS)

    def row(self) -> str:
        """Format a row of the table."""
        what = self.attack.replace("|", "\\|").replace("`", "'")
        ratio = f"{self.ratio:.1f}" if self.ratio else "–"
        figures = f"{self.attacks} | {ratio} | {self.seconds * 1e3:.0f} | {self.size:,}"
        return f"| {self.name} | {figures} | `{what}` | {self.stopped or self.note} |"

    @property
    def is_harmless(self) -> bool:
        """Whether every attack was too fast to be measured."""
        return not self.ratio and not self.stopped


HEADING = "| parser or pattern | attacks | worst ratio | CPU ms | bytes | attack | |\n|---|--:|--:|--:|--:|---|---|"


def attacks(tokens: Iterable[bytes], seed: bytes = b"") -> Iterator[Attack]:
    """Yield attacks that repeat each word and delimiter, alone and after the beginning of a real input."""
    words = list(dict.fromkeys((*tokens, *GENERIC_TOKENS)))
    heads = [b"", seed[:200]] if seed else [b""]
    for head in heads:
        for word in words:
            yield Attack(head, word)
            yield Attack(head, word, b"x")
        for left, right in DELIMITER_PAIRS:
            yield Attack(head, left, b"x", right)
    for first, second in pairwise(words):
        yield Attack(b"", first + second)
        yield Attack(first, second, first)
    for word in words:
        yield Attack(word, b" ", word)
        yield Attack(word, b"\n", word)
        yield Attack(word, b"a", b"\n")


def attacks_within(tokens: Iterable[bytes], seeds: Iterable[bytes]) -> Iterator[Attack]:
    """Yield attacks on JSON inputs. They repeat words inside each text, and repeat members of lists and objects."""
    words = [json_text(word) for word in dict.fromkeys((*tokens, *GENERIC_TOKENS))]
    places = [place for seed in seeds for place in text_places(seed)]
    # The outer loop is over words, so that every text of the input is attacked before the time limit.
    for word in words:
        for place in places:
            yield Attack(place.head, word, place.tail)
    for place in places:
        for left, right in DELIMITER_PAIRS:
            yield Attack(place.head, json_text(left), place.tail, json_text(right))
    for seed in seeds:
        for at, character in enumerate(seed):
            if character in b"[{" and (whole := _whole_value(seed, at)):
                inner = whole[1:-1].strip()
                if inner:
                    head, tail = seed[: at + 1] + inner, seed[at + len(whole) - 1 :]
                    yield Attack(head, b"," + inner, tail)


@dataclass(frozen=True, slots=True)
class JsonTextPosition:
    """Position of a text in a JSON input, as the parts of the input before and after the text."""

    head: bytes
    tail: bytes


def text_places(seed: bytes) -> Iterator[JsonTextPosition]:
    """Yield the positions of the text values of a JSON input."""
    for found in re.finditer(rb'"(?:[^"\\]|\\.)*"\s*(:?)', seed):
        if not found[1]:
            end = found.start() + len(found[0].rstrip())
            yield JsonTextPosition(seed[: found.start() + 1], seed[end - 1 :])


def json_text(word: bytes) -> bytes:
    """Escape a word as it appears in a JSON string."""
    return json.dumps(word.decode("utf-8", "replace"), ensure_ascii=False)[1:-1].encode()


def _whole_value(seed: bytes, at: int) -> bytes:
    """Return the text of the JSON list or object at a position, or "" if there is none."""
    try:
        text = seed[at:].decode()
        _, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return b""
    return text[:end].encode()


def find_worst_attack(
    name: str, run: Callable[[bytes], object], found: Iterable[Attack], *, smallest: int, limit: float
) -> Iterator[WorstAttack | str]:
    """Run the attacks. Yield each attack that starts, and each new worst attack; the last yielded one is the result."""
    until = time.process_time() + limit  # The limit is CPU time, because the machine may be busy.
    worst = WorstAttack(name, 0.0, 0.0, 0, "", 0)
    tried = 0
    for attack in found:
        if time.process_time() > until:
            yield replace(worst, attacks=tried, note=f"not all attacks in {limit:.0f} s of CPU")
            return
        tried += 1
        yield str(attack)
        ratio, seconds, size = measure_growth(run, attack, smallest)
        if (seconds > MIN_SECONDS, ratio) > (worst.seconds > MIN_SECONDS, worst.ratio):
            worst = WorstAttack(name, ratio, seconds, size, str(attack), tried)
            yield worst
    yield replace(worst, attacks=tried)


def measure_growth(run: Callable[[bytes], object], attack: Attack, smallest: int) -> tuple[float, float, int]:
    """Return the larger growth ratio of two doublings, and the CPU time and the size of the last run."""
    small, large = (cpu_seconds(run, attack.text(size)) for size in (smallest // SCREENING_DIVISOR, smallest))
    if large < MIN_SECONDS / 4 and large < 3 * SCREENING_DIVISOR * max(small, 1e-5):
        return 0.0, large, smallest
    previous, ratio, size = large, 0.0, smallest
    for _ in range(DOUBLINGS):
        if previous > MAX_RUN_SECONDS:
            break
        size *= 2
        seconds = cpu_seconds(run, attack.text(size))
        # Repeat both measurements of a high ratio to exclude noise.
        if seconds > MIN_SECONDS and seconds / max(previous, 1e-5) > MAX_RATIO:
            previous = min(previous, cpu_seconds(run, attack.text(size // 2)))
            seconds = min(seconds, cpu_seconds(run, attack.text(size)))
            previous = max(previous, cpu_seconds(run, attack.text(size // 2)))
        if seconds > MIN_SECONDS:
            ratio = max(ratio, seconds / max(previous, 1e-5))
        previous = seconds
    return _double_further(run, attack, ratio, previous, size) if ratio > MAX_RATIO else (ratio, previous, size)


def _double_further(
    run: Callable[[bytes], object], attack: Attack, ratio: float, previous: float, size: int
) -> tuple[float, float, int]:
    """Double a suspicious attack again. Return ratio, CPU time and size of the last doubling."""
    for _ in range(CONFIRMING_DOUBLINGS):
        if previous > MAX_RUN_SECONDS or ratio <= MAX_RATIO:
            break
        size *= 2
        seconds = min(cpu_seconds(run, attack.text(size)) for _ in range(2))
        ratio, previous = seconds / max(previous, 1e-5), seconds
    return ratio, previous, size


def cpu_seconds(run: Callable[[bytes], object], data: bytes) -> float:
    """Return the CPU seconds of one run. Exceptions of the run are ignored."""
    started = time.process_time()
    with suppress(Exception):
        run(data)
    return time.process_time() - started


def _attack_parser_in_process(name: str, scratch: str, smallest: int, limit: float, pipe: Connection) -> None:
    target = all_targets()[name]
    seeds = [data for data in committed_inputs(target) if data]
    seed = next(iter(seeds), b"")
    within = attacks_within(target.tokens, seeds) if target.is_json else ()
    with target.open(Path(scratch)) as opened:
        cpu_seconds(opened.run, seed)
        tried = chain(within, attacks(target.tokens, seed))
        for worst in find_worst_attack(name, opened.run, tried, smallest=smallest, limit=limit):
            pipe.send(worst)
    pipe.send(None)


def worst_on_parser(target: Target, *, smallest: int, limit: float) -> WorstAttack:
    """Return the worst attack on one parser; kill and report a parser that hangs."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worst = WorstAttack(target.name, 0.0, 0.0, 0, "", 0, "nothing ran")
    attack = ""
    with tempfile.TemporaryDirectory() as scratch:
        process = context.Process(
            target=_attack_parser_in_process, args=(target.name, scratch, smallest, limit, theirs)
        )
        process.start()
        theirs.close()
        try:
            while ours.poll(HANG_TIMEOUT_SECONDS):
                received = ours.recv()
                if received is None:
                    return worst
                if isinstance(received, str):
                    attack = received
                else:
                    worst = received
            stopped = "did not return"
        except EOFError:
            stopped = "died"
        finally:
            process.kill()
            process.join()
    return replace(worst, attack=attack, stopped=stopped)


def patterns() -> list[PatternUse]:
    """Return every regular expression in src that is a constant text, with the way in which it is applied."""
    return [use for use in find_pattern_uses() if use.pattern is not None]


def pattern_words(pattern: str) -> list[bytes]:
    """Return texts that a pattern may match: its literals, and characters of its character classes."""
    words = re.findall(r"(?:[^\\\[\](){}?*+|^$.]|\\[^A-Za-z0-9])+", pattern)
    literal = [re.sub(r"\\(.)", r"\1", word) for word in words]
    halves = [f"{first}{second}" for first, second in pairwise(literal)]
    return [word.encode("utf-8", "replace") for word in dict.fromkeys((*literal, *halves)) if word]


def worst_on_pattern(use: PatternUse, *, smallest: int, limit: float) -> WorstAttack:
    """Return the worst attack on one pattern, which is applied as in the source code."""
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

    words = pattern_words(source)
    joined = b"".join(words)[:60]
    tried = (*_proof_attacks(use), *attacks((*words, joined), joined))
    found = find_worst_attack(use.location, run, tried, smallest=smallest, limit=limit)
    return [worst for worst in found if isinstance(worst, WorstAttack)][-1]


def _proof_attacks(use: PatternUse) -> Iterator[Attack]:
    """Return the attack that the failed proof of linearity gives, if there is one."""
    attack = use.verdict().attack
    if attack is not None:
        yield Attack(*(part.encode("utf-8", "replace") for part in (attack.prefix, attack.pump, attack.suffix)))


def _attack_patterns_in_process(index: int, smallest: int, limit: float, pipe: Connection) -> None:
    for use in patterns()[index:]:
        pipe.send(use.location)
        pipe.send(worst_on_pattern(use, smallest=smallest, limit=limit))
    pipe.send(None)


def worst_on_patterns(*, smallest: int, limit: float) -> Iterator[WorstAttack]:
    """Yield the worst attack on each pattern; report a pattern that hangs, and continue in a new process."""
    context = multiprocessing.get_context("spawn")
    done, total = 0, None
    while total is None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_attack_patterns_in_process, args=(done, smallest, limit, theirs))
        process.start()
        theirs.close()
        name = ""
        try:
            while True:
                if not ours.poll(HANG_TIMEOUT_SECONDS):
                    yield WorstAttack(name, 0.0, 0.0, 0, "", 0, "did not return")
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
    """Print a table of parsers and one of patterns; return 1 if anything grows faster than its input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", default=[], metavar="GLOB", help="only these parsers")
    parser.add_argument("--parsers", action="store_true", help="no patterns")
    parser.add_argument("--patterns", action="store_true", help="no parsers")
    parser.add_argument("--bytes", type=int, default=MIN_BYTES, help=f"the smallest attack ({MIN_BYTES})")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for each parser and pattern (60)")
    parser.add_argument("--json", type=Path, help="write the results there too")
    given = parser.parse_args()
    results: list[WorstAttack] = []

    def show(worst: WorstAttack) -> None:
        results.append(worst)
        if not worst.is_harmless:
            print(worst.row(), flush=True)

    print(HEADING, flush=True)
    if not given.patterns:
        for name, target in all_targets().items():
            if name.startswith("server-") or (given.target and not any(fnmatch(name, glob) for glob in given.target)):
                continue
            show(worst_on_parser(target, smallest=given.bytes, limit=given.limit))
    if not given.parsers:
        for worst in worst_on_patterns(smallest=given.bytes, limit=given.limit):
            show(worst)
    findings = [worst for worst in results if worst.is_finding]
    harmless = sum(worst.is_harmless for worst in results)
    print(
        f"\n{len(results)} measured; {harmless} of them, not shown, take less than {MIN_SECONDS * 1e3:.0f} ms for "
        f"every attack of {given.bytes << DOUBLINGS:,} bytes; {len(findings)} grow faster than their input."
    )
    if given.json:
        given.json.write_text(json.dumps([worst.row() for worst in results]))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
