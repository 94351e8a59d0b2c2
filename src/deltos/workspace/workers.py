"""Extraction in worker processes: a file that kills its worker is found and reported, the others go on."""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

from deltos.workspace.extract import Extracted, extract_batch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.workspace.extract import Batch, Candidate
    from deltos.workspace.indexer import Indexer

MAX_WORKERS = 4


def extract_in_processes(root: Path, batches: list[Batch], indexers: tuple[Indexer, ...]) -> Iterator[list[Extracted]]:
    """Run batches in pools; a file that kills its worker is found and reported, the others go on."""
    todo = batches[::-1]
    while todo:
        suspects: Batch = []
        yield from _run_pool(root, todo, indexers, suspects)
        yield from _extract_singly(root, suspects, indexers)


def _run_pool(
    root: Path, todo: list[Batch], indexers: tuple[Indexer, ...], suspects: Batch
) -> Iterator[list[Extracted]]:
    """Take batches off `todo` until none is left or a worker dies; the files of unfinished ones are `suspects`."""
    with _pool(len(todo)) as pool:
        running: dict[Future[list[Extracted]], Batch] = {}
        while running or (todo and not suspects):
            while todo and not suspects and len(running) < MAX_WORKERS * 2:
                batch = todo.pop()
                try:
                    running[pool.submit(extract_batch, root, batch, indexers)] = batch
                except BrokenProcessPool:
                    suspects += batch
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                batch = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    suspects += batch


def _extract_singly(root: Path, suspects: Batch, indexers: tuple[Indexer, ...]) -> Iterator[list[Extracted]]:
    """Run files one after the other in one process: whichever it is at when it dies has killed it."""
    todo = suspects[::-1]
    while todo:
        with _pool(1) as pool:
            while todo:
                candidate = todo.pop()
                try:
                    yield pool.submit(extract_batch, root, [candidate], indexers).result()
                except BrokenProcessPool:
                    yield [_crashed(candidate)]
                    break


def _crashed(candidate: Candidate) -> Extracted:
    reason = "parser crashed"
    return Extracted(candidate.path, candidate.stamp, time.time_ns(), skip_reason=reason, error=reason)


@contextmanager
def _pool(tasks: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that end with the block; what they have not begun by then is dropped."""
    workers = min(MAX_WORKERS, os.cpu_count() or 1, tasks)
    # Never fork: a server that calls us runs threads.
    pool = ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"), initializer=_start_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it, however it ends."""
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    from multiprocessing import parent_process
    from multiprocessing.connection import wait as wait_for

    if parent := parent_process():
        wait_for([parent.sentinel])
        os._exit(1)
