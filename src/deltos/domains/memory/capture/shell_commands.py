"""Classifies shell commands by their effect: read-only, changing something, or unknown."""

from __future__ import annotations

import re
from enum import Enum


class Effect(Enum):
    """Effect of a command."""

    READ_ONLY = "looks"
    UNKNOWN = "tries"
    CHANGES = "changes"


_READING_PROGRAM_NAMES = """
    ls ll cat bat less more head tail wc pwd echo printf true false cd which whereis type file stat du df
    tree find fd grep egrep rg ag ack awk cut sort uniq tr column diff cmp date env printenv whoami id
    hostname uname ps top uptime free jq yq xxd od strings man help history sleep test [ basename dirname
    realpath readlink seq nl tac clear export set alias wait lsof ss netstat ping dig nslookup nproc sed
    deltos"""
_READING_PROGRAMS = frozenset(_READING_PROGRAM_NAMES.split())
_CHANGING_PROGRAM_NAMES = """
    rm mv cp mkdir rmdir touch ln chmod chown tee truncate dd patch rsync scp kill crontab systemctl service
    useradd apt apt-get brew dnf yum pacman alembic flyway terraform ansible-playbook heroku fly vercel
    netlify createdb dropdb dos2unix unzip tar git-lfs"""
_CHANGING_PROGRAMS = frozenset(_CHANGING_PROGRAM_NAMES.split())
# Subcommands by program. Programs and subcommands that are not listed have an unknown effect.
_READING_SUBCOMMANDS = {
    "git": "status log diff show branch blame ls-files ls-tree rev-parse remote describe reflog shortlog "
    "grep config cat-file worktree",
    "docker": "ps images logs inspect stats version info",
    "kubectl": "get describe logs top version explain",
    "npm": "ls list view outdated config --version -v",
    "pip": "list show freeze --version check",
    "cargo": "tree metadata --version",
    "gh": "pr issue run repo release workflow status",
    "glab": "mr issue ci repo",
    "go": "list version env doc",
    "python": "--version -V",
    "node": "--version -v",
    "terraform": "plan validate show output providers version graph",
    "systemctl": "status list-units is-active",
    "brew": "list info search",
    "apt": "list show search",
}
_CHANGING_SUBCOMMANDS = {
    "git": "commit push merge rebase reset checkout switch tag cherry-pick revert stash pull clone init add "
    "rm mv apply am clean restore bisect",
    "npm": "install i ci uninstall update publish link audit",
    "pnpm": "install add remove update publish",
    "yarn": "install add remove upgrade publish",
    "bun": "install add remove",
    "pip": "install uninstall",
    "pip3": "install uninstall",
    "uv": "add remove sync pip lock",
    "poetry": "add remove install update publish",
    "cargo": "add remove install publish update",
    "go": "get mod install",
    "docker": "build run rm rmi push pull compose stop start tag",
    "docker-compose": "up down build",
    "kubectl": "apply delete create scale rollout patch edit set exec",
    "helm": "install upgrade uninstall rollback",
    "gem": "install",
    "bundle": "install add update",
    "composer": "require install update remove",
    "alembic": "upgrade downgrade revision",
    "aws": "s3 cloudformation",
    "make": "install migrate deploy",
    "python": "manage.py",
    "python3": "manage.py",
    "rails": "generate destroy",
    "npx": "prisma",
}
# These subcommands change something for every program: there are too many package managers to list.
_CHANGING_SUBCOMMANDS_ANYWHERE = frozenset("install uninstall upgrade reinstall".split())
# Nested subcommands, such as `gh pr create`.
_READING_NESTED_SUBCOMMANDS = {("docker", "compose"): "ps logs config images top ls version"}
_CHANGING_NESTED_SUBCOMMANDS = {
    ("gh", "pr"): "create merge close reopen ready edit",
    ("gh", "issue"): "create close reopen edit",
    ("gh", "release"): "create edit delete upload",
    ("gh", "repo"): "create fork delete rename",
    ("glab", "mr"): "create merge close reopen update",
}
# Cloud CLIs name the action with a verb, alone or as part of a word: `functions deploy`, `enable-region`, `set-secret`.
_CLOUD_PROGRAMS = frozenset(
    "aws gcloud az doctl flyctl fly wrangler supabase firebase eksctl oc nomad consul vault".split()
)
_CHANGING_VERBS = frozenset(
    "create delete put update enable disable attach detach add remove set unset start stop restart reboot modify "
    "register deregister deploy apply import upload run scale resize assign grant revoke tag untag rotate restore "
    "promote publish rm".split()
)
_READING_VERBS = frozenset("list ls describe get show read logs status tail".split())
_MAX_WORDS_TO_VERB = 4  # the verb follows the names of services and resources
_BENCHMARK_PROGRAMS = frozenset(
    "hyperfine k6 ab wrk wrk2 hey oha vegeta bombardier siege locust artillery autocannon iperf iperf3 sysbench "
    "pgbench fio lighthouse lhci timeit pyperf asv benchstat scalene criterion".split()
)
_BENCHMARK_SUBCOMMANDS = {
    "cargo": "bench criterion flamegraph",
    "perf": "stat report",
    "vitest": "bench",
    "mix": "bench",
}
_BENCHMARK_OPTIONS = ("-bench", "--bench", "--benchmark", "--benchmark-only")
_VERSION_OPTIONS = ("--version", "-version", "-V", "version")
_SEPARATOR = r"&&|\|\||[;|\n]|(?<!&)&(?!&)"
_PIPE = r"(?<!\|)\|(?!\|)"
_ASSIGNMENT = r"^\w+=\S*$"
_REDIRECT = r"(?<![<>&\d-])>{1,2}(?![&>])\s*(?!/dev/)\S"
_QUOTE = re.compile(r"[\"']")
_WRAPPERS = {"sudo", "time", "nice", "nohup", "env", "exec", "command", "xargs", "timeout", "stdbuf"}
# Commands that run the program named by the next word.
_RUNNERS = {("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run"), ("bundle", "exec")}
_RUNNERS |= {("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("npm", "exec")}
_SINGLE_WORD_RUNNERS = {"npx", "uvx", "bunx", "pipx"}


def hides_exit_status(command: str) -> bool:
    """Whether a part that is not read-only can fail without changing the exit status of the command line."""
    bare_command = _without_literals(command)
    is_strict = "set -e" in bare_command
    has_pipefail = "pipefail" in bare_command
    parts = re.split(_SEPARATOR, bare_command)
    for part, separator in zip(parts, re.findall(_SEPARATOR, bare_command), strict=False):
        passes_on = separator == "&&" or (separator == "|" and has_pipefail) or (separator in ";\n" and is_strict)
        if not passes_on and _effect_of_part(part.split()) is not Effect.READ_ONLY:
            return True
    return False


def programs_of(command: str) -> tuple[str, ...]:
    """Return the programs of a command line that are not read-only; `git commit` is listed in addition to `git`."""
    found: dict[str, None] = {}
    for part in re.split(_SEPARATOR, _without_literals(command)):
        words = part.split()
        if _effect_of_part(words) is Effect.READ_ONLY:
            continue
        words = _without_runner(_without_wrappers(words))
        program = words[0].rsplit("/", 1)[-1] if words else ""
        found[program] = None
        if program == "git" and _subcommand(program, words[1:]) == "commit":
            found["git commit"] = None
    return tuple(found)


def without_output_filters(command: str) -> str:
    """Remove pipes and redirections that only filter or collect the output, such as `| tail` and `2>&1`."""
    first, *rest = re.split(_PIPE, command)
    shown = first if all(_effect_of_part(part.split()) is Effect.READ_ONLY for part in rest) else command
    return " ".join(word for word in shown.split() if word != "2>&1")


def command_key(command: str) -> str:
    """Return the command without options and output filters: a command that failed with one option may succeed with
    another."""
    essence = without_output_filters(command)
    if "git commit" in programs_of(essence):
        return "git commit"
    return " ".join(word for word in essence.split() if not word.startswith("-"))


def asks_for_version(command: str) -> bool:
    """Whether a command only prints the version of a program."""
    words = _without_wrappers(command.split())
    return len(words) > 1 and words[-1] in _VERSION_OPTIONS and not re.search(_SEPARATOR, command)


def effect_of(command: str) -> Effect:
    """Return the strongest effect among the parts of a command line."""
    bare_command = _without_literals(command)
    effects = {_effect_of_part(part.split()) for part in re.split(_SEPARATOR, bare_command) if part.strip()}
    if re.search(_REDIRECT, bare_command) or Effect.CHANGES in effects:
        return Effect.CHANGES
    return Effect.UNKNOWN if Effect.UNKNOWN in effects else Effect.READ_ONLY


def is_measurement(command: str) -> bool:
    """Whether a command line runs a benchmark, whose output is remembered."""
    return any(
        _is_benchmark(_without_runner(_without_wrappers(part.split())))
        for part in re.split(_SEPARATOR, _without_literals(command))
    )


def _is_benchmark(words: list[str]) -> bool:
    if not words:
        return False
    program = words[0].rsplit("/", 1)[-1]
    if (
        program in _BENCHMARK_PROGRAMS
        or _subcommand(program, words[1:]) in _BENCHMARK_SUBCOMMANDS.get(program, "").split()
    ):
        return True
    if program in ("npm", "pnpm", "yarn", "bun", "make", "just", "task"):
        return any(word.split(":", 1)[0] in ("bench", "benchmark", "perf") for word in words[1:])
    return any(word.partition("=")[0] in _BENCHMARK_OPTIONS for word in words[1:])


def _without_literals(command: str) -> str:
    """Remove quoted text, here documents and surrounding blanks from a command line."""
    return _without_quoted(command.split("<<", 1)[0]).strip()


def _without_quoted(command: str) -> str:
    """Empty the quotes of a command; an unclosed quote is left as it is."""
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
    """Return the offset after the closing quote; -1 if there is none."""
    end = command.find(quote, at)
    while quote == '"' and end >= 0 and _is_escaped(command, end):
        end = command.find(quote, end + 1)
    return end + 1 if end >= 0 else -1


def _is_escaped(command: str, at: int) -> bool:
    first = at
    while first > 0 and command[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _without_wrappers(words: list[str]) -> list[str]:
    """Remove assignments and wrapper programs such as `sudo` from the start of a command."""
    at = 0
    while at < len(words) and (re.match(_ASSIGNMENT, words[at]) or words[at] in _WRAPPERS):
        wrapper, at = words[at], at + 1
        while wrapper == "timeout" and at < len(words) and (words[at].startswith("-") or words[at][0].isdecimal()):
            at += 1
    words = words[at:]
    if len(words) > 2 and words[0].startswith("python") and words[1] == "-m":
        words = words[2:]
    return words


def _without_runner(words: list[str]) -> list[str]:
    """Remove `uv run`, `npx` and similar runners, with their options, from the start of a command."""
    if tuple(words[:2]) in _RUNNERS:
        words = words[2:]
    elif words and words[0] in _SINGLE_WORD_RUNNERS:
        words = words[1:]
    else:
        return words
    first = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return _without_wrappers(words[first:])


def _effect_of_part(words: list[str]) -> Effect:
    """Return the effect of one command of a command line."""
    words = _without_wrappers(words)
    if not words:
        return Effect.READ_ONLY
    program = words[0].rsplit("/", 1)[-1]
    subcommand = _subcommand(program, words[1:])
    if program in ("sed", "perl") and any(word.startswith("-i") or word == "--in-place" for word in words[1:]):
        return Effect.CHANGES
    if (
        (program, subcommand) in _CHANGING_NESTED_SUBCOMMANDS
        and len(words) > 2
        and words[2] in _CHANGING_NESTED_SUBCOMMANDS[program, subcommand].split()
    ):
        return Effect.CHANGES
    if subcommand in _READING_SUBCOMMANDS.get(program, "").split() or (
        len(words) > 2 and words[2] in _READING_NESTED_SUBCOMMANDS.get((program, subcommand), "").split()
    ):
        return Effect.READ_ONLY
    if program in _CLOUD_PROGRAMS and (effect := _cloud_effect(words[1 : 1 + _MAX_WORDS_TO_VERB])) is not None:
        return effect
    if program in _CHANGING_PROGRAMS or subcommand in _CHANGING_SUBCOMMANDS.get(program, "").split():
        return Effect.CHANGES
    if program in _READING_PROGRAMS:
        return Effect.READ_ONLY
    return Effect.CHANGES if subcommand in _CHANGING_SUBCOMMANDS_ANYWHERE else Effect.UNKNOWN


def _cloud_effect(words: list[str]) -> Effect | None:
    """Return the effect of the first verb of a cloud CLI; None if there is no known verb.

    A service may have the name of a verb (`run`, `deploy`, `logs`); then the next verb counts. Reading counts as
    UNKNOWN, so that a failure is recorded: the reason why a cloud refuses to answer is useful later.
    """
    verbs = [word.split("-", 1)[0] for word in words]
    known = [at for at, verb in enumerate(verbs) if verb in _CHANGING_VERBS or verb in _READING_VERBS]
    if not known:
        return None
    is_service = known[0] == 0 and len(known) > 1 and "-" not in words[0]
    return Effect.UNKNOWN if verbs[known[is_service]] in _READING_VERBS else Effect.CHANGES


def _subcommand(program: str, words: list[str]) -> str:
    """Return the subcommand; options of git before it are skipped."""
    at = 0
    while program == "git" and len(words) > at + 1 and words[at] in ("-C", "-c"):
        at += 2
    return words[at] if at < len(words) else ""
