"""`deltos`: the command. Dispatches what must start fast first, parses the rest, and turns errors into exit codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

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
    "status": "status",
    "doctor": "doctor",
    "install": "install",
    "uninstall": "install",
    "token": "token",
    "toolsets": "toolsets",
}

_EPILOG = """\
start here:
  deltos index                     index the current repository
  deltos search "rate limit"       search code, documentation, APIs and memory at once
  deltos code search "rate limit"  find code by meaning, name, "literal" or /regex/
  deltos install claude-code       connect an agent or editor; --list names them all
  deltos mcp                       serve all of it to a coding agent over MCP

Data lives in your platform's data folder; DELTOS_HOME moves it. Every command takes --json."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code: 0 done, 1 failed or nothing found, 2 misused."""
    if argv is None and sys.argv[1:2] == ["hook"]:
        from deltos.cli.hook import run

        run(sys.argv[2:])
    from deltos.cli.terminal import guarded

    with guarded():
        return _dispatch(list(sys.argv[1:] if argv is None else argv))


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["mcp"]:
        from deltos.server.front import main as serve  # deferred, as all imports here: start-up time

        return serve(words[1:])
    if words[:1] == ["hook"]:
        from deltos.cli.hook import main as hook

        return hook(words[1:])
    return _run(words)


def _run(words: list[str]) -> int:
    from deltos.errors import BadRequest, Cancelled, DeltosError

    arguments = parser(words[0] if words else "").parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except (KeyboardInterrupt, Cancelled):
        print("\nInterrupted. What was indexed before is unchanged.", file=sys.stderr)
        return FAILED
    except DeltosError as exc:
        print(f"Error: {exc}", file=sys.stderr)
        return MISUSED if isinstance(exc, BadRequest) else FAILED
    except UnicodeError as exc:
        print(f"Error: what was given is no valid text ({exc})", file=sys.stderr)
        return MISUSED
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        return FAILED
    except OSError as exc:
        print(f"Error: {exc.strerror or exc}{f': {exc.filename}' if exc.filename else ''}", file=sys.stderr)
        return FAILED
    return code


def parser(command: str = "") -> argparse.ArgumentParser:
    """The command line as far as `command` needs it; the whole where there is no such command."""
    import argparse
    from importlib import import_module

    from deltos import __version__

    top = argparse.ArgumentParser(
        prog="deltos",
        description="One local index of what a coding agent needs to know.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"deltos {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for module in [_COMMANDS[command]] if command in _COMMANDS else dict.fromkeys(_COMMANDS.values()):
        import_module(f"deltos.cli.{module}").add_commands(commands)
    commands.add_parser("mcp", help="serve projects to MCP clients over stdin and stdout, or HTTP", add_help=False)
    commands.add_parser("hook", help="keep what an agent's hook event tells; reads JSON on stdin", add_help=False)
    return top
