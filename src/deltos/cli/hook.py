"""`deltos hook EVENT`: record an agent's hook event, which is read as JSON from stdin.

It runs during every agent action, so it never fails, never blocks, and imports few modules.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.terminal import escape_json, sanitized_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO, NoReturn, TextIO

    from deltos.domains.memory.core.memory import Memory
    from deltos.hook_settings import HookSettings

_USAGE = """\
usage: deltos hook EVENT

Record an agent's hook event and answer it. Reads the event as JSON from standard input. Agents run this command:
`deltos install` adds it to their configuration. `deltos memory off` disables it for a project."""
# Maximum size of a PreToolUse event, which reports a command before it runs; no search command is longer.
MAX_REQUEST_BYTES = 1_000_000
MAX_MESSAGE_CHARACTERS = 2_000
MAX_WAIT_SECONDS = 2.0  # maximum wait for another writer's lock, because the agent is blocked meanwhile


def run(arguments: Sequence[str]) -> NoReturn:
    """Handle one event and exit without interpreter shutdown, which takes a tenth of the total time."""
    gc.disable()
    with sanitized_output():
        code = main(arguments)
    with suppress(OSError):  # the agent has closed the pipe
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def main(
    arguments: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Handle one event. Return 0 even on errors, because a failing hook would interrupt the agent."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE, file=stdout or sys.stdout)
        return 0
    try:
        answer = _handle(arguments[0] if arguments else "", stdin or sys.stdin.buffer, environ)
        if answer:
            print(escape_json(answer), file=stdout or sys.stdout)
    except Exception as exc:  # noqa: BLE001 - errors are printed on stderr and must not stop the agent
        print(f"deltos hook: {_safe_message(exc)}", file=stderr or sys.stderr)
    return 0


def _safe_message(exc: Exception) -> str:
    """Return an error message with secrets redacted, because agents store the output of hooks."""
    try:
        from deltos.redaction.redact import redact_long

        return redact_long(str(exc), max_characters=MAX_MESSAGE_CHARACTERS)
    except Exception:  # noqa: BLE001 - fall back to the error's type
        return type(exc).__name__


def _handle(event_name: str, stdin: BinaryIO, environ: Mapping[str, str]) -> str:
    # Deferred, so that a failing import is reported like any other error.
    from deltos.hook_settings import HookSettings

    settings = HookSettings.from_environment(environ)
    if not settings.is_enabled:
        return ""
    if event_name == "PreToolUse":
        from deltos.cli.suggest import suggestion

        return suggestion(stdin.read(MAX_REQUEST_BYTES + 1), settings, Path.cwd())
    from deltos.domains.memory.capture.hooks import record_call
    from deltos.domains.memory.capture.journal import Journal
    from deltos.domains.memory.capture.payload import MAX_INPUT_BYTES
    from deltos.workspace.identity import identify

    raw = stdin.read(MAX_INPUT_BYTES + 1)
    with ExitStack() as opened:
        answer = record_call(
            Journal(settings.home),
            lambda: opened.enter_context(_open_memory(settings)),
            event_name,
            raw,
            time.time_ns() // 1_000,
            folder=Path.cwd(),
            identify=lambda root: identify(root, may_start_git=False).project_id,
            settings=settings,
        )
    if event_name == "Stop" and settings.reviews_on_stop and not answer:
        from deltos.cli.stop_review import stop_review

        return stop_review(raw, settings, Path.cwd())
    return answer


@contextmanager
def _open_memory(settings: HookSettings) -> Iterator[Memory]:
    from deltos.domains.memory.core.memory import Memory
    from deltos.open_stores import open_observations

    store = open_observations(
        settings.home, settings.database, busy_timeout_seconds=MAX_WAIT_SECONDS, reads_a_copy=True
    )
    try:
        yield Memory(store)
    finally:
        store.close()
