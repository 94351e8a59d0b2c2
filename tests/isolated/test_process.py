"""Child processes: limits, errors for crashed children, and isolation of other tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deltos.errors import Cancelled, MemoryLimitExceeded, ParserCrashed, TimeLimitExceeded
from deltos.isolated.process_pool import LONG_ITEMS, MAX_CONCURRENT_TASKS, ProcessPool
from deltos.isolated.wire import TaskLimits
from tests.isolated import tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPOSITORY = str(Path(__file__).parents[2])
SHORT_CPU_LIMITS = TaskLimits(cpu_seconds=0.5, wall_seconds=60.0)
SHORT_WALL_LIMITS = TaskLimits(cpu_seconds=60.0, wall_seconds=0.5)
DEFAULT_LIMITS = TaskLimits()


@pytest.fixture
def workers() -> Iterator[ProcessPool]:
    with closing(ProcessPool(importable_from=(REPOSITORY,))) as workers:
        yield workers


def child_pid(workers: ProcessPool) -> int:
    """Return the process id of the child that runs the next task."""
    return workers.run(tasks.child_environment, None, limits=DEFAULT_LIMITS)[3]


def wait_for_exit(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


def run_in_thread(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_function_runs_in_a_child_that_is_kept_for_the_next_one(workers: ProcessPool) -> None:
    assert workers.run(tasks.double, 21, limits=DEFAULT_LIMITS) == 42
    first = child_pid(workers)
    assert first != os.getpid()
    assert child_pid(workers) == first


def test_printed_output_of_a_function_does_not_corrupt_its_reply(workers: ProcessPool) -> None:
    assert workers.run(tasks.double_and_print, 21, limits=DEFAULT_LIMITS) == 42
    assert workers.run(tasks.double, 4, limits=DEFAULT_LIMITS) == 8


def test_a_child_ignores_the_working_directory_and_python_environment_variables(
    workers: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"  # a working directory that looks like an installation
    packages.mkdir()
    (packages / "sitecustomize.py").write_text("raise SystemExit('ran')")
    monkeypatch.chdir(packages)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("DELTOS_HOME", "kept")
    monkeypatch.syspath_prepend(str(packages))
    path, folder, variables, _ = workers.run(tasks.child_environment, None, limits=DEFAULT_LIMITS)
    assert str(packages) not in path
    assert "" not in path
    assert folder == Path(sys.executable).anchor
    assert "DELTOS_HOME" in variables
    assert not [name for name in variables if name.startswith("PYTHON")]


def test_our_own_folder_comes_after_the_standard_library(workers: ProcessPool) -> None:
    path, *_ = workers.run(tasks.child_environment, None, limits=DEFAULT_LIMITS)
    assert path.index(REPOSITORY) > path.index(str(Path(os.__file__).parent))


@pytest.mark.parametrize("task", [tasks.loop_forever, tasks.loop_forever_in_c])
def test_a_task_that_takes_too_much_cpu_time_is_stopped(workers: ProcessPool, task: Callable[[object], None]) -> None:
    with pytest.raises(TimeLimitExceeded, match=r"more than 0\.5 s of CPU time"):
        workers.run(task, None, limits=SHORT_CPU_LIMITS)
    assert workers.run(tasks.double, 1, limits=DEFAULT_LIMITS) == 2


@pytest.mark.parametrize("task", [tasks.loop_forever_in_c, tasks.sleep_forever])
def test_a_task_that_takes_too_much_wall_clock_time_is_stopped(
    workers: ProcessPool, task: Callable[[object], None]
) -> None:
    with pytest.raises(TimeLimitExceeded, match=r"more than 0\.5 s$"):
        workers.run(task, None, limits=SHORT_WALL_LIMITS)
    assert workers.run(tasks.double, 1, limits=DEFAULT_LIMITS) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited only on Linux")
def test_a_task_that_uses_too_much_memory_is_stopped(workers: ProcessPool) -> None:
    with pytest.raises(MemoryLimitExceeded, match="more than 512 MB"):
        workers.run(tasks.use_all_memory, None, limits=TaskLimits(memory_bytes=512 << 20))
    assert workers.run(tasks.double, 1, limits=DEFAULT_LIMITS) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited only on Linux")
def test_address_space_reserved_by_earlier_tasks_does_not_count(workers: ProcessPool) -> None:
    workers.run(tasks.reserve_address_space, None, limits=DEFAULT_LIMITS)
    before = child_pid(workers)
    limits = TaskLimits(memory_bytes=512 << 20)
    assert workers.run(tasks.allocate, 400 << 20, limits=limits) == 400 << 20
    assert child_pid(workers) == before, "the task must not be retried in a fresh child"
    with pytest.raises(MemoryLimitExceeded, match="more than 512 MB"):
        workers.run(tasks.allocate, 520 << 20, limits=limits)


def test_a_result_that_is_too_large_is_refused_before_it_is_sent(workers: ProcessPool) -> None:
    with pytest.raises(MemoryLimitExceeded, match="larger than 64 MB"):
        workers.run(tasks.return_large_result, None, limits=DEFAULT_LIMITS)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_the_error_for_a_killed_child_names_the_signal(workers: ProcessPool) -> None:
    with pytest.raises(ParserCrashed, match="SIGKILL"):
        workers.run(tasks.exit_process, None, limits=DEFAULT_LIMITS)
    assert workers.run(tasks.double, 1, limits=DEFAULT_LIMITS) == 2


def test_an_ordinary_error_is_raised_in_the_parent_and_the_child_is_kept(workers: ProcessPool) -> None:
    before = child_pid(workers)
    with pytest.raises(KeyError, match="missing") as caught:
        workers.run(tasks.raise_error, "missing", limits=DEFAULT_LIMITS)
    assert "tests/isolated/tasks.py" in caught.value.__notes__[0]
    assert child_pid(workers) == before


def test_an_error_that_cannot_be_pickled_is_sent_as_text(workers: ProcessPool) -> None:
    with pytest.raises(ParserCrashed, match="UnpicklableError: this and this"):
        workers.run(tasks.raise_unpicklable_error, "this", limits=DEFAULT_LIMITS)


def test_a_function_that_the_child_cannot_import_is_an_error_not_a_bad_item() -> None:
    with closing(ProcessPool()) as workers, pytest.raises(ModuleNotFoundError):
        list(workers.run_batches(tasks.exit_for_some_numbers, (0,), [[1, 2], [3]], lambda _: DEFAULT_LIMITS))


def test_items_that_kill_their_child_are_reported_and_the_others_return_results(workers: ProcessPool) -> None:
    batches = [list(range(start, start + 6)) for start in range(0, 24, 6)]
    limits = TaskLimits(cpu_seconds=1.0, memory_bytes=512 << 20)
    replies = dict(
        pair
        for batch in workers.run_batches(tasks.exit_for_some_numbers, (100,), batches, lambda _: limits)
        for pair in batch
    )
    assert sorted(replies) == list(range(24))
    failed = {number: type(reply.error).__name__ for number, reply in replies.items() if reply.error}
    assert failed == {7: "ParserCrashed", 13: "TimeLimitExceeded", 14: "MemoryLimitExceeded", 15: "KeyError"}
    assert all(reply.value == 100 + number for number, reply in replies.items() if number not in failed)


def test_an_item_that_killed_a_used_child_is_retried_in_a_fresh_one(workers: ProcessPool) -> None:
    batches = [["one", "two", "three"]]
    ((first, second, third),) = workers.run_batches(tasks.exit_unless_first_task, (), batches, lambda _: DEFAULT_LIMITS)
    assert [reply[1].error for reply in (first, second, third)] == [None, None, None]
    assert len({first[1].value, second[1].value, third[1].value}) == 3


def test_other_tasks_are_answered_while_a_child_loops(workers: ProcessPool) -> None:
    caught: list[Exception] = []

    def run_endless_task() -> None:
        try:
            workers.run(tasks.loop_forever_in_c, None, limits=TaskLimits(cpu_seconds=3600, wall_seconds=3600))
        except Cancelled as exc:
            caught.append(exc)

    threads = [run_in_thread(run_endless_task) for _ in range(MAX_CONCURRENT_TASKS - 1)]
    assert [workers.run(tasks.double, number, limits=DEFAULT_LIMITS) for number in range(20)] == list(range(0, 40, 2))
    workers.close()
    for thread in threads:
        thread.join(20)
    assert len(caught) == len(threads)


def test_tasks_beyond_the_number_of_children_wait_in_a_queue(workers: ProcessPool) -> None:
    results: list[int] = []
    threads = [
        run_in_thread(lambda number=number: results.append(workers.run(tasks.double, number, limits=DEFAULT_LIMITS)))  # type: ignore[misc]
        for number in range(3 * MAX_CONCURRENT_TASKS)
    ]
    for thread in threads:
        thread.join(60)
    assert sorted(results) == list(range(0, 6 * MAX_CONCURRENT_TASKS, 2))


def test_an_idle_child_ends_after_a_while_and_another_one_is_started_when_needed() -> None:
    with closing(ProcessPool(importable_from=(REPOSITORY,), last_idle_seconds=0.0)) as workers:
        wait_for_exit(child_pid(workers))
        assert workers.run(tasks.double, 1, limits=DEFAULT_LIMITS) == 2


def test_only_one_of_several_idle_children_is_kept() -> None:
    with closing(ProcessPool(importable_from=(REPOSITORY,), idle_seconds=0.0)) as workers:
        pids = {
            reply.value[3]
            for batch in workers.run_batches(tasks.child_environment, (), [[1], [2]], lambda _: DEFAULT_LIMITS)
            for _, reply in batch
        }
        kept = child_pid(workers)
        for pid in pids - {kept}:
            wait_for_exit(pid)
        assert child_pid(workers) == kept


def test_children_of_bulk_work_are_never_idle_and_end_with_it() -> None:
    with closing(ProcessPool(importable_from=(REPOSITORY,))) as workers:
        idle = child_pid(workers)
        replies = workers.stream(tasks.child_environment, (), range(LONG_ITEMS + 1), lambda _: DEFAULT_LIMITS)
        busy = next(replies).value[3]
        wait_for_exit(idle)
        assert {reply.value[3] for reply in replies} == {busy}
        wait_for_exit(busy)


def test_closing_ends_all_children_and_refuses_further_work(workers: ProcessPool) -> None:
    idle = child_pid(workers)
    workers.close()
    wait_for_exit(idle)
    with pytest.raises(Cancelled):
        workers.run(tasks.double, 1, limits=DEFAULT_LIMITS)


def test_leaving_bulk_work_ends_its_children(workers: ProcessPool) -> None:
    limits = TaskLimits(cpu_seconds=3600, wall_seconds=3600)
    replies = workers.run_batches(tasks.exit_for_some_numbers, (0,), [[1], [13], [2]], lambda _: limits)
    next(replies)
    replies.close()  # type: ignore[attr-defined]
    assert not workers._busy


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@pytest.mark.parametrize("task", ["sleep", "loop", "loop_in_c"])
def test_a_busy_child_ends_with_its_parent(task: str) -> None:
    code = f"""
import os, sys, threading
from deltos.isolated.process_pool import ProcessPool
from deltos.isolated.wire import TaskLimits
from tests.isolated import tasks
workers = ProcessPool(importable_from=({REPOSITORY!r},))
print(workers.run(tasks.child_environment, None, limits=TaskLimits())[3], flush=True)
workers.run(tasks.{task}, None, limits=TaskLimits(cpu_seconds=3600, wall_seconds=3600))
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    wait_for_exit(child)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_child_ignores_signals_for_its_parent(workers: ProcessPool) -> None:
    child = child_pid(workers)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(child, number)
    assert child_pid(workers) == child
