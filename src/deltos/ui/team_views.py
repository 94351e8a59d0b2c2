"""What a team shares by its database: workspaces, workers and their queue, tokens."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read, may_recall_all, told
from deltos.errors import BadArgument, NotFound
from deltos.open_stores import describe_database, open_jobs, open_tokens
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.store.jobs import JobRow
    from deltos.store.tokens import StoredToken
    from deltos.ui.asked import Asked

MOST_JOBS = 200


def show_team(asked: Asked) -> structs.Team:
    """Workspaces that the reader may see; workers and jobs, which name folders of all projects, for those of all."""
    database = _database(asked)
    sees_all = may_recall_all()
    jobs = open_jobs(database) if sees_all else None
    every = jobs.every() if jobs else []
    workers = jobs.workers() if jobs else []
    return structs.Team(
        database=describe_database(database) if sees_all else "",
        sees_all=sees_all,
        workspaces=_workspaces(asked),
        workers=[structs.TeamWorker(each.id, each.seconds_ago, list(each.job_ids)) for each in workers],
        jobs=[_job(each) for each in every[:MOST_JOBS]],
        job_total=len(every),
    )


def list_tokens(asked: Asked) -> structs.TokenList:
    """Every token; the surface shows it to those alone who may make some."""
    now = time.time()
    tokens = open_tokens(asked.app.config.home, _database(asked)).all()
    return structs.TokenList([_token(each, now) for each in reversed(tokens)])


def change_job(asked: Asked) -> structs.Changed:
    """Queue a job again that was set aside, or drop one."""
    number = asked.text("id")
    if not (number.isdecimal() and len(number) < 19):
        raise BadArgument("A job is named by its number", hint="`deltos jobs list` shows them.")
    jobs = open_jobs(_database(asked))
    if asked.text("change") == "retry":
        return structs.Changed(f"Queued again: {jobs.retry(int(number)).told()}.")
    if asked.text("change") == "drop":
        return structs.Changed(f"Dropped: {jobs.drop(int(number)).told()}.")
    raise BadArgument("A job can be queued again or dropped", hint="change: retry, drop.")


def _database(asked: Asked) -> str:
    if not asked.app.config.database:
        raise NotFound("This server shares no database", hint="DELTOS_DATABASE names one; see docs/postgres.md.")
    return asked.app.config.database


def _workspaces(asked: Asked) -> list[structs.TeamWorkspace]:
    records = asked.app.domains.projects.workspaces
    shown = []
    for each in records.all() if records else ():
        roots = [told(root) for root in each.roots if may_read(Path(root))]
        if roots:
            shown.append(structs.TeamWorkspace(each.name, roots))
    return shown


def _job(row: JobRow) -> structs.TeamJob:
    return structs.TeamJob(row.id, row.kind, row.subject, row.state, row.failures, row.reason)


def _token(token: StoredToken, now: float) -> structs.TeamToken:
    state = "valid"
    if token.revoked_at is not None:
        state = "revoked"
    elif token.expires_at is not None and token.expires_at <= now:
        state = "expired"
    return structs.TeamToken(
        id=token.id,
        name=token.name,
        level=token.level,
        projects=list(token.projects),
        created_at=float(token.created_at),
        expires_at=float(token.expires_at or 0),
        state=state,
    )
