"""What all commands share: how they are parsed, opening the application, printing results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from deltos.cli.terminal import harmless_json
from deltos.config import Config
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from deltos.app import App

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 (it has no public name)
Run = Callable[[argparse.Namespace], int]
MISUSED = 2
_SHOWN_CHARACTERS = 60
_NEAR_OPTION = 0.8  # share of letters: --limt and --projct, but not --reload


class CommandParser(argparse.ArgumentParser):
    """Parses words of a command line; what it refuses it says in one sentence, with what may have been meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; in a search all words that are no option or its value are the query."""
        if args is not None and any(isinstance(action, _Query) for action in self._actions):
            args = self._with_one_query(args)
        return super().parse_known_args(args, namespace)

    def _with_one_query(self, words: Sequence[str]) -> list[str]:
        """The options first, then `--` and the other words as one: argparse takes one word, and none with hyphens."""
        options: list[str] = []
        query: list[str] = []
        no_options: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                query += rest
            elif (action := self._option(word)) is None:
                query.append(word)
                no_options += [word] if self._looks_like_option(word) else []
            elif "=" in word or action.nargs == 0:
                options.append(word)
            elif (value := next(rest, None)) is None or value == "--" or self._option(value):
                self.error(f"Argument {word}: expected one argument")
            else:
                options.append(f"{word}={value}")
        if no_options and not {"-h", "--help"}.intersection(options):
            self._tell_no_options(no_options)
        return [*options, "--", " ".join(query)] if query else options

    def _option(self, word: str) -> argparse.Action | None:
        """The option that a word names, in full or by a beginning that no other one has."""
        known, name = self._option_string_actions, word.partition("=")[0]
        if name in known or not name.startswith("--"):
            return known.get(name)
        meant = {id(action): action for option, action in known.items() if len(name) > 2 and option.startswith(name)}
        return next(iter(meant.values())) if len(meant) == 1 else None

    @staticmethod
    def _looks_like_option(word: str) -> bool:
        return word.startswith("-") and word[1:2] not in ("", ">") and " " not in word

    def _tell_no_options(self, words: Sequence[str]) -> None:
        """Refuse a word that is nearly an option; say of the others that they are searched for."""
        import difflib  # deferred: only those who mistype need it

        known = [option for option in self._option_string_actions if option.startswith("--")]
        for word in words:
            name = word.partition("=")[0]
            if near := difflib.get_close_matches(name, known, n=1, cutoff=_NEAR_OPTION):
                self.error(
                    f"Unknown option: {name[:_SHOWN_CHARACTERS]}. Did you mean {near[0]}?"
                    f" After -- it is a word of the query"
                )
        named = ", ".join(dict.fromkeys(words))[:_SHOWN_CHARACTERS]
        told = (
            f"Taken as part of the query, because no option is called so: {named}. `--` before the query says so, too."
        )
        print(told, file=sys.stderr)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, as every other error is said, and where help is."""
        words = self.prog.split()[1:]
        said = message[:1].upper() + message[1:]
        stop = "" if said.endswith((".", "?")) else "."
        self.exit(MISUSED, f"Error: {said}{stop} See `{' '.join(['deltos help', *words])}`.\n")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if message:  # argparse would keep to itself that it could not be written
            (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        import difflib  # deferred: only those who mistype need it

        known = [str(choice) for choice in action.choices]
        other = _OTHER_NAMES.get(str(value).lower().replace("_", "-"), ())
        near = [name for name in other if name in known] or difflib.get_close_matches(str(value), known, n=1)
        what = "command" if isinstance(action, argparse._SubParsersAction) else "/".join(action.option_strings)  # noqa: SLF001
        told = f"Unknown {what or action.metavar or action.dest}: {str(value)[:_SHOWN_CHARACTERS]}"
        meant = f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(known)}."
        raise argparse.ArgumentError(None, f"{told}. {meant}")


class _Query(argparse.Action):
    """The argument that takes what is searched for: `CommandParser` joins its words before argparse sees them."""

    def __call__(self, _parser: object, namespace: argparse.Namespace, values: object, _option: object = None) -> None:
        """Keep it as it is."""
        setattr(namespace, self.dest, values)


# What tools, other programs and habit call a verb.
_OTHER_NAMES = {
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
    """One line of a batch."""

    id: str
    query: str


def add_verb(subparsers: Subparsers, name: str, run: Run, summary: str) -> argparse.ArgumentParser:
    """A command with `--json`; `run` gets the parsed arguments and gives the exit code."""
    verb = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    verb.add_argument("--json", action="store_true", help="print JSON, one object per line, and nothing else")
    verb.set_defaults(run=run)
    return verb


def add_group(subparsers: Subparsers, name: str, summary: str) -> Subparsers:
    """A command that is only the first word of others; alone it shows them."""
    group = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")

    def show_help(_arguments: argparse.Namespace) -> int:
        group.print_help()
        return 0

    group.set_defaults(run=show_help)
    return group.add_subparsers(metavar="VERB", title="verbs")


def add_query(verb: argparse.ArgumentParser, what: str = "what to look for") -> None:
    """The words that are searched for: one in quotes or several without, also with hyphens."""
    verb.add_argument(
        "query",
        action=_Query,
        nargs="?",
        default="",
        help=f"{what}; several words need no quotes, and any may follow --",
    )


def add_limit(verb: argparse.ArgumentParser, *, most: int, default: int = 10) -> None:
    """The option that says how many results are wanted."""
    verb.add_argument(
        "--limit", type=number_in(1, most), default=default, help=f"how many results, 1 to {most}; default: {default}"
    )


def number_in(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number of that range; any other is refused with it."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or number < least or (most is not None and number > most):
            range_ = f"{least} or more" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"give a whole number, {range_}, not {text[:_SHOWN_CHARACTERS]!r}")
        return number

    return read


def add_project(verb: argparse.ArgumentParser, *, takes_several: bool = False) -> None:
    """The option that says which project is meant, or which projects."""
    several = "; several: comma-separated, a workspace or *" if takes_several else ""
    verb.add_argument(
        "--project", metavar="PATH", default=".", help=f"folder of the project; default: the current one{several}"
    )


@contextmanager
def opened_app(config: Config | None = None) -> Iterator[App]:
    """The application for one command, closed afterwards; configured by the environment unless told otherwise."""
    from deltos.app import App  # deferred: commands that need no index start faster

    app = App(config or Config.from_environment(), ends_with_its_answer=True)
    try:
        yield app
    finally:
        app.close()


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(harmless_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def print_notes(notes: Iterable[str], *, beside_json: bool = False) -> None:
    """What is to be known of results, a line each; beside JSON on standard error, so that nobody parses it."""
    for note in notes:
        print(note, file=sys.stderr if beside_json else sys.stdout)


def batch_queries(source: str) -> Iterable[BatchQuery]:
    """The `{"id", "query"}` lines of a file, or of standard input for `-`."""
    text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield BatchQuery(row["id"], str(row["query"]))
        except (ValueError, TypeError, KeyError):
            raise BadArgument(
                f"Line {number} of the batch is not understood", hint='Each line is {"id": …, "query": …}.'
            ) from None
