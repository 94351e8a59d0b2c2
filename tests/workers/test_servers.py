"""Servers that leave indexing and crawling to workers: queued jobs, answers and messages."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.errors import BadArgument
from deltos.store.jobs import CRAWL, INDEX, SET_ASIDE, WAITING, JobRequest
from tests.calling import ToolClient
from tests.loopback import LOOPBACK, Page, Site
from tests.repositories import make_repository
from tests.smart_http import serving_git
from tests.workers.running import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.jobs import PostgresJobs
    from tests.workers.running import WorkerProcess


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "orders.py").write_text("def place_order():\n    return 'placed'\n")
    return root


@pytest.fixture
def app(url: str, tmp_path: Path, workers: ProcessPool) -> Iterator[App]:
    config = Config(
        tmp_path / "server", database=url, indexing="worker", embedding=Embedding("off"), private_hosts=LOOPBACK
    )
    app = App(config, workers=workers)
    yield app
    app.close()


def test_without_a_worker_a_server_queues_the_job_and_reports_it(
    app: App, root: Path, queue: tuple[PostgresDatabase, PostgresJobs]
) -> None:
    _, jobs = queue
    jobs.add(JobRequest(INDEX, "/other"))
    jobs.add(JobRequest(INDEX, str(root)))
    client = ToolClient(app.tools(), root)
    answer = client.call("search_code", query="place_order").text
    job, other = jobs.all()  # a job with a waiting caller has priority
    assert other.subject == "/other"
    assert (job.kind, job.subject, job.state) == (INDEX, str(root), WAITING)
    assert (
        f"not indexed yet: job {job.id} (index {root}) is waiting; no worker is running (start `deltos worker`)"
        in answer
    )
    assert "this answer covers 0 files" in answer
    assert "could be indexed" not in answer, "the project was not indexed yet, so its files are unknown"
    assert client.data("index_repository") == {"project_id": job_id_of(app, root), "status": "queued", "job": job.id}
    assert not app.domains.projects.index_of(root).is_complete


def job_id_of(app: App, root: Path) -> str:
    return app.domains.projects.index_of(root).project.project_id


def test_a_server_answers_from_the_index_of_a_worker_and_follows_edits(
    app: App, root: Path, worker: Callable[..., WorkerProcess]
) -> None:
    running = worker()
    client = ToolClient(app.tools(), root)
    wait_until(lambda: "return 'placed'" in client.call("search_code", query="place_order").text, lambda: running.lines)
    (root / "refunds.py").write_text("def pay_back():\n    return 'paid'\n")
    wait_until(lambda: "return 'paid'" in client.call("search_code", query="pay_back").text, lambda: running.lines)


def test_a_server_reports_a_job_that_was_set_aside(
    app: App, root: Path, queue: tuple[PostgresDatabase, PostgresJobs], worker: Callable[..., WorkerProcess]
) -> None:
    _, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    for file in root.iterdir():
        file.unlink()
    assert worker("--once", "--attempts=1").end() == 0
    answer = ToolClient(app.tools(), root).call("search_code", query="place_order").text
    assert f"job {job.id} (index {root}) was set aside after 1 failure, the last: No files to index in shop" in answer
    assert jobs.all()[0].state == SET_ASIDE


def test_a_project_with_a_deleted_folder_answers_from_its_index_with_a_note(
    app: App, root: Path, queue: tuple[PostgresDatabase, PostgresJobs], worker: Callable[..., WorkerProcess]
) -> None:
    _, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    assert worker("--once").end() == 0
    client = ToolClient(app.tools(), root)
    assert "this answer uses the last index" not in client.call("search_code", query="place_order").text
    root.rename(root.with_name("elsewhere"))
    jobs.add(JobRequest(INDEX, str(root), {"force": True}))
    assert worker("--once", "--attempts=1").end() == 0
    answer = client.call("search_code", query="place_order").text
    assert "return 'placed'" in answer
    assert "Note: this answer uses the last index: " in answer
    assert "No such folder" in answer


def test_a_source_that_is_added_is_crawled_by_a_worker(
    app: App, root: Path, site: Site, queue: tuple[PostgresDatabase, PostgresJobs], worker: Callable[..., WorkerProcess]
) -> None:
    site.html("/", "<h1>Guide</h1><p>How refunds are approved by the manager.</p>")
    client = ToolClient(app.tools(), root)
    answer = client.call("add_source", url=f"{site.url}/", name="guide").text
    (job,) = queue[1].all()
    assert job.kind == CRAWL
    assert f"Queued for a worker: {job.describe()}. No worker is running. Start one with `deltos worker`." in answer
    assert not site.asked
    assert worker("--once", DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1").end() == 0
    assert "approved by the manager" in client.call("search_docs", query="refunds approved").text


def test_another_worker_continues_the_crawl_of_a_killed_worker(
    app: App, root: Path, site: Site, queue: tuple[PostgresDatabase, PostgresJobs], worker: Callable[..., WorkerProcess]
) -> None:
    going_on = threading.Event()

    def slow(_headers: dict[str, str]) -> Page:
        going_on.wait(60)
        return Page(b"<h1>Slow</h1><p>Shipping by airship.</p>", headers={"Content-Type": "text/html"})

    site.html("/", '<h1>Guide</h1><p>Refunds take a week.</p><a href="/slow">more</a>')
    site.pages["/slow"] = slow
    client = ToolClient(app.tools(), root)
    client.call("add_source", url=f"{site.url}/", name="guide")
    first = worker(DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1")
    wait_until(lambda: site.asked["/slow"], lambda: first.lines)
    first.kill()
    going_on.set()
    second = worker(DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1")
    wait_until(lambda: second.has_logged("is done"), lambda: second.lines)
    assert "airship" in client.call("search_docs", query="shipping by airship").text
    wait_until(lambda: queue[1].all() == [], lambda: second.lines)


def test_a_worker_ends_soon_even_if_its_crawl_is_waiting_for_a_slow_server(
    app: App, root: Path, site: Site, queue: tuple[PostgresDatabase, PostgresJobs], worker: Callable[..., WorkerProcess]
) -> None:
    going_on = threading.Event()

    def slow(_headers: dict[str, str]) -> Page:
        going_on.wait(60)
        return Page(b"")

    site.pages["/"] = slow
    ToolClient(app.tools(), root).call("add_source", url=f"{site.url}/", name="guide")
    running = worker(DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1")
    wait_until(lambda: site.asked["/"], lambda: running.lines)
    running.process.terminate()
    assert running.process.wait(20.0) == 0
    assert not going_on.is_set()
    (job,) = [job for job in queue[1].all() if job.kind == CRAWL]
    assert (job.state, job.failures, job.reason) == (WAITING, 0, ""), running.lines
    going_on.set()


def test_indexing_needs_no_disk_space_of_the_worker(
    app: App, root: Path, queue: tuple[PostgresDatabase, PostgresJobs], worker: Callable[..., WorkerProcess]
) -> None:
    queue[1].add(JobRequest(INDEX, str(root)))
    assert worker("--once", max_file_bytes=0).end() == 0
    client = ToolClient(app.tools(), root)
    assert "return 'placed'" in client.call("search_code", query="place_order").text
    assert app.domains.projects.index_of(root).store.failures() == []


def test_a_full_disk_is_reported_and_another_worker_crawls_later(
    app: App,
    root: Path,
    tmp_path: Path,
    queue: tuple[PostgresDatabase, PostgresJobs],
    worker: Callable[..., WorkerProcess],
) -> None:
    make_repository(tmp_path / "served" / "guide", {"README.md": "# Guide\n\nThe zebra setting sleeps.\n"})
    client = ToolClient(app.tools(), root)
    with serving_git(tmp_path / "served") as site:
        client.call("add_source", url=f"git+{site.url}/guide/.git", name="guide")
        assert worker("--once", max_file_bytes=100, DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1").end() == 0
        (job,) = queue[1].all()
        assert (job.state, job.failures) == (WAITING, 1)
        assert job.reason == "The worker's disk is full (File too large)"
        other = worker(DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1")
        wait_until(lambda: queue[1].all() == [], lambda: other.lines)
    assert "The zebra setting sleeps" in client.call("search_docs", query="zebra setting").text


def test_workers_without_a_database_are_refused() -> None:
    with pytest.raises(BadArgument, match="DELTOS_DATABASE"):
        Config.from_environment({"DELTOS_INDEXING": "worker"})
    with pytest.raises(BadArgument, match="DELTOS_INDEXING"):
        Config.from_environment({"DELTOS_INDEXING": "somebody"})
