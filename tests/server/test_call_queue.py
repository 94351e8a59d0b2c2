"""Calls run one at a time, and a long call does not block others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltos.server.call_queue import CallQueue


def test_calls_run_one_at_a_time() -> None:
    turns, running, max_running = CallQueue(max_exclusive_seconds=60), 0, 0
    lock = threading.Lock()

    def call(_: int) -> None:
        nonlocal running, max_running
        with turns.wait_for_turn():
            with lock:
                running += 1
                max_running = max(max_running, running)
            sum(range(20_000))
            with lock:
                running -= 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, range(200)))
    assert max_running == 1


def test_a_long_call_does_not_block_others() -> None:
    turns, done = CallQueue(max_exclusive_seconds=0.05), threading.Event()
    begun = threading.Event()

    def run_long_call() -> None:
        with turns.wait_for_turn():
            begun.set()
            done.wait(60)

    slow = threading.Thread(target=run_long_call)
    slow.start()
    assert begun.wait(60)
    for _ in range(3):  # the slow call is still running
        with turns.wait_for_turn():
            assert not done.is_set()
    done.set()
    slow.join(60)
    with turns.wait_for_turn():
        assert not slow.is_alive()


def test_several_long_calls_do_not_block_others() -> None:
    turns, done = CallQueue(max_exclusive_seconds=0.02), threading.Event()

    def run_long_call(_: int) -> None:
        with turns.wait_for_turn():
            done.wait(60)

    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(run_long_call, number) for number in range(8)]
        with turns.wait_for_turn():
            assert not any(each.done() for each in slow)
        done.set()


def test_a_failing_call_releases_its_turn() -> None:
    turns = CallQueue(max_exclusive_seconds=60)
    with pytest.raises(ValueError, match="wrong"), turns.wait_for_turn():
        raise ValueError("wrong")
    with turns.wait_for_turn():
        pass
