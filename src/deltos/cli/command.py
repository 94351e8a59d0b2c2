"""Functions that all commands share: parse arguments, open the application, print results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from deltos.cli.command_table import COMMANDS
from deltos.cli.terminal import escape_json
from deltos.config import Config
from deltos.errors import BadArgument, SourceError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from deltos.app import App

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 (it has no public name)
Run = Callable[[argparse.Namespace], int]
EXIT_USAGE = 2
_MAX_QUOTED_CHARACTERS = 60
_MIN_OPTION_SIMILARITY = 0.8  # minimum similarity of a misspelled option, such as --limt or --projct


class CommandParser(argparse.ArgumentParser):
    """Argument parser whose error messages are one sentence with a suggestion."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments. For a search, all words that are not options or option values become one query."""
        if args is not None and any(isinstance(action, _Query) for action in self._actions):
            args = self._join_query_words(args)
        return super().parse_known_args(args, namespace)

    def _join_query_words(self, words: Sequence[str]) -> list[str]:
        """Move the options to the front, and join all other words to a single query after `--`."""
        # The query is one positional argument, for which argparse accepts only one word.
        options: list[str] = []
        query: list[str] = []
        unknown_options: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                query += rest
            elif (action := self._match_option(word)) is None:
                query.append(word)
                unknown_options += [word] if self._looks_like_option(word) else []
            elif "=" in word or action.nargs == 0:
                options.append(word)
            elif (value := next(rest, None)) is None or value == "--" or self._match_option(value):
                self.error(f"Argument {word}: expected one argument")
            else:
                options.append(f"{word}={value}")
        if unknown_options and not {"-h", "--help"}.intersection(options):
            self._report_unknown_options(unknown_options)
        return [*options, "--", " ".join(query)] if query else options

    def _match_option(self, word: str) -> argparse.Action | None:
        """Return the option with this name or with this unambiguous prefix, or None."""
        known, name = self._option_string_actions, word.partition("=")[0]
        if name in known or not name.startswith("--"):
            return known.get(name)
        matches = {id(action): action for option, action in known.items() if len(name) > 2 and option.startswith(name)}
        return next(iter(matches.values())) if len(matches) == 1 else None

    @staticmethod
    def _looks_like_option(word: str) -> bool:
        return word.startswith("-") and word[1:2] not in ("", ">") and " " not in word

    def _report_unknown_options(self, words: Sequence[str]) -> None:
        """Exit with an error for a misspelled option, or print a note that unknown options are part of the query."""
        import difflib  # deferred import: only needed for errors

        known = [option for option in self._option_string_actions if option.startswith("--")]
        for word in words:
            name = word.partition("=")[0]
            if near := difflib.get_close_matches(name, known, n=1, cutoff=_MIN_OPTION_SIMILARITY):
                self.error(
                    f"Unknown option: {name[:_MAX_QUOTED_CHARACTERS]}. Did you mean {near[0]}?"
                    f" Put -- before the query to search for it"
                )
        named = ", ".join(dict.fromkeys(words))[:_MAX_QUOTED_CHARACTERS]
        text = (
            f"Treated as part of the query, because there is no such option: {named}."
            " Put -- before the query to avoid this note."
        )
        print(text, file=sys.stderr)

    def error(self, message: str) -> NoReturn:
        """Print the error and the command that shows help, then exit."""
        words = self.prog.split()[1:]
        sentence = message[:1].upper() + message[1:]
        stop = "" if sentence.endswith((".", "?")) else "."
        self.exit(EXIT_USAGE, f"Error: {sentence}{stop} See `{' '.join(['deltos help', *words])}`.\n")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if message:  # overridden, because argparse ignores write errors
            (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        import difflib  # deferred import: only needed for errors

        known = [str(choice) for choice in action.choices]
        synonyms = _COMMAND_SYNONYMS.get(str(value).lower().replace("_", "-"), ())
        similar = [name for name in synonyms if name in known] or difflib.get_close_matches(str(value), known, n=1)
        what = "command" if isinstance(action, argparse._SubParsersAction) else "/".join(action.option_strings)  # noqa: SLF001
        text = f"Unknown {what or action.metavar or action.dest}: {str(value)[:_MAX_QUOTED_CHARACTERS]}"
        hint = f"Did you mean {similar[0]}?" if similar else f"Choose from {', '.join(known)}."
        raise argparse.ArgumentError(None, f"{text}. {hint}")


class _Query(argparse.Action):
    """Argparse action that stores the query. `CommandParser` joins the words of the query before parsing."""

    def __call__(
        self, _parser: object, namespace: argparse.Namespace, values: object, _option_string: object = None
    ) -> None:
        """Store the query."""
        setattr(namespace, self.dest, values)


# Commands that are suggested if the user types the name of an MCP tool or a command of a similar program.
_COMMAND_SYNONYMS = {
    "remember": ("add",),
    "save": ("add",),
    "recall": ("search",),
    "query": ("search",),
    "find": ("search", "find"),
    "get": ("show",),
    "fetch": ("show",),
    "endpoints": ("show",),
    "get-api-endpoints": ("show",),
    "delete": ("remove", "forget"),
    "rm": ("remove", "forget"),
    "ls": ("list",),
    "add-source": ("add",),
    "list-sources": ("list",),
    "references": ("refs",),
    "find-references": ("refs",),
    "find-symbol": ("find",),
    "get-context": ("context",),
    "get-impact": ("impact",),
    "detect-circular": ("cycles",),
    "circular": ("cycles",),
    "get-stats": ("stats",),
}


@dataclass(frozen=True, slots=True)
class BatchQuery:
    """A query in a batch file, with an id for the output."""

    id: str
    query: str


def add_command(subparsers: Subparsers, name: str, run: Run) -> argparse.ArgumentParser:
    """Add a top-level command, whose summary is in the command table."""
    return add_verb(subparsers, name, run, COMMANDS[name][1])


def add_command_group(subparsers: Subparsers, name: str) -> Subparsers:
    """Add a top-level command with subcommands, whose summary is in the command table."""
    return add_group(subparsers, name, COMMANDS[name][1])


def add_verb(subparsers: Subparsers, name: str, run: Run, summary: str) -> argparse.ArgumentParser:
    """Add a command with `--json`. `run` receives the parsed arguments and returns the exit code."""
    verb = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    verb.add_argument("--json", action="store_true", help="print only JSON, one object per line")
    verb.set_defaults(run=run)
    return verb


def add_group(subparsers: Subparsers, name: str, summary: str) -> Subparsers:
    """Add a command with subcommands. Without a subcommand, the command prints its help."""
    group = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")

    def show_help(_arguments: argparse.Namespace) -> int:
        group.print_help()
        return 0

    group.set_defaults(run=show_help)
    return group.add_subparsers(metavar="VERB", title="verbs")


def add_query(verb: argparse.ArgumentParser, what: str = "words to search for") -> None:
    """Add the query argument, which may consist of several words without quotes."""
    verb.add_argument(
        "query",
        action=_Query,
        nargs="?",
        default="",
        help=f"{what}; quotes are optional; put -- before words that begin with a hyphen",
    )


def add_limit(verb: argparse.ArgumentParser, *, maximum: int, default: int = 10) -> None:
    """Add the option `--limit`, the number of results."""
    verb.add_argument(
        "--limit",
        type=integer_range(1, maximum),
        default=default,
        help=f"number of results, 1 to {maximum}; default: {default}",
    )


def integer_range(minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    """Return an argparse type that accepts integers from `minimum` to `maximum`."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or number < minimum or (maximum is not None and number > maximum):
            range_ = f"{minimum} or more" if maximum is None else f"{minimum} to {maximum}"
            raise argparse.ArgumentTypeError(f"expected an integer, {range_}, not {text[:_MAX_QUOTED_CHARACTERS]!r}")
        return number

    return parse


def add_project(verb: argparse.ArgumentParser, *, takes_several: bool = False, takes_all: bool = False) -> None:
    """Add the option `--project`."""
    several = "; for several: a comma-separated list, a workspace or *" if takes_several else ""
    several = "; *: all projects" if takes_all else several
    verb.add_argument(
        "--project", metavar="PATH", default=".", help=f"folder of the project; default: the current folder{several}"
    )


def project_roots(project: str) -> tuple[Path, ...]:
    """Return a tuple with the folder given with `--project`, or an empty tuple (all projects) for `*`.

    Raise NoSuchFolder if the folder does not exist.
    """
    from deltos.workspace.identity import find_root  # deferred import: not needed for `--help`

    return () if project == "*" else (find_root(Path(project).absolute()),)


@contextmanager
def open_app(config: Config | None = None) -> Iterator[App]:
    """Open the application for one command. The configuration is read from the environment by default."""
    from deltos.app import App  # deferred import: commands that need no index start faster

    app = App(config or Config.from_environment(), ends_with_its_answer=True)
    try:
        yield app
    finally:
        app.close()


def print_json(value: Any) -> None:
    """Print one line of JSON."""
    print(escape_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def print_notes(notes: Iterable[str], *, with_json: bool = False) -> None:
    """Print notes, one per line. With JSON output, print to stderr, so that stdout contains only JSON."""
    for note in notes:
        print(note, file=sys.stderr if with_json else sys.stdout)


def batch_queries(source: str) -> Iterable[BatchQuery]:
    """Yield the queries in the JSON lines of a file, or of standard input for `-`."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
    except OSError as exc:
        raise SourceError(f"Cannot read {source}: {exc.strerror}") from exc
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield BatchQuery(row["id"], str(row["query"]))
        except (ValueError, TypeError, KeyError):
            raise BadArgument(
                f"Line {number} of the batch is invalid", hint='Each line is {"id": …, "query": …}.'
            ) from None
