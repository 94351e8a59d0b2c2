"""Health report of a database for administrators: record counts, and server settings that may cause data loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.store.postgres.migrations import SCHEMA_STEPS

if TYPE_CHECKING:
    from deltos.store.postgres.database import PostgresDatabase

_RISKY_SETTINGS = {
    "fsync": ("off", "a crash of the machine may damage everything"),
    "full_page_writes": ("off", "a crash of the machine may damage pages"),
    "synchronous_commit": (
        "off",
        "a crash may lose the last indexed files and pages, but no observations",
    ),
}
_NO_ROW_SECURITY = (
    "row-level security does not apply to this role: servers for other users should connect as a role created by"
    " `deltos db init --role NAME`"
)
_COUNT_QUERIES = {
    "documentation sources": "SELECT count(*) FROM docs_source",
    "passages": "SELECT coalesce(sum(items), 0)::bigint FROM docs_chunk_total",
    "APIs": "SELECT count(*) FROM api",
    "observations": "SELECT count(*) FROM observation_place",
    "tokens": "SELECT count(*) FROM access_token",
    "projects with an index": "SELECT count(*) FROM project",
    "jobs that wait or run": "SELECT count(*) FROM job WHERE state IN ('waiting', 'running')",
}


class Health(NamedTuple):
    """Record counts by name, and descriptions of server settings that may cause data loss."""

    counts: dict[str, int]
    risks: tuple[str, ...]


def find_schema_problem(database: PostgresDatabase) -> str:
    """Return why the tables cannot be used, or an empty string if the schema is current or newer."""
    applied = {name for (name,) in database.query("SELECT name FROM migration")}
    is_current = all(step.name in applied for step in SCHEMA_STEPS)
    return "" if is_current else "the tables of the database are older than this server"


def read_health(database: PostgresDatabase) -> Health:
    """Return record counts and server settings that may cause data loss, without changing the database."""
    with database.snapshot():
        counts = {name: int(database.query(sql)[0][0]) for name, sql in _COUNT_QUERIES.items()}
        settings = {name: str(database.query(f"SHOW {name}")[0][0]) for name in _RISKY_SETTINGS}
        has_row_security = database.has_row_security
    risks = [f"{name} is off: {why}" for name, (bad, why) in _RISKY_SETTINGS.items() if settings[name] == bad]
    if not has_row_security:
        risks.append(_NO_ROW_SECURITY)
    return Health(counts, tuple(risks))
