"""Classify shell commands by effect, and recognise equivalent commands that are spelled differently.

Programs and subcommands are listed in commands.json.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple


class Effect(Enum):
    """Effect of a shell command on files, services or other state."""

    READ_ONLY = "read-only"
    UNKNOWN = "unknown"
    CHANGES = "changes"


class CommandIdentity(NamedTuple):
    """Program, targets and configuration files of a command; equal for equivalent spellings of a command."""

    program: str
    targets: frozenset[str]
    config_files: frozenset[str] = frozenset()


_SEPARATOR = r"&&|\|\||[;|\n]|(?<!&)&(?!&)"
_PIPE = r"(?<!\|)\|(?!\|)"
_ASSIGNMENT = r"^\w+=\S*$"
_REDIRECT = r"(?<![<>&\d-])>{1,2}(?![&>])\s*(?!/dev/)\S"
_QUOTE = re.compile(r"[\"']")
_MAX_WORDS_BEFORE_VERB = 4  # in a cloud CLI, names of services and resources precede the verb
_COMMIT_COMMAND = "git commit"
_SCRIPT_RUNNER = "npm"


class _CommandTable:
    """The contents of commands.json as sets of words."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._sets = {name: frozenset(words.split()) for name, words in data.items() if isinstance(words, str)}
        self._subcommands = {
            name: {key: frozenset(words.split()) for key, words in table.items()}
            for name, table in data.items()
            if isinstance(table, dict)
        }
        self.runners = [runner.split() for runner in data["runners"]]

    def has(self, name: str, word: str) -> bool:
        """Whether the table's set of words called `name` contains a word."""
        return word in self._sets[name]

    def has_subcommand(self, name: str, program: str, words: list[str]) -> bool:
        """Whether the table `name` lists the first word as a subcommand, or the second one as a nested subcommand."""
        table = self._subcommands[name]
        first, second = (*words[:2], "", "")[:2]
        return first in table.get(program, ()) or second in table.get(f"{program} {first}", ())


@cache
def _command_table() -> _CommandTable:
    """Return the contents of commands.json; cached."""
    return _CommandTable(json.loads(Path(__file__).with_name("commands.json").read_text("utf-8")))


def hides_exit_status(command: str) -> bool:
    """Whether a part of a command line can fail without changing the exit status. Read-only parts are ignored."""
    bare_command = _strip_literals(command)
    is_strict = "set -e" in bare_command
    has_pipefail = "pipefail" in bare_command
    parts = re.split(_SEPARATOR, bare_command)
    for part, separator in zip(parts, re.findall(_SEPARATOR, bare_command), strict=False):
        propagates_failure = (
            separator == "&&" or (separator == "|" and has_pipefail) or (separator in ";\n" and is_strict)
        )
        if not propagates_failure and _effect_of_part(part.split()) is not Effect.READ_ONLY:
            return True
    return False


def programs_of(command: str) -> tuple[str, ...]:
    """Return the programs in a command line, without read-only commands; `git commit` is added to `git`."""
    found: dict[str, None] = {}
    for words in _parts_with_effect(_strip_literals(command)):
        program = _program_name(words[0])
        found[program] = None
        if program == "git" and _subcommand_words(program, words[1:])[:1] == ["commit"]:
            found[_COMMIT_COMMAND] = None
    return tuple(found)


def identity_of(command: str) -> tuple[CommandIdentity, ...]:
    """Return the identity of each command in a line: program and targets, without options, filters and wrappers.

    `.venv/bin/python -m pytest tests`, `uv run pytest tests -q` and `pytest tests | tail` have the same identity.
    """
    if _COMMIT_COMMAND in programs_of(command):
        return (CommandIdentity(_COMMIT_COMMAND, frozenset()),)
    shown = _strip_output_filters(command)
    folders = [f"cd {words[1]}" for words in map(str.split, re.split(_SEPARATOR, shown)) if _enters_folder(words)]
    return tuple(_identity_of_part(words, folders) for words in _parts_with_effect(shown))


