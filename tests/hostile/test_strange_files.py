"""Pipes, devices, sockets and links in place of files never block a call and reveal nothing from outside."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from fuzz.inline_parser import InlineParser

from deltos.app import App
from deltos.config import Config
from deltos.domains.apis.source import find_documents
from deltos.domains.memory.core.anchors import anchor, files_in
from deltos.errors import SourceError
from deltos.model import Clean
from deltos.server.access import Level, Tokens
from deltos.store.sqlite.tokens import SqliteTokens
from deltos.workspace.identity import identify
from deltos.workspace.walk import walk
from tests.calling import ToolClient
from tests.repositories import git, make_repository, write_files
from tests.server.over_http.served import Served, rpc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

CODE = {
    "app/shop.py": "def total(items):\n    return sum(items)\n",
    "use.py": "from app.shop import total\n\nprint(total([1]))\n",
}
QUERY = "xyzzy"
SECRET = f"{QUERY}_plover"
OUTSIDE = {
    "shop.py": f"def total(items):\n    return {SECRET}\n",
    f"{SECRET}.py": f"def {SECRET}(): ...\n",
    "doc.md": f"# {SECRET}\n",
}
FILE_NAMES = (
    ".gitignore .deltosignore README.md package.json pyproject.toml requirements.txt tsconfig.json go.mod api.yaml"
)


def start_server(tmp_path: Path, root: Path) -> tuple[Served, dict[str, str], dict[str, str]]:
    """A real server and two sessions with different tokens."""
    store = SqliteTokens(tmp_path / "home")
    tokens = [Tokens(store, time.time).create(name, Level.WRITE, [str(root)], 3_600)[1] for name in ("one", "other")]
    store.close()
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(root), "--http", "127.0.0.1:0", "--require-token"]
    server = Served(command, tmp_path / "home")
    one, other = (server.open_session({"Authorization": f"Bearer {token}"}) for token in tokens)
    return server, one, other


def plant_pipes(root: Path) -> None:
    """Create a pipe for every file name that Deltos reads, at the top and in a folder."""
    for name in FILE_NAMES.split():
        for path in (root / name, root / "app" / name, root / "docs" / name):
            path.parent.mkdir(exist_ok=True)
            os.mkfifo(path)


@pytest.mark.parametrize("is_repository", [True, False])
def test_no_call_waits_for_a_pipe(tmp_path: Path, is_repository: bool) -> None:
    make = make_repository if is_repository else write_files
    root = make(tmp_path / "root", CODE)
    plant_pipes(root)
    if is_repository:
        for name in (
            "config",
            "HEAD",
            "index",
            "info/exclude",
            "packed-refs",
            "logs/HEAD",
            "refs/heads/main",
            "shallow",
        ):
            (root / ".git" / name).unlink(missing_ok=True)
            os.mkfifo(root / ".git" / name)
    server, one, other = start_server(tmp_path, root)
    answers: list[str] = []

    def call_all_tools() -> None:
        answers.append(server.text("index_repository", one, repo_path=str(root)))
        answers.append(server.text("search_code", one, query="total items"))
        answers.append(server.text("search_code", one, query='"sum(items)"'))
        urls = (".", "docs", "docs/README.md", "deps:", "api.yaml")
        answers.extend(server.text("add_source", one, url=url, name=url) for url in urls)
        answers.append(server.text("get_impact", one, changes="working"))

    asking = threading.Thread(target=call_all_tools)
    asking.start()
    try:
        while asking.is_alive():
            assert server.post(rpc("ping"), other).status == 200
            assert server.request(path="/healthz").status == 200
            asking.join(0.2)
        assert server.stop() == 0
    finally:
        server.shut_down()
    assert len(answers) == 9, answers
    assert "app/shop.py" in answers[1]
    assert "app/shop.py" in answers[2]


@pytest.mark.parametrize("name", ["", "HEAD", "config", "index", "objects", "refs", "commondir", "logs/HEAD"])
def test_a_pipe_anywhere_in_a_git_folder_blocks_no_call(tmp_path: Path, name: str) -> None:
    root = make_repository(tmp_path, {**CODE, ".gitignore": "*.log\n"})
    write_files(root, {"a.log": "x"})
    place = root / ".git" / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    found = walk(root)
    assert set(found.files) == {*CODE, ".gitignore"}
    assert identify(root).root == root


def test_an_unreadable_ignore_file_is_reported(tmp_path: Path, workers: ProcessPool) -> None:
    root = make_repository(tmp_path / "root", CODE)
    os.mkfifo(root / ".gitignore")
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        notes = app.domains.projects.index_of(root).index().notes
        assert notes == ("Note: .gitignore was not read: not a regular file.",)
        assert app.domains.projects.index_of(root).freshen().notes == notes
        (root / ".gitignore").unlink()
        assert app.domains.projects.index_of(root).freshen().notes == ()


def test_an_unreadable_git_index_is_reported(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {**CODE, "kept.log": "x"})
    write_files(root, {".gitignore": "*.log\n", ".git/index": "damaged"})
    found = walk(root)
    assert set(found.files) == {*CODE, ".gitignore"}
    assert found.notes == [
        "Note: git's index cannot be read (damaged); tracked files that match .gitignore are missing."
    ]


def test_a_folder_that_takes_too_long_to_list_is_reported(tmp_path: Path) -> None:
    root = write_files(tmp_path, CODE)
    found = walk(root, max_seconds=-1)
    assert found.files == {}
    assert found.notes == ["Note: listing the files timed out; some folders are missing."]


@pytest.fixture
def project_with_replaced_folder(tmp_path: Path, workers: ProcessPool) -> Iterator[tuple[ToolClient, Path]]:
    """An indexed project in which a tracked folder was later replaced by a link to an outside folder."""
    root = make_repository(tmp_path / "root", CODE)
    write_files(tmp_path / "outside", OUTSIDE)
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        client = ToolClient(app.tools(), root)
        assert "sum(items)" in client.call("search_code", query="total items").text
        stamps = {path: path.stat() for path in (root, root / "app", root / "app" / "shop.py")}
        shutil.rmtree(root / "app")
        (root / "app").symlink_to(tmp_path / "outside")
        # Restore the time stamps: files that look unchanged are not checked again.
        for path, status in stamps.items():
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        yield client, root


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_code", {"query": "total items"}),
        ("search_code", {"query": f'"{QUERY}"'}),
        ("search_code", {"query": "/xyzzy.*/"}),
        ("search_code", {"query": "total", "directory": "app"}),
        ("search", {"query": f"total {QUERY}"}),
        ("fetch", {"id": "code:app/shop.py#total"}),
        ("get_context", {"symbol": "total"}),
        ("index_repository", {"force_reindex": True}),
        ("add_source", {"url": "app", "name": "docs"}),
        ("add_source", {"url": "app/doc.md", "name": "docs"}),
    ],
)
def test_a_tracked_folder_that_has_become_a_link_shows_nothing_from_outside(
    project_with_replaced_folder: tuple[ToolClient, Path], tool: str, arguments: dict[str, Any]
) -> None:
    client, root = project_with_replaced_folder
    try:
        shown = str(client.call(tool, **arguments))
    except Exception as exc:  # noqa: BLE001 - refusing is as good
        shown = f"{type(exc).__name__}: {exc}"
    assert SECRET not in shown
    assert SECRET not in str(walk(root))


def test_links_in_a_documentation_folder_are_skipped_and_counted(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "root", {"docs/a.md": "# A\n\nalpha\n"})
    write_files(tmp_path / "outside", OUTSIDE)
    (root / "docs" / "link.md").symlink_to(tmp_path / "outside" / "doc.md")
    (root / "docs" / "inside.md").symlink_to("a.md")
    (root / "docs" / "folder").symlink_to(tmp_path / "outside")
    (root / "docs" / "zero.md").symlink_to("/dev/zero")
    os.mkfifo(root / "docs" / "pipe.md")
    with (
        closing(socket.socket(socket.AF_UNIX)) as listening,
        closing(App(Config(tmp_path / "home"), workers=workers)) as app,
    ):
        folder = os.open(root / "docs", os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{folder}/socket.md")
        os.close(folder)
        client = ToolClient(app.tools(), root)
        client.call("add_source", url="docs", name="docs")
        app.domains.docs.library.crawls.wait(app.domains.docs.library.find("docs").id)
        status = app.domains.docs.library.status("docs")
        assert (status.state, status.pages, status.pages_skipped) == ("READY", 1, 6)
        shutil.rmtree(root / "docs")
        (root / "docs").symlink_to(tmp_path / "outside")
        source = app.domains.docs.library.recrawl("docs", full=True)
        app.domains.docs.library.crawls.run(app.domains.docs.library.find("docs").id)
        assert "links are not followed" in str(app.domains.docs.library.status("docs"))
        assert SECRET not in client.call("search_docs", query=QUERY).text
        assert source is not None


def test_references_of_an_api_resolve_only_to_regular_files_of_its_folder(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"s.yaml": f"A: {{description: {SECRET}}}\n"})
    root = write_files(tmp_path / "api", {"openapi.yaml": "openapi: 3.0.0\n", "schemas/own.yaml": "A: {}\n"})
    (root / "linked.yaml").symlink_to(outside / "s.yaml")
    (root / "folder").symlink_to(outside)
    os.mkfifo(root / "pipe.yaml")
    (document,) = find_documents(str(root / "openapi.yaml"), network=None, parser=InlineParser())
    assert document.read
    assert document.read("schemas/own.yaml") == b"A: {}\n"
    for reference in (
        "linked.yaml",
        "folder/s.yaml",
        "pipe.yaml",
        "../outside/s.yaml",
        "/etc/passwd",
        "schemas/../../outside/s.yaml",
    ):
        with pytest.raises(SourceError):
            document.read(reference)
    (tmp_path / "link").symlink_to(root)
    assert [found.name for found in find_documents(str(tmp_path / "link"), network=None, parser=InlineParser())] == [
        "openapi.yaml"
    ]


def test_memories_are_anchored_only_to_regular_files_of_the_project(tmp_path: Path) -> None:
    root = write_files(tmp_path / "root", {"a.py": "x = 1\n", "deep/b.py": "y = 1\n"})
    write_files(tmp_path / "outside", OUTSIDE)
    (root / "link.py").symlink_to(tmp_path / "outside" / "shop.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe.py")
    names = [
        "a.py",
        "deep/../a.py",
        "deep/b.py",
        "link.py",
        "folder/shop.py",
        "pipe.py",
        "../outside/shop.py",
        str(root / "a.py"),
    ]
    assert files_in(Clean(" and ".join(names)), root) == ["a.py", "deep/../a.py", "deep/b.py"]
    assert [each.path for each in anchor([Clean(name) for name in names], (), root)] == [
        "a.py",
        "deep/../a.py",
        "deep/b.py",
        str(root / "a.py"),
    ]


def test_a_root_given_by_the_user_may_be_a_link(tmp_path: Path, workers: ProcessPool) -> None:
    make_repository(tmp_path / "real", CODE)
    (tmp_path / "link").symlink_to("real")
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        index = app.domains.projects.index_of(tmp_path / "link")
        assert index.project.root == tmp_path / "real"
        assert index.index().files_written == 2
    assert git(tmp_path / "real", "status", "--porcelain") == ""
