"""What a worker does: carries out jobs of the queue with the domains of this process. Who takes them is the store's."""

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
    EMBED_CODE,
    EMBED_DOCS,
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
    """Take jobs from the database's queue until told to end."""
    database = address_of_worker(config.database)
    jobs = open_jobs(database)
    app = App(replace(config, database=database, indexing="server"))  # a worker does itself what others leave to it
    try:
        take_jobs(database, _Duties(app, jobs, say).work(), settings)
    finally:
        app.close()


class _Duties:
    """The kinds of jobs, each with the domain that does it."""

    def __init__(self, app: App, jobs: Jobs, say: Callable[[str], None]) -> None:
        self._app = app
        self._jobs = jobs
        self._say = say

    def work(self) -> JobHandlers:
        return JobHandlers(
            {
                INDEX: self.index,
                EMBED_CODE: self.read,
                CRAWL: self.crawl,
                EMBED_DOCS: self.embed,
                CHECK_FRESHNESS: self.look,
                SWEEP_BLOBS: self.sweep,
            },
            every_minute=(CHECK_FRESHNESS, EMBED_DOCS),
            every_hour=(SWEEP_BLOBS,),
            interrupt=self._app.domains.interrupt,
            log=self._say,
        )

    def index(self, order: JobRequest, progress: Progress) -> None:
        """Bring a project's code, graph and history up to date."""
        index = self._app.domains.projects.at(Path(order.subject))
        is_forced = bool(order.arguments.get("force"))
        report = index.index(progress=progress, force=is_forced)
        for note in (*report.notes, *index.catch_up(progress=progress, again=is_forced)):
            self._say(f"{order.subject}: {note}")
        if self._app.config.searches_by_meaning:
            self._jobs.add(JobRequest(EMBED_CODE, order.subject))  # whoever waits for the index does not wait for that
        _check(progress)

    def read(self, order: JobRequest, progress: Progress) -> None:
        """Read a project's chunks as a whole; servers find it in the database."""
        from deltos.domains.code.semantic_candidates import (
            project_vectors,  # deferred: numpy and the model take a while to open
        )

        code = self._app.domains.projects.at(Path(order.subject)).store.code
        project_vectors(code).embed(code, progress)
        _check(progress)

    def crawl(self, order: JobRequest, progress: Progress) -> None:
        """Crawl a source of documentation, or go on with a crawl whose worker died."""
        crawls = self._app.domains.docs.library.crawls
        held = order.arguments.get("confinement")
        with confined(Confinement.from_data(held) if held else None):
            crawls.resume_crashed(order.subject)
            if not crawls.run(order.subject):
                raise StoreBusy("Another process crawls this source", hint="It is tried again later.")
        _check(progress)

    def embed(self, _order: JobRequest, _progress: Progress) -> None:
        """Make vectors for documentation that has none of the present model; slow ones are made beside other jobs."""
        self._app.domains.docs.library.crawls.keep_up()

    def look(self, _order: JobRequest, progress: Progress) -> None:
        """Queue the projects whose checkouts differ from their indexes: servers may not see their files."""
        projects = self._app.domains.projects
        for known in projects.stores.known():
            _check(progress)
            if not known.root.is_dir():
                continue
            try:
                if projects.at(known.root).is_behind():
                    self._jobs.add(JobRequest(INDEX, str(known.root)))
            except DeltosError as problem:
                self._say(f"{known.root}: {problem}")

    def sweep(self, _order: JobRequest, _progress: Progress) -> None:
        """Delete what nothing refers to any more."""
        self._app.domains.projects.stores.sweep()
        self._app.domains.docs.library.crawls.sweep_clones()


def _check(progress: Progress) -> None:
    """Raise where the worker is told to end: what was asked for may not be done."""
    if progress.cancelled():
        raise Cancelled("The worker ends")
