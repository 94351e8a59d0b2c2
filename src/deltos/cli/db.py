"""`deltos db`: the PostgreSQL database that DELTOS_DATABASE names, and moving into it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from deltos.cli.command import add_group, add_verb, print_json
from deltos.config import Config
from deltos.errors import BadArgument
from deltos.open_stores import admit_role, describe_database, describe_standbys, examine_database, open_jobs
from deltos.store.jobs import SET_ASIDE
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers

_MEMORY_STAYS = (
    "Memory was not copied: there is one already where it would go, and their sessions would be mixed."
    " Merge them by `deltos memory export` here and `deltos memory import` there."
)


def add_commands(subparsers: Subparsers) -> None:
    """Add `db init`, `db migrate`, `db check` and `db move`."""
    verbs = add_group(subparsers, "db", "the PostgreSQL database that DELTOS_DATABASE names")
    init = add_verb(verbs, "init", _init, "create what Deltos needs in the database; what is there stays")
    init.add_argument("--role", default="", metavar="NAME", help="let this role use it, held by row-level security")
    add_verb(verbs, "migrate", _migrate, "bring the tables up to date; every command does so by itself")
    add_verb(verbs, "check", _check, "connect, say what is kept there, and which settings of the server are risky")
    move = add_verb(verbs, "move", _move, "copy what this data folder keeps into it, but for indexes of code")
    move.add_argument("--back", action="store_true", help="from the database into the data folder")


def _init(arguments: argparse.Namespace) -> int:
    if not arguments.role:
        return _migrate(arguments)
    config = database_config()
    told, is_new = describe_database(config.database), admit_role(config.database, arguments.role)
    if arguments.json:
        print_json({"database": told, "status": "ready", "role": arguments.role, "is_new": is_new})
        return 0
    print(f"{told}: ready for the role {arguments.role}" + (", which was made now" if is_new else ""))
    if is_new:
        print("It has no password yet: ALTER ROLE … PASSWORD '…', or as your server authenticates.")
    print("Start servers with its name in DELTOS_DATABASE. Migrations, and `deltos memory purge`, need the owner's.")
    return 0


def _migrate(arguments: argparse.Namespace) -> int:
    told = describe_database(database_config().database)
    print_json({"database": told, "status": "ready"}) if arguments.json else print(f"{told}: ready")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    config = database_config()
    told, health = describe_database(config.database), examine_database(config.database)
    aside = [job for job in open_jobs(config.database).every() if job.state == SET_ASIDE]
    standbys = describe_standbys(config.standbys)
    if arguments.json:
        jobs = [{"job": job.id, "kind": job.kind, "subject": job.subject, "reason": job.reason} for job in aside]
        found = {"database": told, "counts": health.counts, "risks": list(health.risks)}
        print_json({**found, "standbys": standbys, "jobs_set_aside": jobs})
        return 0
    print(told)
    for name, count in health.counts.items():
        print(f"{name}: {count:,}")
    for standby in standbys:
        print(f"standby {standby}")
    for risk in health.risks:
        print(f"risky: {risk}")
    for job in aside:
        print(f"set aside: {job.told()} after {counted(job.failures, 'failure')}, the last: {job.reason}")
    return 0


def _move(arguments: argparse.Namespace) -> int:
    from deltos.move_stores import move  # deferred: both engines are imported

    config = database_config()
    describe_database(config.database)  # says what is wrong with it before anything is read
    moved = move(config.home, config.database, back=arguments.back, say=lambda line: print(line, file=sys.stderr))
    if arguments.json:
        print_json(moved._asdict())
    else:
        counts = ((name, count) for name, count in moved._asdict().items() if count is not None)
        print(", ".join(f"{count:,} {name}" for name, count in counts) + " copied")
        print("What they were copied from is unchanged. Indexes of code are made anew by the next question.")
        print("Not copied: snapshots of memory, the ring of the last calls, notes about what could not be read.")
    if moved.observations is None:
        print(_MEMORY_STAYS, file=sys.stderr)
        return 1
    return 0


def database_config() -> Config:
    """The configuration, in which a database has to be named."""
    config = Config.from_environment()
    if not config.database:
        raise BadArgument(
            "DELTOS_DATABASE is not set",
            hint="Set it to postgresql://USER:PASSWORD@HOST:5432/NAME, see docs/postgres.md.",
        )
    return config
