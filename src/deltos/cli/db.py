"""`deltos db`: manage the PostgreSQL database of DELTOS_DATABASE."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deltos.cli.command import add_command_group, add_verb, print_json
from deltos.config import Config
from deltos.errors import BadArgument
from deltos.open_stores import admit_role, describe_database, examine_database, open_jobs
from deltos.store.jobs import SET_ASIDE
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers

_PASSWORD_VARIABLE = "DELTOS_ROLE_PASSWORD"  # noqa: S105 - a variable name


def add_commands(subparsers: Subparsers) -> None:
    """Add the command `db` with the subcommands `init`, `migrate` and `check`."""
    verbs = add_command_group(subparsers, "db")
    init = add_verb(verbs, "init", _init, "create the tables in the database; existing data is kept")
    init.add_argument(
        "--role",
        default="",
        metavar="NAME",
        help=f"role that may use the tables under row-level security; its password is read from {_PASSWORD_VARIABLE}",
    )
    add_verb(verbs, "migrate", _migrate, "migrate the tables to this version; every command does so automatically")
    add_verb(verbs, "check", _check, "test the connection, count the stored data and report risky server settings")


def _init(arguments: argparse.Namespace) -> int:
    if not arguments.role:
        return _migrate(arguments)
    config, password = database_config(), os.environ.get(_PASSWORD_VARIABLE, "")
    description, is_new = describe_database(config.database), admit_role(config.database, arguments.role, password)
    if arguments.json:
        print_json({"database": description, "status": "ready", "role": arguments.role, "is_new": is_new})
        return 0
    print(f"{description}: ready for the role {arguments.role}" + (", which was created" if is_new else ""))
    if is_new and not password:
        print(
            f"The role has no password yet. Set {_PASSWORD_VARIABLE} and run this again, or use another authentication."
        )
    print("Use this role in DELTOS_DATABASE of servers. Migrations and `deltos memory purge` need the owner's role.")
    return 0


def _migrate(arguments: argparse.Namespace) -> int:
    description = describe_database(database_config().database)
    print_json({"database": description, "status": "ready"}) if arguments.json else print(f"{description}: ready")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    config = database_config()
    description, health = describe_database(config.database), examine_database(config.database)
    set_aside_jobs = [job for job in open_jobs(config.database).all() if job.state == SET_ASIDE]
    if arguments.json:
        jobs = [
            {"job": job.id, "kind": job.kind, "subject": job.subject, "reason": job.reason} for job in set_aside_jobs
        ]
        found = {"database": description, "counts": health.counts, "risks": list(health.risks)}
        print_json({**found, "jobs_set_aside": jobs})
        return 0
    print(description)
    for name, count in health.counts.items():
        print(f"{name}: {count:,}")
    for risk in health.risks:
        print(f"risky: {risk}")
    for job in set_aside_jobs:
        print(f"set aside: {job.describe()} after {counted(job.failures, 'failure')}, the last: {job.reason}")
    return 0


def database_config() -> Config:
    """Return the configuration. Raise BadArgument if DELTOS_DATABASE is not set."""
    config = Config.from_environment()
    if not config.database:
        raise BadArgument(
            "DELTOS_DATABASE is not set",
            hint="Set it to postgresql://USER:PASSWORD@HOST:5432/NAME, see docs/postgres.md.",
        )
    return config
