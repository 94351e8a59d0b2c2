"""`deltos`: the command. Dispatches what must start fast first, parses the rest, and turns errors into exit codes."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # not from typing: a Ctrl-C while that is imported would be a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.cli.command import CommandParser
    from deltos.errors import DeltosError

FAILED, MISUSED = 1, 2

# In which module each command is: only that one is imported.
_COMMANDS = {
    "index": "index",
    "search": "search",
    "fetch": "search",
    "code": "code",
    "graph": "graph",
    "docs": "docs",
    "api": "api",
    "memory": "memory",
    "ui": "ui",
    "workspace": "workspace",
    "status": "status",
    "forget-project": "forget_project",
    "gc": "forget_project",
    "doctor": "doctor",
    "install": "install",
    "uninstall": "install",
    "token": "token",
    "db": "db",
    "worker": "worker",
    "jobs": "worker",
    "toolsets": "toolsets",
    "completion": "completion",
}

# What may index: interrupted, the others have nothing to say of an index.
_INDEXING = frozenset({"index", "search", "fetch", "code", "graph"})

_EPILOG = """\
start here:
  deltos index                     index the current repository
  deltos search "rate limit"       search code, documentation, APIs and memory at once
  deltos code search "rate limit"  find code by meaning, name, "literal" or /regex/
  deltos install                   connect the agents and editors of this machine
  deltos mcp                       serve all of it to a coding agent over MCP

`deltos help COMMAND` tells more. Every command takes --json. Exit codes: 0 done, 1 failed or nothing found, 2 misused.
Data lives in your platform's data folder; DELTOS_HOME moves it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code: 0 done, 1 failed or nothing found, 2 misused."""
    if argv is None and sys.argv[1:2] == ["hook"]:
        from deltos.cli.hook import run

        run(sys.argv[2:])
    # Before numpy is imported: what is compared here is small, and what is read in the background has one core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from deltos.cli.terminal import guarded

        with guarded():
            return _told_all(_dispatch(list(sys.argv[1:] if argv is None else argv)))
    except SystemExit as ending:  # argparse, after help or an error
        raise SystemExit(_told_all(ending.code)) from None
    except KeyboardInterrupt:
        return _tell_interrupted(list(sys.argv[1:] if argv is None else argv))


def _dispatch(words: list[str]) -> int:
    words = _plain(words)
    if words[:1] == ["mcp"]:
        from deltos.server.front import main as serve  # deferred, as all imports here: start-up time

        return serve(words[1:])
    if words[:1] == ["hook"]:
        from deltos.cli.hook import main as hook

        return hook(words[1:])
    return _run(words)


def _plain(words: list[str]) -> list[str]:
    """The words as the parsers know them: `help X` is `X --help`, and so is nothing at all."""
    if words[:1] == ["help"]:
        return [*(word for word in words if word != "help"), "--help"]
    return words or ["--help"]


def _run(words: list[str]) -> int:
    import errno

    from deltos.errors import Cancelled, DeltosError

    try:
        arguments = parser(words[0]).parse_args(words)
        code: int = arguments.run(arguments)
    except Cancelled:
        return _tell_interrupted(words)
    except DeltosError as exc:
        _tell(_for_shell(exc))
        return _code_of(exc)
    except UnicodeError as exc:
        _tell(f"what was given is no valid text ({exc})")
        return MISUSED
    except OSError as exc:
        if exc.filename is None and exc.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG):  # no file of ours
            return _tell_unwritten(exc)
        _tell(f"{exc.strerror or exc}{f': {exc.filename}' if exc.filename else ''}")
        return FAILED
    return code


def _code_of(exc: DeltosError) -> int:
    """Misuse is what the caller can mend by other words; what is not there, however it was asked for, is an answer."""
    from deltos.errors import BadRequest, NoSuchFolder, NotFound

    if isinstance(exc, NotFound) and not isinstance(exc, NoSuchFolder):
        return FAILED
    return MISUSED if isinstance(exc, BadRequest) else FAILED


def _for_shell(exc: DeltosError) -> str:
    """The error as people read it, who have commands and no tools."""
    from deltos.cli.wording import name_commands
    from deltos.errors import DeltosError

    return str(DeltosError(exc.message, name_commands(exc.hint)))


def _told_all(code: int | str | None) -> int:
    """Write out what is still buffered; the exit code, which is a failure where that cannot be done."""
    status = code if isinstance(code, int) else FAILED if code else 0
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as exc:
        return _tell_unwritten(exc)
    return status


def _tell_unwritten(exc: OSError) -> int:
    """Say why the output could not be written, once; nothing where its reader has gone, as `head` does."""
    from deltos.cli.terminal import discard_output

    discard_output()
    if isinstance(exc, BrokenPipeError):  # who reads has enough: no failure that a script should stop at
        return 0
    _tell(f"the output could not be written ({exc.strerror or exc})")
    return FAILED


def _tell_interrupted(words: list[str]) -> int:
    """Say in one line that Ctrl-C ended the work; further ones change nothing any more."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tell(
        " What was indexed before is unchanged." if words[:1] and words[0] in _INDEXING else "", start="\nInterrupted."
    )
    return FAILED


def _tell(text: str, start: str = "Error: ") -> None:
    try:
        print(f"{start}{text}", file=sys.stderr, flush=True)
    except OSError:  # standard error is full or gone as well: the exit code has to do
        sys.stderr = None


_parsers: dict[str, CommandParser] = {}  # argparse looks for translations with every argument: make each of them once


def parser(command: str = "") -> CommandParser:
    """The command line as far as `command` needs it; the whole where there is no such command."""
    module = _COMMANDS.get(command, "")
    if module not in _parsers:
        _parsers[module] = _made_parser([module] if module else list(dict.fromkeys(_COMMANDS.values())))
    return _parsers[module]


def _made_parser(modules: Sequence[str]) -> CommandParser:
    import argparse
    from importlib import import_module

    from deltos import __version__
    from deltos.cli.command import CommandParser

    top = CommandParser(
        prog="deltos",
        description="One local index of what a coding agent needs to know.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("-V", "-v", "--version", action="version", version=f"deltos {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for module in modules:
        import_module(f"deltos.cli.{module}").add_commands(commands)
    commands.add_parser("mcp", help="serve projects to MCP clients over stdin and stdout, or HTTP", add_help=False)
    commands.add_parser("hook", help="keep what an agent's hook event tells; reads JSON on stdin", add_help=False)
    commands.add_parser("help", help="show this, or the help of a command", add_help=False)
    return top
