"""`deltos hook EVENT`: reads an agent's hook JSON on stdin and keeps what is worth keeping. Never fails,
never blocks, stays light."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.terminal import guarded, harmless_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO, NoReturn, TextIO

    from deltos.domains.memory.memory import Memory
    from deltos.hook_settings import HookSettings

_USAGE = """\
usage: deltos hook EVENT

Keep what an agent's hook event tells, and answer it; reads the event's JSON on standard input. Agents run it:
`deltos install` writes it into their configuration. `deltos memory off` switches it off for a project."""
_LARGEST_REQUEST = 1_000_000  # of a tool that is about to run: more is no search
_LONGEST_MESSAGE = 2_000
_LONGEST_WAIT_SECONDS = 2.0  # for another writer: the agent waits meanwhile


def run(arguments: Sequence[str]) -> NoReturn:
    """Handle one event and end the process at once: taking the interpreter down would take a tenth as long."""
    gc.disable()
    with guarded():
        code = main(arguments)
    with suppress(OSError):  # nobody reads any more
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
    """Handle one event; always 0, because a failing hook would interrupt the agent."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE, file=stdout or sys.stdout)
        return 0
    try:
        answer = _handle(arguments[0] if arguments else "", stdin or sys.stdin.buffer, environ)
        if answer:
            print(harmless_json(answer), file=stdout or sys.stdout)
    except Exception as exc:  # noqa: BLE001 - the surface: whatever is wrong is told on stderr, the agent goes on
        print(f"deltos hook: {_told(exc)}", file=stderr or sys.stderr)
    return 0


def _told(exc: Exception) -> str:
    """What is wrong, without secrets: agents keep what hooks print."""
    try:
        from deltos.domains.memory.redact import redact_long

        return redact_long(str(exc), most=_LONGEST_MESSAGE)
    except Exception:  # noqa: BLE001 - then its kind has to do
        return type(exc).__name__


def _handle(event_name: str, stdin: BinaryIO, environ: Mapping[str, str]) -> str:
    # deferred, so that an import that fails is reported like any other trouble
    from deltos.hook_settings import HookSettings

    settings = HookSettings.from_environment(environ)
    if not settings.speaks:
        return ""
    if event_name == "PreToolUse":
        from deltos.cli.suggest import suggestion

        return suggestion(stdin.read(_LARGEST_REQUEST + 1), settings, Path.cwd())
    from deltos.domains.memory.capture import capture_into
    from deltos.domains.memory.payload import LARGEST_INPUT
    from deltos.workspace.identity import identify

    raw = stdin.read(LARGEST_INPUT + 1)
    with ExitStack() as opened:
        return capture_into(
            lambda reads_only: opened.enter_context(_memory(settings, reads_only=reads_only)),
            event_name,
            raw,
            folder=Path.cwd(),
            identify=lambda root: identify(root, may_start_git=False).project_id,
            settings=settings,
        )


@contextmanager
def _memory(settings: HookSettings, *, reads_only: bool) -> Iterator[Memory]:
    from deltos.domains.memory.memory import Memory
    from deltos.open_stores import open_observations

    store = open_observations(
        settings.home, settings.database, busy_timeout_seconds=_LONGEST_WAIT_SECONDS, reads_a_copy=reads_only
    )
    try:
        yield Memory(store)
    finally:
        store.close()
