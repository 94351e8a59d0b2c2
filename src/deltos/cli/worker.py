"""`deltos worker`: index and crawl for servers. `deltos jobs`: manage the job queue."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, add_command_group, add_verb, integer_range, print_json
from deltos.cli.db import database_config
from deltos.open_stores import open_jobs
from deltos.store.jobs import WorkerSettings
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.store.jobs import JobRow

_DEFAULT_SETTINGS = WorkerSettings()


def add_commands(subparsers: Subparsers) -> None:
    """Add the command `worker`, and the command `jobs` with the subcommands `list`, `retry` and `drop`."""
    worker = add_command(subparsers, "worker", _work)
    worker.add_argument("--once", action="store_true", help="exit when no job is queued")
    _add_number_option(
        worker,
        "--heartbeat",
        round(_DEFAULT_SETTINGS.heartbeat_seconds),
        "seconds between heartbeats, 1 to 20; after three missed heartbeats, other workers take over",
        maximum=20,
    )
    _add_number_option(
        worker, "--attempts", _DEFAULT_SETTINGS.attempts, "number of failures after which a job is set aside"
    )
    _add_number_option(
        worker,
        "--backoff",
        round(_DEFAULT_SETTINGS.backoff_seconds),
        "seconds before the second attempt; tripled before each further attempt",
    )
    verbs = add_command_group(subparsers, "jobs")
    add_verb(verbs, "list", _list, "list jobs that are queued, running or set aside, with the reason")
    for name, run, summary in (
        ("retry", _retry, "requeue a job that was set aside"),
        ("drop", _drop, "delete a job that is queued or was set aside"),
    ):
        verb = add_verb(verbs, name, run, summary)
        verb.add_argument("job", type=integer_range(1), help="number from `deltos jobs list`")


def _add_number_option(
    verb: argparse.ArgumentParser, name: str, default: int, summary: str, *, maximum: int | None = None
) -> None:
    verb.add_argument(
        name, type=integer_range(1, maximum), default=default, metavar="N", help=f"{summary}; default: {default}"
    )


def _work(arguments: argparse.Namespace) -> int:
    from deltos.server.http.event_log import EventLog, open_event_log
    from deltos.worker import run_worker  # deferred import: `deltos jobs` needs no application

    config = database_config()
    log = EventLog(sys.stdout) if arguments.json else open_event_log(config.log_format)

    def say(line: str) -> None:
        if log:
            log.write("worker", message=line)
        else:
            print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", file=sys.stderr, flush=True)

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
    every = jobs.all()
    for job in every:
        print_json(asdict(job)) if arguments.json else print(_job_line(job))
    if not arguments.json:
        if not every:
            print("No jobs.")
        if not jobs.has_worker():
            print("No worker is running. Start one with `deltos worker`.")
    return 0


def _job_line(job: JobRow) -> str:
    failed = f" after {counted(job.failures, 'failure')}, the last: {job.reason}" if job.failures else ""
    return f"{job.describe()}: {job.state}{failed}"


def _retry(arguments: argparse.Namespace) -> int:
    return _print_job(open_jobs(database_config().database).retry(arguments.job), "queued again", arguments)


def _drop(arguments: argparse.Namespace) -> int:
    return _print_job(open_jobs(database_config().database).drop(arguments.job), "deleted", arguments)


def _print_job(job: JobRow, new_state: str, arguments: argparse.Namespace) -> int:
    print_json(asdict(job)) if arguments.json else print(f"{job.describe()} is {new_state}")
    return 0