def _identity_of_part(words: list[str], folders: list[str]) -> CommandIdentity:
    """Return the identity of one command in a command line; ignore options and numeric option values."""
    table, program = _command_table(), _program_name(words[0])
    if table.has("script_runners", program):  # `npm run build`, `pnpm build` and `yarn build` run the same script
        words = [_SCRIPT_RUNNER, *(word for word in words[1:] if word not in ("run", "run-script"))]
        program = _SCRIPT_RUNNER
    arguments = [
        (before, word)
        for before, word in pairwise(words)
        if word[0] != "-" and not (before[0] == "-" and word.isdecimal())
    ]
    files = frozenset(word for before, word in arguments if table.has("config_options", before))
    targets = frozenset((*folders, *(word for before, word in arguments if not table.has("config_options", before))))
    return CommandIdentity(program, targets, files)


def confirms_fix(succeeded: str, failed: str) -> bool:
    """Whether the success of one command shows that another command, which failed before, works now.

    True if the successful command runs the last program of the failed command with the same targets, or runs that
    program as a test runner without targets, which runs all tests.
    """
    ours, theirs = identity_of(succeeded), identity_of(failed)
    return bool(theirs) and any(_is_equivalent_or_broader(one, theirs[-1]) for one in ours)


def _is_equivalent_or_broader(one: CommandIdentity, other: CommandIdentity) -> bool:
    """Whether command `one` runs the same program as `other`, with the same targets or on all tests."""
    is_whole_test = not one.targets and _command_table().has("tests", one.program)
    has_files = not other.config_files or one.config_files == other.config_files
    return one.program == other.program and (is_whole_test or (has_files and one.targets == other.targets))


def asks_for_version(command: str) -> bool:
    """Whether a command only prints the version of a program."""
    words = _strip_wrappers(command.split())
    return len(words) > 1 and _command_table().has("version_options", words[-1]) and not re.search(_SEPARATOR, command)


def effect_of(command: str) -> Effect:
    """Return the strongest effect of the commands in a command line."""
    bare_command = _strip_literals(command)
    effects = {_effect_of_part(part.split()) for part in re.split(_SEPARATOR, bare_command) if part.strip()}
    if re.search(_REDIRECT, bare_command) or Effect.CHANGES in effects:
        return Effect.CHANGES
    return Effect.UNKNOWN if Effect.UNKNOWN in effects else Effect.READ_ONLY


def is_measurement(command: str) -> bool:
    """Whether a command line runs a benchmark."""
    parts = re.split(_SEPARATOR, _strip_literals(command))
    return any(_is_benchmark(_strip_runner(_strip_wrappers(part.split()))) for part in parts)


def _is_benchmark(words: list[str]) -> bool:
    if not words:
        return False
    table, program = _command_table(), _program_name(words[0])
    if table.has("benchmarks", program) or table.has_subcommand("benchmark_subcommands", program, words[1:]):
        return True
    if table.has("task_runners", program):
        return any(table.has("benchmark_tasks", word.split(":", 1)[0]) for word in words[1:])
    return any(table.has("benchmark_options", word.partition("=")[0]) for word in words[1:])


def _parts_with_effect(command: str) -> list[list[str]]:
    """Return the words of each command in a line that is not read-only, without wrapper programs and runners."""
    parts = (part.split() for part in re.split(_SEPARATOR, command))
    working = (_strip_runner(_strip_wrappers(words)) for words in parts if not _is_read_only(words))
    return [words for words in working if words]


def _strip_output_filters(command: str) -> str:
    """Remove pipes and redirections that only filter or collect output, such as `| tail` and `2>&1`."""
    first, *rest = re.split(_PIPE, command)
    shown = first if all(_is_read_only(part.split()) for part in rest) else command
    return " ".join(word for word in shown.split() if word != "2>&1")


def _strip_literals(command: str) -> str:
    """Remove quoted texts, here-documents, and leading and trailing white space from a command line."""
    return _empty_quotes(command.split("<<", 1)[0]).strip()


def _empty_quotes(command: str) -> str:
    """Remove the text inside quotation marks from a command; text after an unclosed quotation mark is unchanged."""
    kept: list[str] = []
    at = last = 0
    unclosed: set[str] = set()
    while (opening := _QUOTE.search(command, at)) is not None:
        at = opening.end()
        end = -1 if opening[0] in unclosed else _after_closing_quote(command, at, opening[0])
        if end < 0:
            unclosed.add(opening[0])
            continue
        kept += (command[last : opening.start()], "''")
        at = last = end
    return "".join([*kept, command[last:]])


