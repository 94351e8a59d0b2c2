"""Log of recent calls: a fixed number of calls from all writers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.store.calls import MAX_CALLS, CallRecord

if TYPE_CHECKING:
    from tests.store.engines import Engine


def make_call(number: int) -> CallRecord:
    return CallRecord(float(number), "search", "raw", "{}", 0.5, number, number + 1, is_error=number % 2 == 0)


def test_forget_arguments_erases_arguments_but_not_calls(engine: Engine) -> None:
    with closing(engine.calls()) as calls:
        calls.add(replace(make_call(1), arguments='{"text": "the quokka decision"}'))
        assert calls.forget_arguments()
        assert calls.newest(5) == [replace(make_call(1), arguments="")]


def test_the_last_calls_of_two_writers_are_listed_newest_first(engine: Engine) -> None:
    one, other = engine.calls(), engine.calls()
    for number in range(MAX_CALLS + 20):
        (one if number % 2 else other).add(make_call(number))
    assert one.newest(3) == [make_call(MAX_CALLS + 19 - number) for number in range(3)]
    assert [each.tokens for each in other.newest(2 * MAX_CALLS)] == list(range(MAX_CALLS + 19, 19, -1))
    one.close()
    other.close()
