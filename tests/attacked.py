"""Parse files that are designed to be slow in a separate process, which is killed after a time limit."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

LIMIT_CPU_SECONDS = 40
"""Of CPU time, so that a busy machine fails nothing. All files of one test take a few seconds; with a reader that can be
attacked, single ones take minutes or never end."""


def find_failing_files(files: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Run every indexer on each (path, text) and return failures and timeouts by name, with their messages."""
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(
        target=_extract_files, args=(dict(files), sender), daemon=True
    )
    with pytest.MonkeyPatch.context() as untraced:  # coverage tracing triples the run time and is useless here
        for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
            untraced.delenv(name)
        process.start()
    sender.close()
    left = dict.fromkeys(files, "not reached")
    try:
        while left:
            name, problem = receiver.recv()
            left[name] = problem
            if not problem:
                del left[name]
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()
    return left


def _extract_files(files: dict[str, tuple[str, str]], sender: Connection) -> None:
    import resource

    from deltos.domains.code.index import CodeIndexer
    from deltos.domains.graph.index import GraphIndexer
    from deltos.languages.grammar import parse
    from deltos.languages.table import detect
    from deltos.workspace.indexer import ParsedFile

    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_CPU_SECONDS, LIMIT_CPU_SECONDS))
    for name, (path, text) in files.items():
        data = text.encode("utf-8", "surrogatepass")
        language = detect(PurePosixPath(path).name, data[:8000])
        problem = ""
        try:
            file = ParsedFile(path, data, language, parse(language, data) if language else None)
            for indexer in (CodeIndexer(), GraphIndexer()):
                indexer.extract(file)
        except Exception as exc:  # noqa: BLE001 (reported by name)
            problem = f"{type(exc).__name__}: {exc}"
        sender.send((name, problem))
    sender.close()
