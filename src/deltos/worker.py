"""Handlers of the jobs that a worker process takes from the queue in the database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.app import App
from deltos.confinement import Confinement, confined
from deltos.errors import Cancelled, DeltosError, StoreBusy
from deltos.open_stores import address_of_worker, open_jobs, take_jobs
from deltos.store.jobs import (
    CHECK_FRESHNESS,
    CRAWL,
    INDEX,
    SWEEP_BLOBS,
    JobHandlers,
    JobRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.config import Config
    from deltos.progress import Progress
    from deltos.store.jobs import Jobs, WorkerSettings


def run_worker(config: Config, settings: WorkerSettings, say: Callable[[str], None]) -> None:
    """Run jobs from the queue in the database until the worker is stopped."""
    database = address_of_worker(config.database)
    jobs = open_jobs(database)
    app = App(replace(config, database=database, indexing="server"))  # the worker itself must index
    try:
        take_jobs(database, _Handlers(app, jobs, say).handlers(), settings)
    finally:
        app.close()


class _Handlers:
    """Handlers of all kinds of jobs."""

    def __init__(self, app: App, jobs: Jobs, say: Callable[[str], None]) -> None:
        self._app = app
        self._jobs = jobs
        self._say = say
        self._missing: set[Path] = set()

    def handlers(self) -> JobHandlers:
        """Return the handlers by kind of job."""
        return JobHandlers(
            {
                INDEX: self.index,
                CRAWL: self.crawl,
                CHECK_FRESHNESS: self.check_freshness,
                SWEEP_BLOBS: self.sweep,
            },
            every_minute=(CHECK_FRESHNESS,),
            every_hour=(SWEEP_BLOBS,),
            interrupt=self._app.domains.interrupt,
            log=self._say,
        )

    def index(self, request: JobRequest, progress: Progress) -> None:
        """Update the index of a project: code, graph and history."""
        index = self._app.domains.projects.index_of(Path(request.subject))
        is_forced = bool(request.arguments.get("force"))
        report = index.index(progress=progress, force=is_forced)
        for note in (*report.notes, *index.catch_up(progress=progress, again=is_forced)):
            self._say(f"{request.subject}: {note}")
        _raise_if_stopping(progress)

    def crawl(self, request: JobRequest, progress: Progress) -> None:
        """Crawl a documentation source, or resume the crawl of a worker that died."""
        crawls = self._app.domains.docs.library.crawls
        held = request.arguments.get("confinement")
        with confined(Confinement.from_data(held) if held else None):
            if not crawls.run(request.subject):
                raise StoreBusy("Another process is crawling this source", hint="The job is retried later.")
        _raise_if_stopping(progress)

    def check_freshness(self, _request: JobRequest, progress: Progress) -> None:
        """Queue jobs for projects whose files differ from their indexes. Servers may not have these files."""
        projects = self._app.domains.projects
        for known in projects.stores.indexed_projects():
            _raise_if_stopping(progress)
            if not known.root.is_dir():
                self._report_missing(known.root)
                continue
            self._missing.discard(known.root)
            try:
                if projects.index_of(known.root).is_behind():
                    self._jobs.add(JobRequest(INDEX, str(known.root)))
            except DeltosError as problem:
                self._say(f"{known.root}: {problem}")

    def _report_missing(self, root: Path) -> None:
        """Print a message the first time that the folder of a project is missing. The index remains usable."""
        if root not in self._missing:
            self._missing.add(root)
            self._say(f"{root}: folder not found; if it was moved or deleted, run `deltos forget-project {root}`")

    def sweep(self, _request: JobRequest, _progress: Progress) -> None:
        """Delete unreferenced file contents and repository clones, and embed passages without a vector."""
        self._app.domains.projects.stores.delete_unused_contents()
        crawls = self._app.domains.docs.library.crawls
        crawls.sweep_clones()
        crawls.embed_new()


def _raise_if_stopping(progress: Progress) -> None:
    """Raise Cancelled if the worker is stopping, so that an incomplete job does not count as finished."""
    if progress.cancelled():
        raise Cancelled("The worker is stopping")
