"""Calls compute one after the other; one that takes long holds up nobody."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltos.server.turns import Turns


def test_calls_go_one_after_the_other() -> None:
    turns, beside, most = Turns(most_seconds=60), 0, 0
    lock = threading.Lock()

    def call(_: int) -> None:
        nonlocal beside, most
        with turns.taken():
            with lock:
                beside += 1
                most = max(most, beside)
            sum(range(20_000))
            with lock:
                beside -= 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, range(200)))
    assert most == 1


def test_a_call_that_takes_long_holds_up_nobody() -> None:
    turns, done = Turns(most_seconds=0.05), threading.Event()
    begun = threading.Event()

    def takes_long() -> None:
        with turns.taken():
            begun.set()
            done.wait(60)

    slow = threading.Thread(target=takes_long)
    slow.start()
    assert begun.wait(60)
    for _ in range(3):  # each while the slow one is still at work
        with turns.taken():
            assert not done.is_set()
    done.set()
    slow.join(60)
    with turns.taken():
        assert not slow.is_alive()


def test_several_that_take_long_hold_up_nobody() -> None:
    turns, done = Turns(most_seconds=0.02), threading.Event()

    def takes_long(_: int) -> None:
        with turns.taken():
            done.wait(60)

    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(takes_long, number) for number in range(8)]
        with turns.taken():
            assert not any(each.done() for each in slow)
        done.set()


def test_a_call_that_fails_gives_its_turn_back() -> None:
    turns = Turns(most_seconds=60)
    with pytest.raises(ValueError, match="wrong"), turns.taken():
        raise ValueError("wrong")
    with turns.taken():
        pass
