"""The `deltos` command: dispatch fast commands first, parse the others, and convert errors to exit codes."""

from __future__ import annotations

import os
import sys

from deltos.cli.command_table import COMMANDS

TYPE_CHECKING = False  # not imported from typing, because Ctrl-C during that import would print a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.cli.command import CommandParser
    from deltos.errors import DeltosError

EXIT_FAILED, EXIT_USAGE = 1, 2

# Commands that may index files. After Ctrl-C, they print that the existing index is unchanged.
_INDEXING_COMMANDS = frozenset({"index", "search", "fetch", "code", "explore", "graph", "review"})

_EPILOG = """\
start here:
  deltos index                     index the current repository
  deltos search "rate limit"       search code, documentation, APIs and memory at once
  deltos explore "how are …"       answer a question with the relevant code
  deltos code search "rate limit"  find code by meaning, name, "literal" or /regex/
  deltos install                   connect the agents and editors of this machine
  deltos mcp                       serve everything to a coding agent over MCP

See `deltos help COMMAND`. Every command accepts --json.
Exit codes: 0 success, 1 failed or nothing found, 2 wrong usage.
Data is stored in your platform's data folder; set DELTOS_HOME to change it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 for success, 1 for failure or no result, or 2 for wrong usage."""
    if argv is None and sys.argv[1:2] == ["hook"]:
        from deltos.cli.hook import run

        run(sys.argv[2:])
    # Number of threads, which must be set before numpy is imported. Matrices are small, so one core is enough.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from deltos.cli.terminal import sanitized_output

        with sanitized_output():
            return _flush_output(_dispatch(list(sys.argv[1:] if argv is None else argv)))
    except SystemExit as ending:  # argparse exits after help or an error
        raise SystemExit(_flush_output(ending.code)) from None
    except KeyboardInterrupt:
        return _report_interrupted(list(sys.argv[1:] if argv is None else argv))


def _dispatch(words: list[str]) -> int:
    words = _normalize(words)
    if words[:1] == ["mcp"]:
        from deltos.server.startup import main as serve  # deferred import, like all imports here, for a fast start

        return serve(words[1:])
    if words[:1] == ["hook"]:
        from deltos.cli.hook import main as hook

        return hook(words[1:])
    return _parse_and_run(words)


def _normalize(words: list[str]) -> list[str]:
    """Convert `help X` and an empty command line to arguments with `--help`."""
    if words[:1] == ["help"]:
        return [*(word for word in words if word != "help"), "--help"]
    return words or ["--help"]


def _parse_and_run(words: list[str]) -> int:
    import errno

    from deltos.errors import Cancelled, DeltosError

    try:
        arguments = parser(words[0]).parse_args(words)
        code: int = arguments.run(arguments)
    except Cancelled:
        return _report_interrupted(words)
    except DeltosError as exc:
        _print_error(_message_for_shell(exc))
        return _exit_code_of(exc)
    except UnicodeError as exc:
        _print_error(f"An argument or input is not valid Unicode ({exc})")
        return EXIT_USAGE
    except OSError as exc:
        if exc.filename is None and exc.errno in (
            errno.EPIPE,
            errno.ENOSPC,
            errno.EIO,
            errno.EFBIG,
        ):  # writing to stdout failed
            return _report_write_error(exc)
        _print_error(f"{exc.strerror or exc}{f': {exc.filename}' if exc.filename else ''}")
        return EXIT_FAILED
    return code


def _exit_code_of(exc: DeltosError) -> int:
    """Return the exit code of an error: 2 for invalid arguments, 1 for all other errors."""
    from deltos.errors import BadRequest, NoSuchFolder, NotFound

    if isinstance(exc, NotFound) and not isinstance(exc, NoSuchFolder):
        return EXIT_FAILED
    return EXIT_USAGE if isinstance(exc, BadRequest) else EXIT_FAILED


def _message_for_shell(exc: DeltosError) -> str:
    """Return an error message with shell commands instead of tool names in the hint."""
    from deltos.cli.command_names import replace_tool_names
    from deltos.errors import DeltosError

    return str(DeltosError(exc.message, replace_tool_names(exc.hint)))


def _flush_output(code: int | str | None) -> int:
    """Flush stdout and return `code`, or a failure code if the output cannot be written."""
    status = code if isinstance(code, int) else EXIT_FAILED if code else 0
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as exc:
        return _report_write_error(exc)
    return status


def _report_write_error(exc: OSError) -> int:
    """Report that the output could not be written, unless the reader closed the pipe, as `head` does."""
    from deltos.cli.terminal import discard_output

    discard_output()
    if isinstance(exc, BrokenPipeError):  # the reader closed the pipe, which is not a failure
        return 0
    _print_error(f"Cannot write the output ({exc.strerror or exc})")
    return EXIT_FAILED


def _report_interrupted(words: list[str]) -> int:
    """Report that Ctrl-C ended the command, and ignore further Ctrl-C."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _print_error(
        " The existing index is unchanged." if words[:1] and words[0] in _INDEXING_COMMANDS else "",
        start="\nInterrupted.",
    )
    return EXIT_FAILED


def _print_error(text: str, start: str = "Error: ") -> None:
    try:
        print(f"{start}{text}", file=sys.stderr, flush=True)
    except OSError:  # stderr cannot be written either; only the exit code can report the error
        sys.stderr = None


_parsers: dict[str, CommandParser] = {}  # cached, because argparse looks up translations for every argument


def parser(command: str = "") -> CommandParser:
    """Return the parser of all commands, with the arguments of `command` only."""
    module = COMMANDS[command][0] if command in COMMANDS else ""
    if module not in _parsers:
        _parsers[module] = _build_parser([module] if module else [])
    return _parsers[module]


def complete_parser() -> CommandParser:
    """Return the parser of all commands with all their arguments."""
    return _build_parser(list(dict.fromkeys(module for module, _ in COMMANDS.values())))


def _build_parser(modules: Sequence[str]) -> CommandParser:
    """Return a parser with the arguments of the commands in `modules`, and only the names of the other commands."""
    import argparse
    from importlib import import_module

    from deltos import __version__
    from deltos.cli.command import CommandParser

    top = CommandParser(
        prog="deltos",
        description="Local index of code, documentation, APIs, commits and memory for coding agents.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("-V", "-v", "--version", action="version", version=f"deltos {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    complete: set[str] = set()
    for name, (module, summary) in COMMANDS.items():
        if module not in modules:
            commands.add_parser(name, help=summary, add_help=False)
        elif module not in complete:
            complete.add(module)
            import_module(f"deltos.cli.{module}").add_commands(commands)
    commands.add_parser("mcp", help="serve projects to MCP clients over stdin and stdout, or HTTP", add_help=False)
    commands.add_parser("hook", help="record an agent's hook event, read as JSON from stdin", add_help=False)
    commands.add_parser("help", help="show this help, or the help of a command", add_help=False)
    return top
