"""Entry point of `deltos mcp`: answers a client before the MCP SDK is imported."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from deltos.config import TOOLSETS, Config, parse_log_format
from deltos.errors import BadArgument, DeltosError
from deltos.files import given_path
from deltos.server.deadline import EXIT_TIMEOUT_SECONDS, exit_now, exit_within, start_watchdog
from deltos.server.handshake import Handshake
from deltos.server.line_queue import LineQueue
from deltos.server.manifest import MANIFEST_PATH, Manifest
from deltos.server.pipes import claim_stdio
from deltos.server.toolbox import open_toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deltos.tool import Toolbox

USAGE = f"""\
usage: deltos mcp [PATH] [--toolsets LIST] [--profile NAME] [--http [HOST:PORT]]

Serve a project to an MCP client over stdin and stdout. The project is the client's root, PATH or the current folder,
in this order of preference.

  --toolsets LIST   comma-separated toolsets to serve; default: {",".join(TOOLSETS)}
  --profile NAME    full: list all tools of the toolsets; lean: list only the six search and memory tools
  --http [ADDRESS]  serve over HTTP instead; see `deltos mcp --http --help`
  -h, --help        show this help

To connect a client, configure the command `deltos` with the argument `mcp`, or run `deltos install`.
"""

_TERMINAL_NOTICE = """\
deltos mcp is waiting for JSON-RPC messages from an MCP client on standard input. Agents and editors start it.
Run `deltos install` to connect them. Press Ctrl-D or Ctrl-C to exit.
"""


class Options(NamedTuple):
    """Parsed command line of `deltos mcp`."""

    path: str = ""
    toolsets: str = ""
    profile: str = ""
    help: bool = False


def main(
    argv: Sequence[str],
    open_toolbox: Callable[[Config], Toolbox] = open_toolbox,
    manifest_path: Path = MANIFEST_PATH,
) -> int:
    """Serve until the client disconnects, and return the exit code."""
    if any(word.partition("=")[0] == "--http" for word in argv):
        return _serve_http(argv, open_toolbox, manifest_path)
    try:
        options = parse_options(argv)
        config = Config.from_environment(toolsets=options.toolsets, profile=options.profile)
        start = _start_folder(options.path)
    except (DeltosError, OSError) as error:
        sys.stderr.write(f"deltos mcp: {error}\n")
        return 2
    if options.help:
        sys.stdout.write(USAGE)
        return 0
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(_TERMINAL_NOTICE)
    manifest = Manifest.load(config.toolsets, manifest_path, lean=config.profile == "lean")
    return serve(manifest, start, config, open_toolbox)


def parse_options(argv: Sequence[str]) -> Options:
    """Parse the command line without argparse, because importing it takes a tenth of the start-up time."""
    options = Options()
    words = iter(argv)
    for word in words:
        name, has_value, value = word.partition("=")
        if word in ("-h", "--help"):
            options = options._replace(help=True)
        elif name == "--toolsets":
            options = options._replace(toolsets=value if has_value else _next_value(words, name))
        elif name == "--profile":
            options = options._replace(profile=value if has_value else _next_value(words, name))
        elif word.startswith("-") or options.path:
            raise BadArgument(f"unexpected argument: {word}", hint="See `deltos mcp --help`.")
        else:
            options = options._replace(path=word)
    return options


def serve(manifest: Manifest, start: Path, config: Config, open_toolbox: Callable[[Config], Toolbox]) -> NoReturn:
    """Answer the handshake, import the SDK, serve the connection with it, and end the process."""
    start_watchdog(EXIT_TIMEOUT_SECONDS)
    try:
        pipes = claim_stdio()
    except OSError as error:
        sys.stderr.write(f"deltos mcp: stdin and stdout must be open: {error}\n")
        exit_now(2)
    line_queue = LineQueue(pipes, Handshake(manifest), on_idle_end=lambda: exit_now(0))
    _stop_on_signals(line_queue)
    threading.Thread(target=line_queue.read_all, name="deltos-reader", daemon=True).start()
    try:
        line_queue.busy.wait()
        from deltos.server.stdio import run  # imported here, because importing the SDK takes a second

        run(manifest, start, config, open_toolbox, line_queue, pipes)
    except Exception:  # noqa: BLE001 - top level: no caller could report the error
        traceback.print_exc()
        exit_now(1)
    exit_now(0)


def _serve_http(argv: Sequence[str], open_toolbox: Callable[[Config], Toolbox], manifest_path: Path) -> int:
    from deltos.server.http.event_log import open_event_log
    from deltos.server.http.options import SHUTDOWN_SECONDS_AFTER_GRACE, parse_options  # slow import

    try:
        options = parse_options(argv)
        log = open_event_log(parse_log_format(options.log_format or os.environ.get("DELTOS_LOG", "")))
    except DeltosError as error:
        sys.stderr.write(f"deltos mcp: {error}\n")
        return 2
    start_watchdog(options.limits.grace_seconds + SHUTDOWN_SECONDS_AFTER_GRACE)
    from deltos.server.http.listen import serve  # imported here, because it imports the SDK

    return exit_now(serve(options, open_toolbox, manifest_path, log=log))


def _next_value(words: Iterator[str], name: str) -> str:
    for value in words:
        return value
    raise BadArgument(f"{name} needs a value", hint="See `deltos mcp --help`.")


def _start_folder(path: str) -> Path:
    folder = (given_path(path) if path else Path()).absolute()
    if not folder.is_dir():
        raise BadArgument(f"not a folder: {path}", hint="Give the root of a project.")
    return folder


def _stop_on_signals(line_queue: LineQueue) -> None:
    is_stopping = False

    # The handler may interrupt code that holds the lock of `line_queue`, so a new thread ends the queue.
    def stop(*_: object) -> None:
        nonlocal is_stopping
        if not is_stopping:
            exit_within(EXIT_TIMEOUT_SECONDS)
        is_stopping = True
        threading.Thread(target=line_queue.end, daemon=True).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