def _after_closing_quote(command: str, at: int, quote: str) -> int:
    """Return the offset after the closing quotation mark, or -1 if there is none."""
    end = command.find(quote, at)
    while quote == '"' and end >= 0 and _is_escaped(command, end):
        end = command.find(quote, end + 1)
    return end + 1 if end >= 0 else -1


def _is_escaped(command: str, at: int) -> bool:
    first = at
    while first > 0 and command[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _strip_wrappers(words: list[str]) -> list[str]:
    """Remove assignments, wrapper programs such as `sudo`, and `python -m` from the start of a command."""
    at = 0
    while at < len(words) and (re.match(_ASSIGNMENT, words[at]) or _command_table().has("wrappers", words[at])):
        wrapper, at = words[at], at + 1
        while wrapper == "timeout" and at < len(words) and (words[at].startswith("-") or words[at][0].isdecimal()):
            at += 1
    words = words[at:]
    is_module = len(words) > 2 and _program_name(words[0]).startswith("python") and words[1] == "-m"
    return words[2:] if is_module else words


def _strip_runner(words: list[str]) -> list[str]:
    """Remove `uv run`, `npx` and similar runners, with the options of the runner, from the start of a command."""
    runner = next((runner for runner in _command_table().runners if words[: len(runner)] == runner), None)
    if runner is None:
        return words
    words = words[len(runner) :]
    first = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return _strip_wrappers(words[first:])


def _is_read_only(words: list[str]) -> bool:
    return _effect_of_part(words) is Effect.READ_ONLY


def _effect_of_part(words: list[str]) -> Effect:
    """Return the effect of one command in a command line."""
    words = _strip_wrappers(words)
    if not words:
        return Effect.READ_ONLY
    table, program = _command_table(), _program_name(words[0])
    rest = _subcommand_words(program, words[1:])
    if program in ("sed", "perl") and any(word.startswith("-i") or word == "--in-place" for word in rest):
        return Effect.CHANGES
    if rest and table.has_subcommand("changing_subcommands", f"{program} {rest[0]}", rest[1:]):
        return Effect.CHANGES  # checked first, because `gh pr create` has an effect, but `gh pr` has none
    if table.has_subcommand("reading_subcommands", program, rest):
        return Effect.READ_ONLY
    if table.has("cloud", program) and (effect := _cloud_effect(rest[:_MAX_WORDS_BEFORE_VERB])) is not None:
        return effect
    if table.has("changing", program) or table.has_subcommand("changing_subcommands", program, rest):
        return Effect.CHANGES
    if table.has("reading", program):
        return Effect.READ_ONLY
    return Effect.CHANGES if rest and table.has("changing_anywhere", rest[0]) else Effect.UNKNOWN


def _cloud_effect(words: list[str]) -> Effect | None:
    """Return the effect of the first verb in a cloud CLI command, or None if the command has no known verb.

    If the name of a service is also a verb (`run`, `deploy`, `logs`), the next verb counts. Commands that only read
    data have an UNKNOWN effect, so that their failures are recorded.
    """
    table = _command_table()
    verbs = [word.split("-", 1)[0] for word in words]
    is_reading = [table.has("reading_verbs", verb) for verb in verbs]
    known = [at for at, verb in enumerate(verbs) if is_reading[at] or table.has("changing_verbs", verb)]
    if not known:
        return None
    is_service = known[0] == 0 and len(known) > 1 and "-" not in words[0]
    return Effect.UNKNOWN if is_reading[known[is_service]] else Effect.CHANGES


def _subcommand_words(program: str, words: list[str]) -> list[str]:
    """Return the words of a command from the subcommand on; for git, skip the options before the subcommand."""
    at = 0
    while program == "git" and len(words) > at + 1 and words[at] in ("-C", "-c"):
        at += 2
    return words[at:]


def _program_name(word: str) -> str:
    """Return the name of a program without its path."""
    return word.rsplit("/", 1)[-1]


def _enters_folder(words: list[str]) -> bool:
    """Whether a command is `cd` to a relative folder. Absolute folders are usually the project itself."""
    return len(words) == 2 and words[0] == "cd" and not words[1].startswith(("/", "~", "."))
