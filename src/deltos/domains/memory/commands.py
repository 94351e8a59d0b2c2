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
    realpath readlink seq nl tac clear export set alias wait lsof ss netstat ping dig nslookup nproc sed"""
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
    "gh": "pr issue run repo status",
    "go": "list version env doc",
    "python": "--version -V",
    "node": "--version -v",
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
_SEPARATOR = r"&&|\|\||[;|\n]|(?<!&)&(?!&)"
_ASSIGNMENT = r"^\w+=\S*$"
_REDIRECT = r"(?<![<>&\d-])>{1,2}(?![&>])\s*(?!/dev/)\S"
_QUOTE = re.compile(r"[\"']")
_WRAPPERS = {"sudo", "time", "nice", "nohup", "env", "exec", "command", "xargs", "timeout", "stdbuf"}


def effect_of(command: str) -> Effect:
    """The strongest effect of a command line's parts."""
    plain = _without_quoted(command.split("<<", 1)[0])
    effects = {_effect_of_part(part.split()) for part in re.split(_SEPARATOR, plain) if part.strip()}
    if re.search(_REDIRECT, plain) or Effect.CHANGES in effects:
        return Effect.CHANGES
    return Effect.TRIES if Effect.TRIES in effects else Effect.LOOKS


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


def _effect_of_part(words: list[str]) -> Effect:
    while words and (re.match(_ASSIGNMENT, words[0]) or words[0] in _WRAPPERS):
        words = words[1:]
    if len(words) > 2 and words[0].startswith("python") and words[1] == "-m":
        words = words[2:]
    if not words:
        return Effect.LOOKS
    program = words[0].rsplit("/", 1)[-1]
    second = _second_word(program, words[1:])
    if program in ("sed", "perl") and any(word.startswith("-i") or word == "--in-place" for word in words[1:]):
        return Effect.CHANGES
    if program in _CHANGING or second in _CHANGING_SECOND.get(program, "").split():
        return Effect.CHANGES
    if program in _LOOKING or second in _LOOKING_SECOND.get(program, "").split():
        return Effect.LOOKS
    return Effect.TRIES


def _second_word(program: str, words: list[str]) -> str:
    """The word that tells what a program is asked to do; options of git that come before it are skipped."""
    while program == "git" and len(words) > 1 and words[0] in ("-C", "-c"):
        words = words[2:]
    return words[0] if words else ""
