"""Workers: each job is done exactly once, even if a worker crashes or loses its lease."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from deltos.cli.main import main
from deltos.embed.embedders import code_embedder
from deltos.store.jobs import (
    CHECK_FRESHNESS,
    INDEX,
    RUNNING,
    SET_ASIDE,
    SWEEP_BLOBS,
    WAITING,
    JobRequest,
    WorkerSettings,
)
from deltos.store.postgres.projects import PostgresProjects
from tests.postgres_server import ROLE_PASSWORD, server
from tests.workers.running import WAIT_TIMEOUT_SECONDS, WorkerProcess, indexing_blocked, job_of, open_queue, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.jobs import PostgresJobs


def project(folder: Path, name: str = "shop") -> Path:
    root = folder / name
    root.mkdir()
    (root / "main.py").write_text(f"def greet_{name}():\n    return 'hello'\n")
    return root


def indexed_files(url: str) -> dict[Path, int]:
    with open_queue(url) as (database, _):
        return {index.root: index.files for index in PostgresProjects(lambda: database).indexed_projects()}


def test_a_worker_indexes_a_queued_project_and_deletes_the_job(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    _, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    assert worker("--once").end() == 0
    assert indexed_files(url) == {root: 1}
    assert jobs.all() == []


def test_a_worker_embeds_the_chunks_that_it_indexes(
    queue: tuple[PostgresDatabase, PostgresJobs],
    tmp_path: Path,
    worker: Callable[..., WorkerProcess],
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    assert worker("--once", DELTOS_EMBED="encoder").end() == 0
    projects = PostgresProjects(lambda: database)
    code = projects.store_of(root).code
    assert code.vector_count(code_embedder().identity) == 1


def test_repeated_requests_queue_one_job_with_the_highest_urgency(
    queue: tuple[PostgresDatabase, PostgresJobs],
) -> None:
    _, jobs = queue
    later, sooner = JobRequest(INDEX, "/a"), JobRequest(INDEX, "/b")
    first = jobs.add(later)
    jobs.add(sooner)
    assert jobs.add(later).id == first.id
    assert [job.subject for job in jobs.all()] == ["/a", "/b"]
    jobs.add(sooner, is_waited_for=True)
    assert [job.subject for job in jobs.all()] == ["/b", "/a"]


def test_another_worker_finishes_the_job_of_a_killed_worker(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    with indexing_blocked(database, root):
        first = worker()
        wait_until(lambda: first.has_logged(f"job {job.id} (index {root}) is started"), lambda: first.lines)
        assert job_of(jobs, job.id).state == RUNNING  # type: ignore[union-attr]
        first.kill()
    second = worker()
    wait_until(lambda: second.has_logged("is done"), lambda: second.lines)
    assert second.has_logged("is queued again: its worker died or lost its connection")
    assert indexed_files(url) == {root: 1}
    wait_until(lambda: jobs.all() == [])


def test_a_worker_with_a_late_heartbeat_is_listed_as_dead_but_continues(
    queue: tuple[PostgresDatabase, PostgresJobs],
) -> None:
    database, jobs = queue
    job = jobs.add(JobRequest(INDEX, "/a"))
    with database.write() as connection:
        connection.execute("INSERT INTO job_worker (name, seen_at) VALUES ('late', now() - interval '1 hour')")
        connection.execute("UPDATE job SET state = 'running', worker = 'late' WHERE id = %s", (job.id,))
    assert jobs.requeue_stalled(WorkerSettings(), "late") == []
    assert [row.id for row in jobs.requeue_stalled(WorkerSettings(), "other")] == [job.id]


def test_a_worker_that_is_terminated_releases_its_job_immediately(
    queue: tuple[PostgresDatabase, PostgresJobs], tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    with indexing_blocked(database, root):
        running = worker()
        wait_until(lambda: running.has_logged("is started"), lambda: running.lines)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(5.0) == 0
        given_back = job_of(jobs, job.id)
        assert given_back is not None
        assert (given_back.state, given_back.failures) == (WAITING, 0)


def test_releasing_a_job_that_is_queued_again_is_not_a_failure(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    assert worker("--once").end() == 0
    with indexing_blocked(database, root):
        first = jobs.add(JobRequest(INDEX, str(root), {"force": True}))
        running = worker()
        wait_until(lambda: running.has_logged(f"job {first.id} (index {root}) is started"), lambda: running.lines)
        again = jobs.add(JobRequest(INDEX, str(root)))
        assert again.id != first.id
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(5.0) == 0
        (waiting,) = [job for job in jobs.all() if job.kind == INDEX]
        assert (waiting.id, waiting.state, waiting.failures) == (again.id, WAITING, 0)
        (arguments,) = database.query("SELECT arguments FROM job WHERE id = %s", (again.id,))
        assert arguments == ({"force": True},)  # the first request is still queued
    last = worker("--once")
    assert last.end() == 0
    assert not last.has_logged("died"), last.lines
    assert indexed_files(url) == {root: 1}


def test_a_long_job_continues_while_due_routine_jobs_are_queued(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    jobs.add(JobRequest(CHECK_FRESHNESS))  # the job of the previous minute, which the running job delays
    beats = "SELECT id, seen_at FROM job_worker"
    with indexing_blocked(database, root):
        running = worker()  # the worker immediately queues the jobs of this minute
        wait_until(lambda: running.has_logged(f"{job.describe()} is started"), lambda: running.lines)
        for _ in range(3):
            beat = database.query(beats)
            wait_until(lambda beat=beat: database.query(beats) != beat, lambda: running.lines)  # type: ignore[misc]
        assert [row.job_ids for row in jobs.workers()] == [(job.id,)]
        waiting = sorted(row.kind for row in jobs.all() if row.state == WAITING)
        assert [kind for kind in waiting if kind != SWEEP_BLOBS] == [
            CHECK_FRESHNESS
        ]  # the other routine job is due once an hour
    wait_until(lambda: jobs.all() == [], lambda: running.lines)
    assert running.has_logged(f"{job.describe()} is done"), running.lines
    assert not running.has_logged("is returned to the queue"), running.lines
    assert not running.has_logged("can be used again"), running.lines
    assert not running.has_logged("cannot be"), running.lines


def test_a_worker_logs_failures_outside_its_job_and_continues_the_job(
    queue: tuple[PostgresDatabase, PostgresJobs], tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    with psycopg.connect(server().url, autocommit=True) as owner, indexing_blocked(database, root):
        owner.execute("SET search_path TO deltos")
        owner.execute(
            """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN RAISE EXCEPTION 'no routine jobs today'; END $$;
               CREATE TRIGGER refuse BEFORE INSERT ON job_schedule EXECUTE FUNCTION refuse()"""
        )
        try:
            running = worker()
            output = "Routine jobs cannot be queued: "
            wait_until(lambda: sum(output in line for line in list(running.lines)) > 1, lambda: running.lines)
            assert running.has_logged("no routine jobs today"), running.lines
        finally:
            owner.execute("DROP FUNCTION refuse CASCADE")
        wait_until(lambda: database.query("SELECT 1 FROM job_schedule"), lambda: running.lines)
    wait_until(lambda: running.has_logged(f"{job.describe()} is done"), lambda: running.lines)
    assert not running.has_logged("is returned to the queue"), running.lines


def test_concurrent_requests_for_the_same_source_are_all_reported_as_queued(
    queue: tuple[PostgresDatabase, PostgresJobs],
) -> None:
    _, jobs = queue
    at_once = threading.Barrier(8)

    def add(number: int) -> int:
        at_once.wait(WAIT_TIMEOUT_SECONDS)
        return jobs.add(JobRequest(INDEX, f"/p{number}")).id

    with ThreadPoolExecutor(8) as callers:
        for number in range(20):
            assert len(set(callers.map(add, [number] * 8))) == 1
    assert len(jobs.all()) == 20


def test_a_worker_reports_its_start_after_it_has_connected(url: str, tmp_path: Path) -> None:
    nowhere = WorkerProcess(url.replace(str(conninfo_to_dict(url)["port"]), "9"), tmp_path / "home")
    assert nowhere.end() == 1
    assert nowhere.has_logged("cannot be reached")
    assert not nowhere.has_logged("worker started")
    running = WorkerProcess(url, tmp_path / "home")
    wait_until(lambda: running.has_logged("worker started"), lambda: running.lines)
    running.process.send_signal(signal.SIGTERM)
    assert running.end() == 0
    assert running.has_logged("worker ended")


def test_two_workers_do_each_of_many_jobs_exactly_once(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    roots = [project(tmp_path, f"p{number}") for number in range(12)]
    _, jobs = queue
    for root in roots:
        jobs.add(JobRequest(INDEX, str(root)))
    workers = [worker("--once"), worker("--once")]
    assert [each.end() for each in workers] == [0, 0]
    done = [line for each in workers for line in each.lines if "is done" in line]
    assert sorted(line.split("(index ")[1].split(")")[0] for line in done) == sorted(map(str, roots))
    assert indexed_files(url) == dict.fromkeys(roots, 1)


def test_workers_detect_a_changed_checkout_themselves(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    _, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    assert worker("--once").end() == 0
    (root / "more.py").write_text("MORE = 1\n")
    for _ in range(2):  # the second one indexes files that changed just before the first run, and no others
        jobs.add(JobRequest(CHECK_FRESHNESS))
        assert worker("--once").end() == 0
    assert indexed_files(url) == {root: 2}
    jobs.add(JobRequest(CHECK_FRESHNESS))
    last = worker("--once")
    assert last.end() == 0
    assert not last.has_logged("(index"), last.lines


def test_a_job_that_fails_repeatedly_is_set_aside_listed_and_can_be_retried(
    queue: tuple[PostgresDatabase, PostgresJobs],
    url: str,
    tmp_path: Path,
    worker: Callable[..., WorkerProcess],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "gone"
    _, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    running = worker("--attempts=2")
    wait_until(lambda: (found := job_of(jobs, job.id)) and found.state == SET_ASIDE, lambda: running.lines)
    assert jobs.add(JobRequest(INDEX, str(root))).state == SET_ASIDE  # the job is not queued again
    monkeypatch.setenv("DELTOS_DATABASE", url)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    for command in (["jobs", "list"], ["db", "check"]):
        assert main(command) == 0
        output = capsys.readouterr().out
        assert f"job {job.id} (index {root})" in output
        assert "2 failures, the last: No such folder" in output
    project(tmp_path, "gone")
    assert main(["jobs", "retry", str(job.id)]) == 0
    wait_until(lambda: jobs.all() == [], lambda: running.lines)
    assert indexed_files(url) == {root: 1}
    shown = "".join((capsys.readouterr().out, *running.lines))
    assert ROLE_PASSWORD not in shown
    assert quote(ROLE_PASSWORD, safe="") not in shown


def test_a_job_that_kills_its_workers_is_set_aside(
    queue: tuple[PostgresDatabase, PostgresJobs], tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    job = jobs.add(JobRequest(INDEX, str(root)))
    with indexing_blocked(database, root):
        for _ in range(2):
            deadly = worker("--attempts=2")
            wait_until(partial(deadly.has_logged, "is started"))
            deadly.kill()
        last = worker("--attempts=2")
        wait_until(lambda: last.has_logged("is set aside"), lambda: last.lines)
    found = job_of(jobs, job.id)
    assert found is not None
    assert (found.state, found.failures) == (SET_ASIDE, 2)


def test_a_disconnected_worker_loses_its_job_and_continues(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root, other = project(tmp_path), project(tmp_path, "other")
    database, jobs = queue
    store = PostgresProjects(lambda: database).store_of(root)
    job = jobs.add(JobRequest(INDEX, str(root)))
    with store.writing():  # the worker waits for it and still holds the lease of the project
        first = worker()
        wait_until(partial(first.has_logged, "is started"))
        wait_until(lambda: _a_worker_waits(url))
        first.process.send_signal(signal.SIGSTOP)
    second = worker()
    wait_until(lambda: jobs.all() == [], lambda: second.lines)
    assert second.has_logged("is queued again: its worker died or lost its connection")
    assert second.has_logged(f"{job.describe()} is done")
    assert indexed_files(url) == {root: 1}
    second.kill()
    first.process.send_signal(signal.SIGCONT)
    jobs.add(JobRequest(INDEX, str(other)))
    wait_until(partial(first.has_logged, f"(index {other}) is done"), lambda: first.lines)
    assert not first.has_logged(f"{job.describe()} is done"), (
        first.lines
    )  # the database closed the connections of this worker
    wait_until(lambda: jobs.all() == [], lambda: (first.lines, jobs.all()))


def _a_worker_waits(url: str) -> bool:
    """Return whether a worker waits for another worker's lock before it writes."""
    # It may also wait for a moment for another connection of its own.
    sql = """SELECT 1 FROM pg_stat_activity AS waiting
             WHERE waiting.application_name LIKE 'deltos worker%%' AND waiting.wait_event_type = 'Lock'
             AND EXISTS (SELECT FROM pg_stat_activity AS held WHERE held.application_name = 'deltos'
                         AND held.pid = ANY(pg_blocking_pids(waiting.pid)))"""
    with open_queue(url) as (database, _):
        return bool(database.query(sql))


