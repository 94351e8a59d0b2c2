"""Text that would crash a grammar is rejected; excessive memory or time ends only the child process that parses."""

from __future__ import annotations

import sys
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.isolated.tasks import parsed_length

from deltos.errors import ParserCrashed, SourceError, TimeLimitExceeded
from deltos.isolated.wire import TaskLimits
from deltos.languages.grammar import parse
from deltos.languages.parser_limits import has_too_many_block_columns
from deltos.languages.table import language

if TYPE_CHECKING:
    from tests.attacks import LimitedProcess

    from deltos.isolated.process_pool import ProcessPool

GENEROUS_LIMITS = TaskLimits(cpu_seconds=60.0, wall_seconds=600.0, memory_bytes=8 << 30)
NESTED_YAML = b"".join(b" " * level + b"a:\n" for level in range(300))
TOO_DEEP_YAML = {
    "sequences in one line": b"- " * 300,
    "keys in one line": b"? " * 300,
    "values in one line": b": " * 300,
    "both in turns": b"- ? " * 150,
    "behind the end of a document": b"... " + b"- " * 300,
    "behind a scalar's head": b"| " + b"- " * 300,
    "mappings, each a column deeper": NESTED_YAML,
    "a mapping and a sequence in each column": b"".join(b" " * n + b"a:\n" + b" " * n + b"- \n" for n in range(140)),
    "lines that end with a carriage return": NESTED_YAML.replace(b"\n", b"\r"),
}


@pytest.mark.parametrize("source", TOO_DEEP_YAML.values(), ids=TOO_DEEP_YAML)
def test_yaml_with_too_many_block_columns_is_rejected(workers: ProcessPool, source: bytes) -> None:
    with pytest.raises(SourceError, match="nested deeper than the YAML parser supports"):
        workers.run(parsed_length, "yaml", source, limits=GENEROUS_LIMITS)


@pytest.mark.parametrize(
    "source",
    [
        b"- " * 100 + b"a\n",
        b"".join(b" " * level + b"a:\n" for level in range(100)),
        b"a: one - two - three, four ? five\n" * 1_000 + b"b: " + b"c - " * 1_000 + b"d\n",
        b"a: |\n" + b"".join(b" " * (2 + 4 * n) + b"text\n" for n in range(60)),
    ],
    ids=["a hundred sequences", "a hundred mappings", "prose with dashes", "an indented text"],
)
def test_ordinary_yaml_is_parsed(workers: ProcessPool, source: bytes) -> None:
    assert workers.run(parsed_length, "yaml", source, limits=GENEROUS_LIMITS) >= len(source.rstrip())


def test_accepted_yaml_never_crashes_the_parser(limited_process: LimitedProcess) -> None:
    random = Random(13)
    signs = (
        b"- ",
        b"? ",
        b": ",
        b"a: ",
        b"... ",
        b"--- ",
        b"| ",
        b"> ",
        b"[ ",
        b"] ",
        b"{ ",
        b"&a ",
        b"!a ",
        b'"',
        b"\n",
        b"\n  ",
    )
    yaml = language("yaml")
    for _ in range(150):
        repeated = b"".join(random.choices(signs, k=random.randint(1, 4)))
        source = random.choice(signs) + repeated * random.randint(100, 300)
        if not has_too_many_block_columns(source):
            limited_process.check_completes(parse, yaml, source)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited only on Linux")
def test_an_ambiguous_line_uses_little_memory_and_ends_only_its_child_process(workers: ProcessPool) -> None:
    ambiguous = b"with " + b"*/" * 1_500  # the syntax tree takes more than a gigabyte
    with pytest.raises(ParserCrashed, match=r"the parser crashed \(SIG\w+\), probably at the memory limit"):
        workers.run(parsed_length, "python", ambiguous, limits=GENEROUS_LIMITS)
    assert workers.run(parsed_length, "python", b"a = 1\n", limits=GENEROUS_LIMITS) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no CPU timer")
def test_an_endless_parser_is_ended_with_its_child_process(workers: ProcessPool) -> None:
    endless = b"class val MA\n/*0*\n */\n@Serializab"  # the parser's error recovery never ends and consumes no input
    with pytest.raises(TimeLimitExceeded, match="parsing exceeded the CPU time limit"):
        workers.run(parsed_length, "kotlin", endless, limits=GENEROUS_LIMITS)
    assert workers.run(parsed_length, "kotlin", b"val a = 1\n", limits=GENEROUS_LIMITS) == 10


def test_an_ordinary_large_file_is_far_below_the_memory_limit(workers: ProcessPool) -> None:
    source = b"def f(a, b):\n    return [(a, b), {a: b}, f(a)[0].c]\n\n\n" * 5_000
    assert workers.run(parsed_length, "python", source, limits=GENEROUS_LIMITS) == len(source)
