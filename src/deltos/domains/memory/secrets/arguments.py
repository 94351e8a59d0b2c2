"""Secrets on command lines, where a program's options say so: `mysql -p…`, `curl -u user:…`, `sshpass -p …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.secrets.looks import is_number, is_placeholder, is_secretive, is_type_name
from deltos.domains.memory.secrets.spans import Span, places

if TYPE_CHECKING:
    from collections.abc import Iterator

# Programs and the options whose value is a password: `-p*` with the value attached, `-p` with the value after it,
# `-u:` a user and a password after that sign, `@login` what follows that word. A bare word must stand in the command.
_OPTIONS = {
    "mysql mysqldump mysqladmin mysqlimport mariadb mysqlsh mariadb-dump mysqlpump": "-p*",
    "sshpass": "-p -p*",
    "docker podman nerdctl helm buildah skopeo oras crane az": "login -p --creds: -p*",
    "twine": "-p",
    "redis-cli": "-a --pass",
    "mongo mongosh mongodump mongorestore mongoexport mongoimport": "-p -p*",
    "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami": "-w -s",
    "smbclient rpcclient winexe smbget net": "-U%",
    "unzip zip": "-P",
    "7z 7za 7zr rar unrar": "-p* -hp*",
    "sqlcmd bcp osql mssql-cli": "-P -P*",
    "lftp": "-u,",
    "curl": "-u: --user: --proxy-user: -U: -b= --cookie=",
    "http https httpie xh": "-a: --auth:",
    "wget": "--http-password --password --ftp-password",
    "ncftpput ncftpget ncftp": "-p",
    "openssl": "-passin -passout -k -pass -K",
    "keytool jarsigner": "-storepass -keypass -srcstorepass -deststorepass",
    "ssh-keygen": "-N -P",
    "gpg gpg2": "--passphrase",
    "snmpwalk snmpget snmpset snmpbulkwalk": "-A -X -c",
    "mosquitto_pub mosquitto_sub": "-P",
    "ipmitool": "-P",
    "xfreerdp wfreerdp": "/p:*",
    "oathtool": "-b",
    "doctl": "-t",
    "dotnet nuget": "-k --api-key",
    "bitcoin-cli": "@importprivkey",
    "vault cargo snyk": "@login @auth",
    "useradd usermod": "-p",
    "htpasswd": "-b",
}
_PROGRAMS = {name: options.split() for names, options in _OPTIONS.items() for name in names.split()}
_PROGRAM_NAMES = frozenset(_PROGRAMS)
_APART = {ord(sign): " " for sign in "\"'`$()|&;/"}
_NOT_BEFORE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_WORD = re.compile(r"(?:\"((?:[^\"\\\n]|\\.){0,500}+)|'([^'\n]{0,500}+)|([^\s\"'`|;&<>]{1,500}+))")
_LINE = re.compile(r"(?:[^\n\\;|&]|\\[\s\S]?){0,600}+")
_NET_USER = re.compile(r"[ \t]+user[ \t]+\S{1,60}[ \t]+([^\s/\"']{4,100}+)")
_PIPED = re.compile(r"(?:echo|printf)(?:[ \t]+-[ne]{1,2})?[ \t]+(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s|\"']{1,300}+))[ \t]*\|[^\n]{0,160}")
_TAKES_PASSWORD = re.compile(r"--password-stdin|sudo[ \t]+-S|chpasswd|passwd[ \t]+--stdin|--with-token|login|cryptsetup|secret|--stdin")


def find_arguments(text: str, lowered: str) -> Iterator[Span]:
    """Passwords among the arguments of programs that are known to take them."""
    for program in _PROGRAM_NAMES.intersection(lowered.translate(_APART).split()):
        for at in places(lowered, program):
            end = at + len(program)
            if _stands_alone(text, at, end):
                yield from _in_command(text, end, _PROGRAMS[program])
                if program == "net":
                    yield from _net_user(text, end)
    for mark in ("echo ", "printf "):
        for at in places(lowered, mark):
            yield from _piped(text, at)


def _stands_alone(text: str, at: int, end: int) -> bool:
    return (at == 0 or text[at - 1] not in _NOT_BEFORE) and text[end : end + 1] in (" ", "\t", "")


def _in_command(text: str, at: int, options: list[str]) -> Iterator[Span]:
    line = _LINE.match(text, at)
    end = line.end() if line else at
    words = list(_WORD.finditer(text, at, end))
    if any(option.isalpha() and all(option != word[0] for word in words) for option in options):
        return
    for number, word in enumerate(words):
        for option in options:
            yield from _argument(text, words, number, word, option)


def _argument(text: str, words: list[re.Match[str]], number: int, word: re.Match[str], option: str) -> Iterator[Span]:
    bare = word[0]
    if option.endswith("*"):
        flag = option[:-1]
        if bare.startswith(flag) and not bare.startswith("--"):
            yield from _attached(words, number, word, flag)
        return
    sign = option[-1] if option[-1] in ":%,=" else ""
    flag = option.removesuffix(sign).removeprefix("@")
    if option.isalpha():
        return
    if bare == flag and number + 1 < len(words):
        yield from _judged(words[number + 1], sign)
    elif sign and len(flag) == 2 and bare.startswith(flag) and not bare.startswith("--") and len(bare) > 2:
        yield from _judged(word, sign, skip=2)
    elif bare.startswith(flag + "=") and flag.startswith("--"):
        yield from _judged(word, sign, skip=len(flag) + 1)


def _attached(words: list[re.Match[str]], number: int, word: re.Match[str], flag: str) -> Iterator[Span]:
    """`-pVALUE`, or `-p'VALUE'`, which is two of our words that touch."""
    if len(word[0]) > len(flag):
        value = word[0][len(flag) :]
        if not is_placeholder(value) and len(value) > 2:
            yield Span(word.start() + len(flag), word.end(), "password")
    elif number + 1 < len(words) and words[number + 1].start() == word.end():
        yield from _judged(words[number + 1], "")


def _judged(word: re.Match[str], sign: str, skip: int = 0) -> Iterator[Span]:
    group = next(number for number in (1, 2, 3) if word[number] is not None)
    start, value = word.start(group) + skip, word[group][skip:]
    if sign:
        before, found, after = value.partition(sign)
        if not found or (sign == "=" and not is_secretive(after)):
            return
        start, value = start + len(before) + 1, after
        if not value and sign == ":" and len(before) > 12:
            start, value = start - len(before) - 1, before  # Stripe: `-u sk_live_…:`
    if value.startswith(("pass:", "env:", "file:", "fd:")):
        kind, _, rest = value.partition(":")
        if kind != "pass":
            return
        start, value = start + 5, rest
    if len(value) < 3 or value.startswith("-") or is_placeholder(value) or (value.islower() and is_type_name(value)):
        return
    yield Span(start, start + len(value), "password")


def _net_user(text: str, at: int) -> Iterator[Span]:
    if (found := _NET_USER.match(text, at)) and not is_placeholder(found[1]):
        yield Span(found.start(1), found.end(1), "password")


def _piped(text: str, at: int) -> Iterator[Span]:
    """`echo … | docker login --password-stdin`."""
    found = _PIPED.match(text, at)
    if found is None or not _TAKES_PASSWORD.search(found[0]):
        return
    group = next(number for number in (1, 2, 3) if found[number] is not None)
    if not is_placeholder(found[group]) and not is_number(found[group]):
        yield Span(found.start(group), found.end(group), "password")
