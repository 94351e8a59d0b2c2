"""What an administrator wants to know of a database: how much it keeps, and what of its settings may lose it."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from deltos.errors import StoreError
from deltos.store.postgres.database import Database
from deltos.store.postgres.errors import place_of
from deltos.store.postgres.migrations import SCHEMA_STEPS

_WAIT_SECONDS = 2.0

_RISKY = {
    "fsync": ("off", "a crash of the machine may damage everything"),
    "full_page_writes": ("off", "a crash of the machine may damage pages"),
    "synchronous_commit": (
        "off",
        "a crash may lose the last indexed files and pages; memory waits all the same",
    ),
}
_NOT_HELD = (
    "row-level security does not hold for this role: servers for others should connect as one that"
    " `deltos db init --role NAME` makes"
)
_COUNTS = {
    "documentation sources": "SELECT count(*) FROM docs_source",
    "passages": "SELECT coalesce(sum(items), 0)::bigint FROM docs_chunk_total",
    "APIs": "SELECT count(*) FROM api",
    "observations": "SELECT count(*) FROM observation_place",
    "tokens": "SELECT count(*) FROM access_token",
    "projects with an index": "SELECT count(*) FROM project",
    "jobs that wait or run": "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
}


class Health(NamedTuple):
    """What is kept, and what is risky."""

    counts: dict[str, int]
    risks: tuple[str, ...]


def trouble_with(database: Database) -> str:
    """What keeps the tables from being used; empty when they are as we know them, or newer."""
    known = [step.name for step in SCHEMA_STEPS]
    applied = [row[0] for row in database.query("SELECT name FROM migration ORDER BY position")]
    return "" if applied[: len(known)] == known else "the tables of the database are older than this server"


def standby_state(url: str) -> str:
    """Where a standby is, and whether it follows."""
    place = place_of(url)
    try:
        with closing(Database(url, migrations=None, wait_seconds=_WAIT_SECONDS)) as standby:
            ((follows, seconds),) = standby.query(
                """SELECT pg_is_in_recovery(), CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
                   ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::double precision"""
            )
    except StoreError as error:
        return f"{place}: {error.message}"
    if not follows:
        return f"{place}: no standby, it follows nobody"
    return f"{place}: follows, {seconds or 0:.0f} s behind what it received"


def examine(database: Database) -> Health:
    """Count what is kept and look at the settings. Changes nothing."""
    with database.snapshot():
        counts = {name: int(database.query(sql)[0][0]) for name, sql in _COUNTS.items()}
        settings = {name: str(database.query(f"SHOW {name}")[0][0]) for name in _RISKY}
        is_bound = database.is_bound
    risks = [f"{name} is off: {why}" for name, (bad, why) in _RISKY.items() if settings[name] == bad]
    if not is_bound:
        risks.append(_NOT_HELD)
    return Health(counts, tuple(risks))
