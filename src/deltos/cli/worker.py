"""`deltos worker`: index and crawl what servers leave to workers. `deltos jobs`: what waits, and what was set aside."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from deltos.cli.command import add_group, add_verb, number_in, print_json
from deltos.cli.db import database_config
from deltos.open_stores import open_jobs
from deltos.store.jobs import WorkerSettings
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.store.jobs import JobRow

_USUAL = WorkerSettings()


def add_commands(subparsers: Subparsers) -> None:
    """Add `worker`, `jobs list`, `jobs retry` and `jobs drop`."""
    worker = add_verb(
        subparsers, "worker", _work, "index and crawl what servers queue in DELTOS_DATABASE, until told to end"
    )
    worker.add_argument("--once", action="store_true", help="end when no job waits")
    _add_number(
        worker,
        "--heartbeat",
        round(_USUAL.heartbeat_seconds),
        "seconds between signs of life, 1 to 20; after three that are missing, others take over",
        most=20,
    )
    _add_number(worker, "--attempts", _USUAL.attempts, "failures after which a job is set aside")
    _add_number(
        worker,
        "--backoff",
        round(_USUAL.backoff_seconds),
        "seconds before a second attempt; each further one waits three times as long",
    )
    verbs = add_group(subparsers, "jobs", "what waits for workers, runs, or was set aside")
    add_verb(verbs, "list", _list, "list jobs that wait, run, or were set aside, with the reason")
    for name, run, summary in (
        ("retry", _retry, "queue a job again that was set aside"),
        ("drop", _drop, "forget a job that waits or was set aside"),
    ):
        verb = add_verb(verbs, name, run, summary)
        verb.add_argument("job", type=number_in(1), help="its number, as `deltos jobs list` shows it")


def _add_number(verb: argparse.ArgumentParser, name: str, default: int, what: str, *, most: int | None = None) -> None:
    verb.add_argument(name, type=number_in(1, most), default=default, metavar="N", help=f"{what}; default: {default}")


def _work(arguments: argparse.Namespace) -> int:
    from deltos.worker import run_worker  # deferred: `deltos jobs` needs no application

    config = database_config()

    def say(line: str) -> None:
        if arguments.json:
            print_json({"at": time.time(), "told": line})
            sys.stdout.flush()
        else:
            print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)

    run_worker(
        config,
        WorkerSettings(
            heartbeat_seconds=arguments.heartbeat,
            attempts=arguments.attempts,
            backoff_seconds=arguments.backoff,
            ends_when_idle=arguments.once,
        ),
        say,
    )
    say("worker ended")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    jobs = open_jobs(database_config().database)
    every = jobs.every()
    for job in every:
        print_json(asdict(job)) if arguments.json else print(_line(job))
    if not arguments.json:
        if not every:
            print("no jobs")
        if not jobs.has_worker():
            print("no worker runs: start `deltos worker`")
    return 0


def _line(job: JobRow) -> str:
    failed = f" after {counted(job.failures, 'failure')}, the last: {job.reason}" if job.failures else ""
    return f"{job.told()}: {job.state}{failed}"


def _retry(arguments: argparse.Namespace) -> int:
    return _tell(open_jobs(database_config().database).retry(arguments.job), "queued again", arguments)


def _drop(arguments: argparse.Namespace) -> int:
    return _tell(open_jobs(database_config().database).drop(arguments.job), "forgotten", arguments)


def _tell(job: JobRow, what: str, arguments: argparse.Namespace) -> int:
    print_json(asdict(job)) if arguments.json else print(f"{job.told()} is {what}")
    return 0
