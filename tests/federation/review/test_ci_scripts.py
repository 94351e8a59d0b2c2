"""The scripts for continuous integration, run against real git repositories and a local web server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.repositories import GIT_ENVIRONMENT, git, make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[3]
ACTION = PROJECT / ".github" / "actions" / "review"
HOOK = PROJECT / "docs" / "examples" / "pre-push"
BEFORE = {"shop.py": "def total(items):\n    return sum(items)\n", "use.py": "from shop import total\n\ntotal([1])\n"}
BREAKING = {"shop.py": "def total(items, currency):\n    return sum(items)\n"}
HARMLESS = {"shop.py": "def total(items, currency=''):\n    return sum(items)\n"}
TIMEOUT_SECONDS = 300

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts are for POSIX shells")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment in which `deltos` is the program under test."""
    write_files(tmp_path, {"bin/deltos": f'#!/bin/sh\nexec "{sys.executable}" -P -m deltos "$@"\n'})
    (tmp_path / "bin" / "deltos").chmod(0o755)
    return {
        **os.environ,
        **GIT_ENVIRONMENT,
        "PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]),
        "DELTOS_HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a local bare repository, on a new branch."""
    make_repository(tmp_path / "first", BEFORE)
    git(tmp_path, "clone", "--quiet", "--bare", str(tmp_path / "first"), str(tmp_path / "server.git"))
    git(tmp_path, "clone", "--quiet", str(tmp_path / "server.git"), str(tmp_path / "clone"))
    git(tmp_path / "clone", "checkout", "--quiet", "-b", "work")
    return tmp_path / "clone"


def commit(root: Path, files: dict[str, str]) -> None:
    """Commit files."""
    write_files(root, files)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=change")


def run(command: list[str], root: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command in a repository."""
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
    )


def test_action_writes_markdown_and_sarif_and_fails_on_a_breaking_change(
    tmp_path: Path, clone: Path, environment: dict[str, str]
) -> None:
    commit(clone, BREAKING)
    settings = {
        "GITHUB_BASE_REF": "main",
        "REVIEW_FAIL_ON": "breaking",
        "REVIEW_FOLDER": str(tmp_path / "out"),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    done = run([str(ACTION / "review.sh")], clone, environment | settings)
    assert done.returncode == 1, done.stderr
    assert "use.py:3" in done.stdout
    assert (
        "`use.py:3 top level uses total: missing required argument 'currency'`"
        in (tmp_path / "out/review.md").read_text()
    )
    results = json.loads((tmp_path / "out/review.sarif").read_text())["runs"][0]["results"]
    assert {each["ruleId"] for each in results} == {"breaking-change", "broken-caller"}
    assert (tmp_path / "outputs").read_text().startswith(f"markdown={tmp_path}/out/review.md\n")
    assert (tmp_path / "summary").read_text() == (tmp_path / "out/review.md").read_text()


def test_pre_push_hook_stops_a_breaking_push_only(clone: Path, environment: dict[str, str]) -> None:
    (clone / ".git" / "hooks" / "pre-push").write_bytes(HOOK.read_bytes())
    (clone / ".git" / "hooks" / "pre-push").chmod(0o755)
    push = ["git", "-c", "protocol.file.allow=always", "push", "--quiet", "origin", "work"]
    commit(clone, BREAKING)
    stopped = run(push, clone, environment)
    assert stopped.returncode != 0
    assert "git push --no-verify" in stopped.stderr
    commit(clone, HARMLESS)
    passed = run(push, clone, environment)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert git(clone, "rev-parse", "work") == git(clone.parent / "server.git", "rev-parse", "work")


class _CommentApi(BaseHTTPRequestHandler):
    """The part of the API that the comment script uses."""

    comments: list[dict[str, Any]] = []  # noqa: RUF012 (replaced for each test)

    def do_GET(self) -> None:
        """Return all comments on the first page."""
        self._answer(self.comments if self.path.endswith("&page=1") else [])

    def do_POST(self) -> None:
        """Add a comment."""
        self.comments.append({"id": len(self.comments) + 1, **self._body()})
        self._answer(self.comments[-1])

    def do_PATCH(self) -> None:
        """Replace a comment."""
        comment = next(each for each in self.comments if each["id"] == int(self.path.rpartition("/")[2]))
        comment.update(self._body())
        self._answer(comment)

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return body

    def _answer(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def api() -> Iterator[str]:
    """Address of a local server with the comments of one pull request."""
    _CommentApi.comments = [{"id": 1, "body": "Looks good"}]
    server = ThreadingHTTPServer(("127.0.0.1", 0), _CommentApi)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_comment_of_an_earlier_run_is_replaced(tmp_path: Path, environment: dict[str, str], api: str) -> None:
    settings = {
        "GITHUB_API_URL": api,
        "GITHUB_TOKEN": "t",
        "GITHUB_REPOSITORY": "a/b",
        "PULL_REQUEST": "7",
        "COMMENT_FILE": str(tmp_path / "review.md"),
    }
    for text in ("first", "second"):
        (tmp_path / "review.md").write_text(f"<!-- deltos-review -->\n{text}\n")
        done = run([sys.executable, str(ACTION / "comment.py")], tmp_path, environment | settings)
        assert done.returncode == 0, done.stderr
    assert [each["body"] for each in _CommentApi.comments] == ["Looks good", "<!-- deltos-review -->\nsecond\n"]
