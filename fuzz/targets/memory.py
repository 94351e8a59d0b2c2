"""Fuzz targets for memory: hook events of every agent, redaction, imports, and recognition of commands and texts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fuzz.target import OpenedTarget, Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory

_RUNS_PER_STORE = 300
_HOOKS = (
    b'"session_id"', b'"cwd"', b'"hook_event_name"', b'"PostToolUse"', b'"tool_name"', b'"Bash"', b'"Edit"', b'"tool_input"', b'"command"', b'"file_path"',
    b'"old_string"', b'"new_string"', b'"tool_response"', b'"stdout"', b'"exit_code"', b'"prompt"', b'"Stop"', b'"SessionEnd"', b'"edits"', b"<private>",
    b"*** Begin Patch\\n*** Update File: a.py\\n", b"Exit code 1\\n", b"git commit -m ", b"&& ", b"npm install ", b"'", b"\\\"", b"$(", b"<<EOF\\n", b"we decided to ",
)  # fmt: skip
_SECRETS = (
    b"password=", b"token: ", b"SECRET_KEY = 'django-insecure-", b"AKIA", b"ghp_", b"sk-", b"-----BEGIN RSA PRIVATE KEY-----\n", b"-----END RSA PRIVATE KEY-----", b"eyJ",
    b"postgres://u:p@h/d", b"Authorization: Bearer ", b"<private>", b"</private>", b"api_key", b"=", b":", b"'", b'"', b"-p ", b"$2b$12$", b"https://", b"@", b"\n", b"xoxb-",
    b"the password is ", b"AIza", b"docker login -p ", b"default = \"", b"aws_secret_access_key", b"//registry.npmjs.org/:_authToken=", b"AGE-SECRET-KEY-1", b"..", b"%40",
)  # fmt: skip
_FOREIGN = (
    b"SQLite format 3\0", b'"results"', b'"memory"', b'"observations"', b'"exportedAt"', b'"type": "entity"', b'"relation"', b"- [", b"] ", b"[[", b"]]",
    b"---\n", b"title: ", b"tags: [", b"#tag", b"(context)", b"```\n", b'"created_at_epoch"', b'"facts"',
)  # fmt: skip


def targets() -> Iterator[Target]:
    """Return one target per agent, then one for each part of memory."""
    for agent in ("claude", "codex", "gemini", "cursor", "windsurf", "copilot", "opencode"):
        yield Target(
            f"hook-{agent}", _with_memory(_hook_runner), (f"hook-{agent}",), (), _HOOKS, is_json=True, is_exposed=True
        )
    yield Target("hook-suggest", without_cleanup(_open_suggest), ("hook-suggest",), (), _HOOKS, is_json=True)
    yield Target("redact", without_cleanup(_open_redact), ("secrets",), (".env", ".md", ".yml"), _SECRETS)
    yield Target(
        "memory-import",
        _with_memory(_import_runner),
        ("memory-import",),
        (),
        (b'"type"', b'"text"', b'"created_at"', b'"session"', b'"project_id"', b'"embedding"'),
        is_json=True,
    )
    yield Target(
        "foreign-memory", _with_memory(_foreign_import_runner), ("foreign-memory",), (".md", ".json"), _FOREIGN
    )
    yield Target(
        "remember",
        _with_memory(_remember_runner),
        ("secrets", "queries"),
        (".md",),
        (*_SECRETS, b"src/a.py:3", b"`f()`", b"A.b", b"/", b".py"),
    )
    yield Target(
        "shell-command",
        without_cleanup(_open_command),
        ("shell",),
        (".sh",),
        (
            b"&&",
            b"||",
            b";",
            b"|",
            b"$(",
            b")",
            b"`",
            b"'",
            b'"',
            b"<<E\n",
            b"git ",
            b"push",
            b"sudo ",
            b"env A=b ",
            b"cd ",
            b"\\\n",
            b"rm -rf",
        ),
    )


def _with_memory(make: Callable[[Memory, Path], Run]) -> Callable[[Path], AbstractContextManager[OpenedTarget]]:
    @contextmanager
    def open_target(scratch: Path) -> Iterator[OpenedTarget]:
        from deltos.domains.memory.core.memory import Memory
        from deltos.store.sqlite.memory.reader import SqliteObservations

        root = scratch / "project"
        (root / ".git").mkdir(parents=True, exist_ok=True)
        (root / "src").mkdir(exist_ok=True)
        (root / "src" / "a.py").write_text("def f():\n    return 1\n")
        runs = 0
        store: SqliteObservations | None = None
        inner: Run

        def run(data: bytes) -> None:
            nonlocal runs, store, inner
            if store is None or runs % _RUNS_PER_STORE == 0:
                if store is not None:
                    store.close()
                store = SqliteObservations(scratch / f"memory-{runs}.db")
                inner = make(Memory(store), root)
            runs += 1
            inner(data)

        yield OpenedTarget(run)
        if store is not None:
            store.close()

    return open_target


def _hook_runner(memory: Memory, root: Path) -> Run:
    from benchmarks.hook_capture import capture

    def run(data: bytes) -> None:
        """Run a hook with the input.

        If the first line names an event, it is passed to the hook as on the command line. The remaining lines are the
        payload.
        """
        name, sample_files, payload = data.partition(b"\n")
        if not sample_files or name[:1] == b"{":
            name, payload = b"", data
        capture(
            memory, name.decode("utf-8", "replace"), payload, folder=root, identify=lambda folder: f"id:{folder.name}"
        )

    return run


def _open_suggest(scratch: Path) -> Run:
    from deltos.cli.suggest import suggestion
    from deltos.hook_settings import HookSettings

    return lambda data: suggestion(data, HookSettings(scratch), scratch)


def _open_redact(_scratch: Path) -> Run:
    from deltos.redaction.redact import redact
    from deltos.redaction.secret_files import is_secret_file

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        redact(text)
        is_secret_file(text[:4_000])

    return run


def _import_runner(memory: Memory, _root: Path) -> Run:
    from deltos.domains.memory.core.transfer import export, import_lines

    def run(data: bytes) -> None:
        import_lines(memory, data.decode("utf-8", "replace").splitlines(), project_id="p")
        for _ in export(memory):
            break

    return run


def _foreign_import_runner(memory: Memory, root: Path) -> Run:
    from deltos.domains.memory.core.transfer import ImportReport
    from deltos.domains.memory.importers.detect import import_path
    from deltos.open_stores import open_foreign_tables

    def run(data: bytes) -> None:
        """Import the data as a file, and as a note in a folder of notes."""
        folder = root / "notes"
        folder.mkdir(exist_ok=True)
        (folder / "note.md").write_bytes(data)
        (root / "kept").write_bytes(data)
        lines = data.decode("utf-8", "replace").splitlines()
        for path in (folder, root / "kept"):
            import_path(
                memory,
                path,
                lines=lines,
                project_id="p",
                overrides_project=False,
                open_tables=open_foreign_tables,
                report=ImportReport(),
            )

    return run


def _remember_runner(memory: Memory, root: Path) -> Run:
    from deltos.domains.memory.core.model import Draft, ObservationOrigin

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        memory.remember(Draft(text, "finding"), ObservationOrigin("p", root, "s"))
        memory.search(text[:500], "p", limit=5)

    return run


def _open_command(_scratch: Path) -> Run:
    from deltos.domains.memory.capture.commands import effect_of
    from deltos.domains.memory.capture.error_text import error_excerpt
    from deltos.domains.memory.search.query import parse_query
    from deltos.text.identifiers import names_in_prose

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        effect_of(text)
        error_excerpt(text)
        parse_query(text)
        names_in_prose(text)

    return run