def test_a_worker_continues_after_a_restart_of_the_database(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root, other = project(tmp_path), project(tmp_path, "other")
    database, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    running = worker()
    with indexing_blocked(database, root):
        wait_until(lambda: running.has_logged("is started"), lambda: running.lines)
        server().kill()
    wait_until(lambda: running.has_logged("cannot be reached"), lambda: running.lines)
    server().start()
    wait_until(lambda: running.has_logged("is done"), lambda: running.lines)
    jobs.add(JobRequest(INDEX, str(other)))
    wait_until(lambda: indexed_files(url) == {root: 1, other: 1}, lambda: running.lines)
    wait_until(lambda: jobs.all() == [], lambda: running.lines)
    assert running.process.poll() is None


def test_a_repository_deleted_during_indexing_keeps_its_index(
    queue: tuple[PostgresDatabase, PostgresJobs], url: str, tmp_path: Path, worker: Callable[..., WorkerProcess]
) -> None:
    root = project(tmp_path)
    database, jobs = queue
    jobs.add(JobRequest(INDEX, str(root)))
    running = worker("--attempts=1")
    wait_until(lambda: running.has_logged("is done"), lambda: running.lines)
    with indexing_blocked(database, root):
        job = jobs.add(JobRequest(INDEX, str(root), {"force": True}))
        wait_until(lambda: running.has_logged(f"job {job.id} (index {root}) is started"), lambda: running.lines)
        root.rename(tmp_path / "elsewhere")
    wait_until(lambda: (found := job_of(jobs, job.id)) and found.state == SET_ASIDE, lambda: running.lines)
    assert indexed_files(url) == {root: 1}
