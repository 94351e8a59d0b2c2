"""Web page data about a shared database: workspaces, workers, jobs and tokens."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read, may_recall_all, visible_location
from deltos.errors import BadArgument, NotFound
from deltos.open_stores import describe_database, open_jobs, open_tokens
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.store.jobs import JobRow
    from deltos.store.tokens import StoredToken
    from deltos.ui.view_request import ViewRequest

MAX_JOBS = 200


def show_team(request: ViewRequest) -> structs.Team:
    """Return the visible workspaces, with workers and jobs if the reader may see all projects."""
    database = _require_database(request)
    sees_all = may_recall_all()
    jobs = open_jobs(database) if sees_all else None
    every = jobs.all() if jobs else []
    workers = jobs.workers() if jobs else []
    return structs.Team(
        # Version of the database server, without the URL.
        database=describe_database(database).rpartition(", ")[2] if sees_all else "",
        sees_all=sees_all,
        workspaces=_visible_workspaces(request),
        workers=[structs.TeamWorker(each.id, each.seconds_ago, list(each.job_ids)) for each in workers],
        jobs=[_to_team_job(each) for each in every[:MAX_JOBS]],
        job_total=len(every),
    )


def list_tokens(request: ViewRequest) -> structs.TokenList:
    """Return all tokens if the reader may see all projects. Callers must admit only administrators."""
    now = time.time()
    database = _require_database(request)
    tokens = open_tokens(request.app.config.home, database).all() if may_recall_all() else []
    return structs.TokenList([_to_team_token(each, now) for each in reversed(tokens)])


def change_job(request: ViewRequest) -> structs.Changed:
    """Retry a job that was set aside, or drop a job."""
    number = request.text("id")
    if not (number.isdecimal() and len(number) < 19):
        raise BadArgument("The job id must be a number", hint="`deltos jobs list` shows the numbers.")
    jobs = open_jobs(_require_database(request))
    if request.text("change") == "retry":
        return structs.Changed(f"Queued again: {jobs.retry(int(number)).describe()}.")
    if request.text("change") == "drop":
        return structs.Changed(f"Dropped: {jobs.drop(int(number)).describe()}.")
    raise BadArgument("Unknown change to a job", hint="Known: retry, drop.")


def _require_database(request: ViewRequest) -> str:
    if not request.app.config.database:
        raise NotFound("This server has no shared database", hint="Set DELTOS_DATABASE; see docs/postgres.md.")
    return request.app.config.database


def _visible_workspaces(request: ViewRequest) -> list[structs.TeamWorkspace]:
    records = request.app.domains.projects.workspaces
    shown = []
    for each in records.all() if records else ():
        roots = [visible_location(root) for root in each.roots if may_read(Path(root))]
        if roots:
            shown.append(structs.TeamWorkspace(each.name, roots))
    return shown


def _to_team_job(row: JobRow) -> structs.TeamJob:
    return structs.TeamJob(row.id, row.kind, row.subject, row.state, row.failures, row.reason)


def _to_team_token(token: StoredToken, now: float) -> structs.TeamToken:
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
