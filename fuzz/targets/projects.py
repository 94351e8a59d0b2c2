"""Fuzz targets for files on disk: ignore files, files in the .git folder, output of git, file names, and file types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.target import Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_IGNORES = (
    b"*",
    b"**",
    b"**/",
    b"/",
    b"!",
    b"#",
    b"\\",
    b"[a-z]",
    b"[!",
    b"[[:alpha:]]",
    b"?",
    b"\n",
    b" ",
    b"a/**/b",
    b"*.py",
    b"!/src/",
    b"[",
    b"]",
    b"{a,b}",
    b"\r\n",
    b"*a",
)
_CONFIG = (
    b'[remote "origin"]\n',
    b"\turl = git@github.com:a/b.git\n",
    b"[include]\n\tpath = x\n",
    b"[core]\n",
    b"\\\n",
    b'"',
    b"[",
    b"]",
    b"url=",
    b"https://u:p@h:1/x",
)
_LOG = (
    b"\0marker\0" + b"a" * 40 + b"\0\0001600000000\0Ada\0Fix it\0Why\0",
    b"\nM\0src/a.py\0",
    b"R100\0src/a.py\0src/b.py\0",
    b"\0marker\0",
    b"\0",
    b"\n",
    b"\xff\xfe",
    b"D\0",
)
_TREE = (
    b"100644 blob " + b"a" * 40 + b"       3\tdocs/a.md\0",
    b"120000 blob " + b"b" * 40 + b"       3\tlink\0",
    b"160000 commit " + b"c" * 40 + b"       -\tsub\0",
    b"\t",
    b"../",
    b"/",
    b"\xff",
    b"99999999999999999999",
)


def targets() -> Iterator[Target]:
    """Return one target per kind of file."""
    yield Target("gitignore", without_cleanup(_walk_target(".gitignore")), ("ignore",), (".gitignore",), _IGNORES)
    yield Target(
        "deltosignore", without_cleanup(_walk_target("src/.deltosignore")), ("ignore",), (".gitignore",), _IGNORES
    )
    yield Target("git-config", without_cleanup(_open_identity), ("git-config",), (), _CONFIG)
    yield Target(
        "git-index",
        without_cleanup(_git_file("index")),
        ("git-index",),
        (),
        (b"DIRC", b"TREE", b"link", b"sdir", b"src/a.py"),
    )
    yield Target("git-exclude", without_cleanup(_git_file("info/exclude")), ("ignore",), (".gitignore",), _IGNORES)
    yield Target(
        "git-refs",
        without_cleanup(_git_file("packed-refs", "HEAD", "refs/heads/main")),
        ("git-refs",),
        (),
        (b"refs/heads/", b"ref: ", b"^", b"\n", b"/", b"..", b"@{", b" "),
    )
    yield Target("git-log", without_cleanup(_open_log), ("git-log",), (".diff", ".patch"), _LOG)
    yield Target("git-tree", without_cleanup(_open_tree), ("git-tree",), (), _TREE, contract=(ValueError,))
    yield Target("glob", without_cleanup(_open_glob), ("ignore",), (), _IGNORES, max_bytes=20_000)
    yield Target(
        "git-remote",
        without_cleanup(_open_remote),
        ("url",),
        (),
        (b"git@", b":", b"ssh://", b"/", b".git", b"//", b"@", b"[::1]", b" "),
        max_bytes=20_000,
    )
    yield Target(
        "file-name",
        without_cleanup(_open_admission),
        ("file-name",),
        (),
        (
            b"#!/usr/bin/env ",
            b"python",
            b"-*- mode: c -*-",
            b".",
            b"/",
            b"dist/",
            b".min.js",
            b"@generated",
            b"DO NOT EDIT",
            b"// ",
            b"\n",
            b"Code generated ",
            b"\xff\xfe",
            b"Makefile",
        ),
    )


def _walk_target(name: str) -> Callable[[Path], Run]:
    def make(scratch: Path) -> Run:
        from deltos.workspace.walk import walk

        root = scratch / "project"
        for path in ("src/a.py", "src/deep/b.js", "docs/guide.md", "a b/c.txt", "build/out.o", ".hidden/x.py"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("x = 1\n")

        def run(data: bytes) -> None:
            (root / name).write_bytes(data)
            walk(root)

        return run

    return make


def _open_identity(scratch: Path) -> Run:
    from deltos.workspace.identity import identify

    root = scratch / "project"
    for folder in ("logs", "objects", "refs"):
        (root / ".git" / folder).mkdir(parents=True, exist_ok=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    linked = scratch / "linked"
    linked.mkdir(exist_ok=True)

    def run(data: bytes) -> None:
        (root / ".git" / "config").write_bytes(data)
        (root / ".git" / "logs" / "HEAD").write_bytes(data)
        identify(root, may_start_git=False)
        (linked / ".git").write_bytes(data)
        identify(linked, may_start_git=False)

    return run


def _git_file(*names: str) -> Callable[[Path], Run]:
    """Return a target for files in the .git folder, as they are read to list a project and to query git."""

    def make(scratch: Path) -> Run:
        from deltos.workspace.git import open_git
        from deltos.workspace.repository import open_repository
        from deltos.workspace.walk import walk

        root = scratch / "project"
        for path in ("src/a.py", "src/deep/b.js", "docs/guide.md", ".git/HEAD"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("ref: refs/heads/main\n")
        for folder in ("objects", "refs/heads", "info"):
            (root / ".git" / folder).mkdir(parents=True, exist_ok=True)

        def run(data: bytes) -> None:
            for name in names:
                (root / ".git" / name).write_bytes(data)
            walk(root)
            repository = open_repository(root)
            if repository is not None and "index" not in names:
                with open_git(repository):
                    pass

        return run

    return make


def _open_log(_scratch: Path) -> Run:
    from deltos.domains.history.index import parse_log_chunk

    return lambda data: parse_log_chunk(b"marker", frozenset(), "src/", True, data)


def _open_tree(_scratch: Path) -> Run:
    from deltos.clones.commit_files import parse_listing

    return parse_listing


def _open_glob(_scratch: Path) -> Run:
    from deltos.globs import matches_glob

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for glob in text.split("\n")[:20]:
            matches_glob(text[:4_000], glob[:500])

    return run


def _open_remote(_scratch: Path) -> Run:
    from deltos.workspace.identity import normalise_remote

    return lambda data: normalise_remote(data.decode("utf-8", "replace"))


def _open_admission(_scratch: Path) -> Run:
    from deltos.languages.table import detect
    from deltos.workspace.admission import refuse_by_content, refuse_by_name, to_utf8

    def run(data: bytes) -> None:
        path, _, head = data.partition(b"\n")
        name = path.decode("utf-8", "replace") or "x"
        refuse_by_name(name, len(head))
        refuse_by_content(head, detect(name, head[:8_192]))
        to_utf8(head)

    return run
