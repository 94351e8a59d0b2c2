"""What a shell command does to the world: only looks, changes something, or tries something out."""

from __future__ import annotations

import re
from enum import Enum


class Effect(Enum):
    """How a command leaves the world behind."""

    LOOKS = "looks"
    TRIES = "tries"
    CHANGES = "changes"


_LOOKING_PROGRAMS = """
    ls ll cat bat less more head tail wc pwd echo printf true false cd which whereis type file stat du df
    tree find fd grep egrep rg ag ack awk cut sort uniq tr column diff cmp date env printenv whoami id
    hostname uname ps top uptime free jq yq xxd od strings man help history sleep test [ basename dirname
    realpath readlink seq nl tac clear export set alias wait lsof ss netstat ping dig nslookup nproc sed
    deltos"""
_LOOKING = frozenset(_LOOKING_PROGRAMS.split())
_CHANGING_PROGRAMS = """
    rm mv cp mkdir rmdir touch ln chmod chown tee truncate dd patch rsync scp kill crontab systemctl service
    useradd apt apt-get brew dnf yum pacman alembic flyway terraform ansible-playbook heroku fly vercel
    netlify createdb dropdb dos2unix unzip tar git-lfs"""
_CHANGING = frozenset(_CHANGING_PROGRAMS.split())
# The first words of commands whose second word tells; anything not named here only tries something.
_LOOKING_SECOND = {
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
_CHANGING_SECOND = {
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
# What these second words do, whatever the program: package managers come in any number.
_CHANGING_ANYWHERE = frozenset("install uninstall upgrade reinstall".split())
# What the third word asks a code forge to change; its other requests only look.
_LOOKING_THIRD = {("docker", "compose"): "ps logs config images top ls version"}
_CHANGING_THIRD = {
    ("gh", "pr"): "create merge close reopen ready edit",
    ("gh", "issue"): "create close reopen edit",
    ("gh", "release"): "create edit delete upload",
    ("gh", "repo"): "create fork delete rename",
    ("glab", "mr"): "create merge close reopen update",
}
# Programs of a cloud name what they do in a word such as `enable-region`, `functions deploy` or `set-secret`.
_CLOUD_PROGRAMS = frozenset(
    "aws gcloud az doctl flyctl fly wrangler supabase firebase eksctl oc nomad consul vault".split()
)
_CHANGING_VERBS = frozenset(
    "create delete put update enable disable attach detach add remove set unset start stop restart reboot modify "
    "register deregister deploy apply import upload run scale resize assign grant revoke tag untag rotate restore "
    "promote publish rm".split()
)
_LOOKING_VERBS = frozenset("list ls describe get show read logs status tail".split())
_MOST_VERB_WORDS = 4  # services and resources come before the verb
_MEASURING = frozenset(
    "hyperfine k6 ab wrk wrk2 hey oha vegeta bombardier siege locust artillery autocannon iperf iperf3 sysbench "
    "pgbench fio lighthouse lhci timeit pyperf asv benchstat scalene criterion".split()
)
_MEASURING_SECOND = {"cargo": "bench criterion flamegraph", "perf": "stat report", "vitest": "bench", "mix": "bench"}
_MEASURING_OPTIONS = ("-bench", "--bench", "--benchmark", "--benchmark-only")
_VERSION_OPTIONS = ("--version", "-version", "-V", "version")
_SEPARATOR = r"&&|\|\||[;|\n]|(?<!&)&(?!&)"
_PIPE = r"(?<!\|)\|(?!\|)"
_ASSIGNMENT = r"^\w+=\S*$"
_REDIRECT = r"(?<![<>&\d-])>{1,2}(?![&>])\s*(?!/dev/)\S"
_QUOTE = re.compile(r"[\"']")
_WRAPPERS = {"sudo", "time", "nice", "nohup", "env", "exec", "command", "xargs", "timeout", "stdbuf"}
# What runs a program that the next word names.
_RUNNERS = {("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run"), ("bundle", "exec")}
_RUNNERS |= {("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("npm", "exec")}
_RUNNING_PROGRAMS = {"npx", "uvx", "bunx", "pipx"}


def hides_status(command: str) -> bool:
    """Whether a part that does more than look may fail and the command line still end with nought."""
    plain = _plain(command)
    is_strict = "set -e" in plain
    has_pipefail = "pipefail" in plain
    parts = re.split(_SEPARATOR, plain)
    for part, separator in zip(parts, re.findall(_SEPARATOR, plain), strict=False):
        passes_on = separator == "&&" or (separator == "|" and has_pipefail) or (separator in ";\n" and is_strict)
        if not passes_on and _effect_of_part(part.split()) is not Effect.LOOKS:
            return True
    return False


def programs_of(command: str) -> tuple[str, ...]:
    """The programs of a command line that do more than look; `git commit` counts as one beside `git`."""
    found: dict[str, None] = {}
    for part in re.split(_SEPARATOR, _plain(command)):
        words = part.split()
        if _effect_of_part(words) is Effect.LOOKS:
            continue
        words = _run_words(_bare_words(words))
        program = words[0].rsplit("/", 1)[-1] if words else ""
        found[program] = None
        if program == "git" and _second_word(program, words[1:]) == "commit":
            found["git commit"] = None
    return tuple(found)


def essence_of(command: str) -> str:
    """A command line without what only shortens or collects its output: the same work, however much is shown."""
    first, *rest = re.split(_PIPE, command)
    shown = first if all(_effect_of_part(part.split()) is Effect.LOOKS for part in rest) else command
    return " ".join(word for word in shown.split() if word != "2>&1")


def work_of(command: str) -> str:
    """What a command line is to do, whatever options it is given: what failed with one may work with another."""
    essence = essence_of(command)
    if "git commit" in programs_of(essence):
        return "git commit"
    return " ".join(word for word in essence.split() if not word.startswith("-"))


def asks_for_version(command: str) -> bool:
    """Whether a command does nothing but ask a program which version it is."""
    words = _bare_words(command.split())
    return len(words) > 1 and words[-1] in _VERSION_OPTIONS and not re.search(_SEPARATOR, command)


def effect_of(command: str) -> Effect:
    """The strongest effect of a command line's parts."""
    plain = _plain(command)
    effects = {_effect_of_part(part.split()) for part in re.split(_SEPARATOR, plain) if part.strip()}
    if re.search(_REDIRECT, plain) or Effect.CHANGES in effects:
        return Effect.CHANGES
    return Effect.TRIES if Effect.TRIES in effects else Effect.LOOKS


def is_measurement(command: str) -> bool:
    """Whether a command line measures something: its output is then what it was run for."""
    return any(_measures(_run_words(_bare_words(part.split()))) for part in re.split(_SEPARATOR, _plain(command)))


def _measures(words: list[str]) -> bool:
    if not words:
        return False
    program = words[0].rsplit("/", 1)[-1]
    if program in _MEASURING or _second_word(program, words[1:]) in _MEASURING_SECOND.get(program, "").split():
        return True
    if program in ("npm", "pnpm", "yarn", "bun", "make", "just", "task"):
        return any(word.split(":", 1)[0] in ("bench", "benchmark", "perf") for word in words[1:])
    return any(word.partition("=")[0] in _MEASURING_OPTIONS for word in words[1:])


def _plain(command: str) -> str:
    """A command line without quoted text, here documents and empty lines around it."""
    return _without_quoted(command.split("<<", 1)[0]).strip()


def _without_quoted(command: str) -> str:
    """A command with nothing in its quotes; what is never closed stays."""
    kept: list[str] = []
    at = last = 0
    unclosed: set[str] = set()
    while (opening := _QUOTE.search(command, at)) is not None:
        at = opening.end()
        end = -1 if opening[0] in unclosed else _closing(command, at, opening[0])
        if end < 0:
            unclosed.add(opening[0])
            continue
        kept += (command[last : opening.start()], "''")
        at = last = end
    return "".join([*kept, command[last:]])


def _closing(command: str, at: int, quote: str) -> int:
    """The place after the quote that closes; -1 when none does."""
    end = command.find(quote, at)
    while quote == '"' and end >= 0 and _is_escaped(command, end):
        end = command.find(quote, end + 1)
    return end + 1 if end >= 0 else -1


def _is_escaped(command: str, at: int) -> bool:
    first = at
    while first > 0 and command[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _bare_words(words: list[str]) -> list[str]:
    """The words of a part without assignments and programs that only start another."""
    at = 0
    while at < len(words) and (re.match(_ASSIGNMENT, words[at]) or words[at] in _WRAPPERS):
        wrapper, at = words[at], at + 1
        while wrapper == "timeout" and at < len(words) and (words[at].startswith("-") or words[at][0].isdecimal()):
            at += 1
    words = words[at:]
    if len(words) > 2 and words[0].startswith("python") and words[1] == "-m":
        words = words[2:]
    return words


def _run_words(words: list[str]) -> list[str]:
    """The words from the program on that `uv run`, `npx` and their like start."""
    if tuple(words[:2]) in _RUNNERS:
        words = words[2:]
    elif words and words[0] in _RUNNING_PROGRAMS:
        words = words[1:]
    else:
        return words
    first = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return _bare_words(words[first:])


def _effect_of_part(words: list[str]) -> Effect:
    words = _bare_words(words)
    if not words:
        return Effect.LOOKS
    program = words[0].rsplit("/", 1)[-1]
    second = _second_word(program, words[1:])
    if program in ("sed", "perl") and any(word.startswith("-i") or word == "--in-place" for word in words[1:]):
        return Effect.CHANGES
    if (program, second) in _CHANGING_THIRD and len(words) > 2 and words[2] in _CHANGING_THIRD[program, second].split():
        return Effect.CHANGES
    if second in _LOOKING_SECOND.get(program, "").split() or (
        len(words) > 2 and words[2] in _LOOKING_THIRD.get((program, second), "").split()
    ):
        return Effect.LOOKS
    if program in _CLOUD_PROGRAMS and (effect := _effect_in_cloud(words[1 : 1 + _MOST_VERB_WORDS])) is not None:
        return effect
    if program in _CHANGING or second in _CHANGING_SECOND.get(program, "").split():
        return Effect.CHANGES
    if program in _LOOKING:
        return Effect.LOOKS
    return Effect.CHANGES if second in _CHANGING_ANYWHERE else Effect.TRIES


def _effect_in_cloud(words: list[str]) -> Effect | None:
    """What the first verb does; services come before it, some of which are called like one: `run`, `deploy`, `logs`.

    To look there is to try: why a cloud refuses to answer is worth knowing.
    """
    verbs = [word.split("-", 1)[0] for word in words]
    known = [at for at, verb in enumerate(verbs) if verb in _CHANGING_VERBS or verb in _LOOKING_VERBS]
    if not known:
        return None
    is_service = known[0] == 0 and len(known) > 1 and "-" not in words[0]
    return Effect.TRIES if verbs[known[is_service]] in _LOOKING_VERBS else Effect.CHANGES


def _second_word(program: str, words: list[str]) -> str:
    """The word that tells what a program is asked to do; options of git that come before it are skipped."""
    at = 0
    while program == "git" and len(words) > at + 1 and words[at] in ("-C", "-c"):
        at += 2
    return words[at] if at < len(words) else ""
