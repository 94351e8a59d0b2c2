"""`deltos docs` with real files, a real server and real processes."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from deltos.cli import docs as docs_cli
from deltos.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Site


@pytest.fixture
def manual(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two pages in the current project."""
    folder = project / "manual"
    folder.mkdir()
    (folder / "install.md").write_text("# Install\n\nUse pip to install the quokka.\n")
    (folder / "use.md").write_text("# Use\n\nCall the quokka with a timeout.\n")
    monkeypatch.chdir(project)
    return folder


def run_docs(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["docs", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_docs_json(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    _, out, _ = run_docs(capsys, *words, "--json")
    return [json.loads(line) for line in out.splitlines()]


def test_several_versions_of_a_source_are_added_searched_and_removed(
    manual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, read, _ = run_docs(capsys, "add", "manual/use.md", "--name", "m", "--version", "1", "--wait")
    assert code == 0
    assert "m (manual/use.md): READY" in read
    run_docs(capsys, "add", "manual/install.md", "--name", "m", "--version", "2", "--wait")
    assert [row["version"] for row in run_docs_json(capsys, "status", "m")] == ["2", "1"]
    assert [row["version"] for row in run_docs_json(capsys, "recrawl", "m", "--version", "latest", "--wait")] == ["2"]
    assert run_docs(capsys, "search", "quokka timeout", "--source", "m")[1].startswith(
        "Searched m in versions 2, 1; use --version 2 or latest for one.\n"
    )
    assert {row["version"] for row in run_docs_json(capsys, "search", "timeout", "--source", "m@1")} == {"1"}
    assert run_docs(capsys, "remove", "m")[0] != 0
    assert run_docs(capsys, "remove", "m", "--version", "1")[1].endswith("Remaining versions: m 2.\n")


def test_a_folder_is_added_searched_listed_and_removed(manual: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (added,) = run_docs_json(capsys, "add", "manual", "--name", "m", "--wait")
    assert (added["status"], added["pages"], added["failed"], added["kind"]) == ("READY", 2, [], "folder")
    found = run_docs_json(capsys, "search", "install quokka")
    assert found[0]["url"].endswith("manual/install.md")
    assert found[0]["anchors"] == ["install"]
    assert set(found[0]) == {"url", "anchors", "section", "source", "version", "tokens", "score", "text"}
    assert "m (" in run_docs(capsys, "list")[1]
    assert [source["name"] for source in run_docs_json(capsys, "list")] == ["m"]
    assert run_docs(capsys, "search", "timeout")[1].startswith("## [1] Source: manual/use.md#use\nSection: Use\n")
    assert run_docs_json(capsys, "remove", "m") == [{"removed": "m", "version": "", "pages": 2, "chunks": 2}]
    assert "No documentation sources" in run_docs(capsys, "list")[1]


def test_queries_can_be_sent_in_batches(
    manual: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_docs(capsys, "add", "manual", "--name", "m", "--wait")
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"id": "a", "query": "timeout"}\n{"id": "b", "query": "zzzz"}\n'))
    first, second = run_docs_json(capsys, "search", "--batch", "-")
    assert (first["id"], first["results"][0]["section"]) == ("a", "Use")
    assert second == {"id": "b", "results": []}


def test_a_search_without_results_and_one_without_a_query_have_different_exit_codes(
    manual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_docs(capsys, "search", "zzzz")
    assert (code, out.startswith("No results found for query: zzzz")) == (1, True)
    assert run_docs(capsys, "search")[0] == 2
    assert "No documentation sources" in run_docs(capsys, "status")[1]


def test_refused_addresses_are_reported_with_the_reason(
    manual: Path, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.html("/", "<h1>x</h1>")
    code, _, err = run_docs(capsys, "add", site.url, "--name", "w", "--wait")
    assert (code, "--allow-private-hosts" in err) == (1, True)
    assert run_docs(capsys, "add", "file:///etc/passwd")[0] == 2
    assert run_docs(capsys, "status", "nothing")[0] == 1


def test_a_website_that_fails_gives_a_failing_exit_code(
    site: Site, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_docs(capsys, "add", site.url, "--name", "w", "--wait", "--allow-private-hosts", "127.0.0.1")
    assert (code, "FAILED" in out) == (1, True)


def test_a_source_can_be_crawled_again_and_its_status_is_shown(
    manual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_docs(capsys, "add", "manual", "--name", "m", "--wait")
    (manual / "use.md").write_text("# Use\n\nNew wombat text.\n")
    assert "1 done, 0 queued, 1 unchanged" in run_docs(capsys, "recrawl", "m", "--wait")[1]
    (full,) = run_docs_json(capsys, "recrawl", "m", "--full", "--wait")
    assert full["done"] == 2
    assert "READY" in run_docs(capsys, "status")[1]
    assert run_docs(capsys, "cancel", "m")[:2] == (1, "No crawl of this source is running.\n")


def test_a_crawl_continues_after_the_command_that_started_it_has_ended(
    manual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_docs(capsys, "add", "manual", "--name", "m")
    assert (code, "The crawl runs in the background; `deltos docs status` shows its progress." in out) == (0, True)
    (followed,) = run_docs_json(capsys, "status", "m", "--follow")
    assert (followed["status"], followed["pages"]) == ("READY", 2)


def test_a_crawl_whose_process_ended_is_resumed_by_crawl_and_only_shown_by_status(
    manual: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs_cli, "_crawl_detached", lambda *_, **__: None)
    monkeypatch.setattr(docs_cli, "_START_TIMEOUT_SECONDS", 0.0)
    run_docs(capsys, "add", "manual", "--name", "m")
    assert run_docs_json(capsys, "status", "m")[0]["status"] == "WAITING"
    code, out, err = run_docs(capsys, "status", "m", "--follow")
    assert (code, "WAITING" in out, "`deltos docs crawl m` resumes it" in err) == (1, True, True)
    assert run_docs_json(capsys, "crawl", "m")[0]["status"] == "READY"
    assert run_docs_json(capsys, "crawl", "m")[0]["pages"] == 2, "the finished crawl was not reported"
    run_docs(capsys, "recrawl", "m", "--full")
    assert run_docs_json(capsys, "cancel", "m") == [{"cancelled": True}]


def test_follow_waits_for_a_crawl_in_another_process(
    manual: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_docs(capsys, "add", "manual", "--name", "m", "--wait")
    holder = (
        "import sys\nfrom pathlib import Path\nfrom deltos.store.sqlite.lock import try_lock\n"
        "with try_lock(Path(sys.argv[1])) as held:\n    print(held, flush=True)\n    sys.stdin.read()\n"
    )
    source_id = run_docs_json(capsys, "list")[0]["id"]
    lock = home / "locks" / f"docs-{source_id}.lock"
    other = subprocess.Popen(
        [sys.executable, "-c", holder, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "True\n"
    waits: list[float] = []

    def release(seconds: float) -> None:
        if seconds == docs_cli._POLL_SECONDS:  # waiting for child processes uses shorter intervals
            waits.append(seconds)
            other.communicate("")

    monkeypatch.setattr("time.sleep", release)
    (status,) = run_docs_json(capsys, "recrawl", "m", "--full", "--wait")
    assert (status["status"], len(waits)) == ("READY", 1)


def test_waiting_ends_with_the_crawl_and_reports_progress_without_a_terminal(
    project: Path, site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs_cli, "_LOG_SECONDS", -1.0)
    pages = [f"<a href='/{number}.html'>{number}</a>" for number in range(40)]
    site.html("/", f"<h1>Start</h1><p>Text.</p>{' '.join(pages)}")
    for number in range(40):
        site.html(f"/{number}.html", f"<h1>Page {number}</h1><p>Text number {number}.</p>")
    code, out, err = run_docs(capsys, "add", site.url, "--name", "w", "--wait", "--allow-private-hosts", "127.0.0.1")
    assert (code, "pages: 41 done, 0 queued" in out) == (0, True)
    assert re.search(r"w: \d+ pages done, \d+ queued, 0 failed, [\d.]+/s \| about 0 min \d+ s left", err)


def test_progress_is_drawn_only_on_a_terminal(
    manual: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs_cli, "_POLL_SECONDS", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, _, err = run_docs(capsys, "add", "manual", "--name", "m", "--wait")
    assert "pages done" in err


def test_an_api_description_is_added_to_the_apis(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    spec = {
        "openapi": "3.0.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/refunds": {"post": {"summary": "Create a refund"}}},
    }
    (project / "shop.json").write_text(json.dumps(spec))
    assert "shop" in run_docs(capsys, "add", "shop.json", "--name", "shop", "--wait")[1]
    assert "API description, 1 operation" in run_docs(capsys, "list")[1]
    assert "POST /refunds" in run_docs(capsys, "search", "create a refund")[1]


def test_skipped_files_are_reported_and_a_folder_of_only_descriptions_is_ready(
    manual: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (manual / "release.asc").write_text("-----BEGIN PGP SIGNATURE-----\n")
    (status,) = run_docs_json(capsys, "add", "manual", "--name", "m", "--wait")
    assert status["skipped_because"] == [
        {"reason": "a PGP signature", "count": 1, "first": (manual / "release.asc").as_posix()}
    ]
    assert "- manual/release.asc: a PGP signature" in run_docs(capsys, "status", "m")[1]
    (manual.parent / "apis").mkdir()
    (manual.parent / "apis" / "shop.yaml").write_text(
        "openapi: 3.0.0\ninfo: {title: Shop, version: '1'}\npaths: {/refunds: {get: {summary: List refunds}}}\n"
    )
    (status,) = run_docs_json(capsys, "add", "apis", "--wait")
    assert (status["status"], status["reason"]) == ("READY", "no pages; it contains the APIs shop")


def test_listed_apis_support_status_recrawl_and_remove(manual: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "openapi: 3.0.0\ninfo: {title: Shop, version: '1'}\npaths: {/refunds: {get: {summary: List refunds}}}\n"
    (manual.parent / "shop.yaml").write_text(spec)
    run_docs(capsys, "add", "shop.yaml", "--name", "shop")
    assert "- shop (" in run_docs(capsys, "list")[1]
    assert "API description" in run_docs(capsys, "status", "shop")[1]
    assert "API description updated" in run_docs(capsys, "recrawl", "shop")[1]
    assert run_docs_json(capsys, "remove", "Shop") == [{"removed": "shop"}]
    assert "shop" not in run_docs(capsys, "list")[1]


def test_missing_dependencies_are_named(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (project / "requirements.txt").write_text("missing-package\n")
    assert "pypi:missing-package" in run_docs_json(capsys, "add", "deps:", "--wait")[0]["error"]
