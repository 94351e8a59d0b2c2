"""Secrets that their surroundings give away: in addresses, headers, cookies, hashes, manifests and lists of credentials."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.secrets.looks import (
    is_code,
    is_number,
    is_placeholder,
    is_random,
    is_random_beside_a_name,
    is_secretive,
    is_type_name,
    is_word_like,
)
from deltos.domains.memory.secrets.spans import Span, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Finder = Callable[[str, str, int], Iterator[Span]]

_ADDRESS = re.compile(r"[^\s\"'`<>\\]{1,2000}+")
_SCHEME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+.-")
_HOST = re.compile(r"[A-Za-z0-9_\[*{$%-]")
_PORT_AND_PATH = re.compile(r"\d{1,5}(?=[/?#]|$)")
_ORACLE = re.compile(r"jdbc:oracle:\w{2,8}:[\w$.-]{1,60}/([^\s@/\"']{1,200})@")
_AUTHORIZATION = re.compile(
    r"authorization[\\\"'`\])]{0,4}[ \t]{0,4}(?:=>|[:=,])[ \t]{0,4}[fbru]?\\?[\"'`]?"
    r"(?:(?:basic|bearer|token|digest|apikey|api-token|api-key|key|ssws|negotiate|ntlm|hawk|oauth|jwt|bot|[a-z0-9-]{2,20})"
    r"(?:[ \t]{1,3}(?:token=)?|=))?",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?:bearer|basic|ssws|api-token)[ \t]{1,3}")
_CREDENTIAL = re.compile(r"[^\s\"'`<>,;\\()\[\]{}]{6,4000}+")
_RESPONSE = re.compile(r"(?:response|signature|mac)=[\"']?([A-Za-z0-9+/=_-]{16,400}+)", re.IGNORECASE)
_COOKIE = re.compile(r"(?:set-)?cookie[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?", re.IGNORECASE)
_COOKIE_PAIR = re.compile(r"([\w.%-]{1,80})=([^\s;,\"'`]{1,4000}+)")
_COOKIE_ATTRIBUTES = frozenset("path domain expires max-age samesite version priority".split())
_HASHES = (
    re.compile(r"\$(?:2[abxy]?)\$\d\d\$[./A-Za-z0-9]{20,60}+"),
    re.compile(r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2(?:-\w{2,8})?|bcrypt-sha256)\$[\w=,.$+/-]{10,400}+"),
    re.compile(r"\$(?:1|5|6|7|y|gy|apr1|md5|sha1|S|P|H)\$[\w./$=,+-]{12,300}+"),
    re.compile(r"(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|scrypt|argon2|md5|sha1|crypt|unsalted_md5)\$[\w./$=,+:-]{20,500}+"),
    re.compile(r"(?:scrypt|pbkdf2):[\w:]{1,40}\$[\w./=+-]{1,60}\$[\w./=+-]{16,300}+"),
    re.compile(r"\{(?:s?sha(?:256|512)?|s?md5|crypt|bcrypt|cleartext)\}[\w./$=+-]{12,300}+", re.IGNORECASE),
)
_HASH_MARKS = ("$2", "$argon2", "$scrypt$", "$pbkdf2", "$bcrypt", "$1$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$apr1$",
    "$md5", "$sha1", "$p$", "$h$", "$s$", "pbkdf2_", "bcrypt_", "scrypt$", "argon2$", "sha1$", "md5$", "scrypt:", "pbkdf2:", 
    "{sha", "{ssha", "{smd5", "{md5", "{crypt", "{bcrypt")  # fmt: skip
_MANIFEST = re.compile(r"kind[\"']?[ \t]*:[ \t]*[\"']?secret\b", re.IGNORECASE)
_DATA = re.compile(r"([ \t]*)(?:[+-])?[ \t]*[\"']?(?:string)?data[\"']?[ \t]*:[ \t]*$", re.IGNORECASE)
_ENTRY = re.compile(r"[+-]?([ \t]+)[\"']?[\w./-]{1,80}[\"']?[ \t]*:[ \t]*[\"']?([^\s\"']{4,100000}+)")
_PGPASS = re.compile(r"[ \t+-]{0,20}[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*$-]{1,60}:[\w*.@-]{1,60}:([^\s:]{3,200}+)[ \t]{0,20}$")
_DUMP = re.compile(r"[\w.$-]{1,60}:\d{1,6}:([0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::")
_LOGIN = re.compile(r"(?:log(?:ged)?[ -]?in|login|sign in|credentials?|creds)\b[^\n]{0,48}", re.IGNORECASE)
_PAIR = re.compile(r"(?<![\w/.:-])[A-Za-z][\w.@-]{1,40}[ ]?[/:][ ]?([^\s/:\"'`,;]{5,100}+)")
_TERRAFORM = re.compile(r"variable[ \t]+\"([\w-]{1,80})\"[ \t]*\{")
_DEFAULT = re.compile(r"default[ \t]*=[ \t]*\"([^\"\n]{1,2000})")
_SQL = re.compile(r"(?:identified(?:[ \t]+with[ \t]+[\w']{1,40})?[ \t]+by|with[ \t]+password|encrypted[ \t]+password|password[ \t]+for[ \t]+\S{1,60}[ \t]*=)[ \t]+'([^'\n]{1,200})", re.IGNORECASE)  # fmt: skip
_SECRET_NAME = re.compile(r"pass|secret|token|key|cred|pwd", re.IGNORECASE)
_SPECIAL = (
    ("telegram-token", "bot", re.compile(r"bot(\d{6,12}:[\w-]{20,60}+)")),
    ("slack-webhook", "hooks.slack.com/", re.compile(r"hooks\.slack\.com/\w{4,12}/([A-Za-z0-9+/]{12,200}+)", re.IGNORECASE)),
    ("discord-webhook", "/api/webhooks/", re.compile(r"/api/webhooks/(\d{6,30}/[\w-]{12,200}+)", re.IGNORECASE)),
    ("teams-webhook", "/webhookb2/", re.compile(r"/webhookb2/([\w@/-]{20,400}+)", re.IGNORECASE)),
    ("teams-webhook", ".logic.azure.com", re.compile(r"\.logic\.azure\.com\S{0,300}?[?&]sig=([\w%-]{12,200}+)", re.IGNORECASE)),
    ("docker-auth", '"auth"', re.compile(r"\"auth\"\s{0,4}:\s{0,4}\"([A-Za-z0-9+/=]{8,2000}+)", re.IGNORECASE)),
    ("otp-secret", "secret=", re.compile(r"secret=([A-Z2-7]{16,64}+)", re.IGNORECASE)),
    ("signed-url", "signature=", re.compile(r"signature=([\w%~.+/=-]{16,2000}+)", re.IGNORECASE)),
    ("signed-url", "sig=", re.compile(r"(?<![a-z])sig=([\w%~.+/=-]{16,2000}+)", re.IGNORECASE)),
)


def find_shapes(text: str, lowered: str) -> Iterator[Span]:
    """Everything that this module knows, in no order."""
    for at in places(lowered, "://"):
        yield from _address(text, at)
    for finder, marks in _FINDERS:
        for mark in marks:
            for at in places(lowered, mark):
                yield from finder(text, lowered, at)
    yield from _special(text, lowered)
    yield from _hashes(text, lowered)
    yield from _manifests(text, lowered)


def _address(text: str, at: int) -> Iterator[Span]:
    """The password of an address, whatever signs it has in it; or a user name that is a token."""
    found = _ADDRESS.match(text, at + 3)
    if found is None or "@" not in found[0]:
        return
    rest = found[0]
    ends = [place for sign in "/?#" if (place := rest.find(sign)) >= 0]
    authority_end = min(ends, default=len(rest))
    last = rest.rfind("@", 0, authority_end)
    if last < 0:
        last = _late_at_sign(rest, authority_end)
    if last <= 0 or not _HOST.match(rest, last + 1):
        return
    user, colon, _ = rest[:last].partition(":")
    begin = at + 3
    if colon:
        secret = rest[len(user) + 1 : last]
        if not is_placeholder(secret):
            yield Span(begin + len(user) + 1, begin + last, "connection-string")
    elif is_random_beside_a_name(user) or is_random(user):
        yield Span(begin, begin + last, "connection-string")


def _late_at_sign(rest: str, authority_end: int) -> int:
    """The sign before the host where the password has a `/`, `?` or `#` in it; -1 where that is a path."""
    head = rest[:authority_end]
    colon = head.find(":")
    if colon < 0 or _PORT_AND_PATH.match(rest, colon + 1) or rest.startswith("[", colon + 1):
        return -1
    return rest.find("@", authority_end, authority_end + 80)


def _oracle(text: str, lowered: str, at: int) -> Iterator[Span]:
    if found := _ORACLE.match(text, at):
        yield Span(found.start(1), found.end(1), "connection-string")


def _authorization(text: str, lowered: str, at: int) -> Iterator[Span]:
    """What follows `Authorization:`, whatever scheme it names."""
    lead = _AUTHORIZATION.match(text, at)
    if lead is None:
        return
    line_end = text.find("\n", lead.end())
    line = text[lead.end() : line_end if line_end >= 0 else len(text)][:4000]
    if "=" in line and ("digest" in lead[0].lower() or "credential=" in line.lower()):
        for found in _RESPONSE.finditer(line):
            yield Span(lead.end() + found.start(1), lead.end() + found.end(1), "authorization")
        return
    found_value = _CREDENTIAL.match(text, lead.end())
    if found_value and not is_placeholder(found_value[0]) and not is_code(found_value[0]) and not is_word_like(found_value[0]):
        yield Span(found_value.start(), found_value.end(), "authorization")


def _bearer(text: str, lowered: str, at: int) -> Iterator[Span]:
    lead = _BEARER.match(lowered, at)
    value = _CREDENTIAL.match(text, lead.end()) if lead else None
    if value and len(value[0]) >= 12 and is_secretive(value[0]):
        yield Span(value.start(), value.end(), "authorization")


def _cookie(text: str, lowered: str, at: int) -> Iterator[Span]:
    """The values of a cookie header; those that are long or random, or that belong to a session."""
    lead = _COOKIE.match(text, at)
    if lead is None:
        return
    line_end = text.find("\n", lead.end())
    line_end = line_end if line_end >= 0 else len(text)
    for pair in _COOKIE_PAIR.finditer(text, lead.end(), min(line_end, lead.end() + 8_000)):
        if pair[1].lower() not in _COOKIE_ATTRIBUTES and _is_cookie_secret(pair[1], pair[2]):
            yield Span(pair.start(2), pair.end(2), "cookie")


def _is_cookie_secret(name: str, value: str) -> bool:
    if is_placeholder(value):
        return False
    telling = any(word in name.lower() for word in ("sess", "sid", "auth", "token", "csrf", "remember", "jwt"))
    return len(value) >= (8 if telling else 16) and is_secretive(value)


def _special(text: str, lowered: str) -> Iterator[Span]:
    for kind, mark, pattern in _SPECIAL:
        for at in places(lowered, mark):
            if found := pattern.match(text, at):
                yield Span(found.start(1), found.end(1), kind)


def _hashes(text: str, lowered: str) -> Iterator[Span]:
    if ("$" in text or "{" in text) and any(mark in lowered for mark in _HASH_MARKS):
        for pattern in _HASHES:
            for found in pattern.finditer(text):
                if any(letter.isdigit() for letter in found[0][6:]) and len(found[0]) > 20:
                    yield Span(found.start(), found.end(), "password-hash")


def _manifests(text: str, lowered: str) -> Iterator[Span]:
    """The values of a Kubernetes Secret, whatever their names."""
    if "secret" not in lowered or not _MANIFEST.search(text):
        return
    at, indent = 0, -1
    for line in text.split("\n"):
        data = _DATA.match(line)
        entry = _ENTRY.match(line) if indent >= 0 else None
        if data is not None:
            indent = len(data[1])
        elif entry is not None and len(entry[1]) > indent:
            if not is_placeholder(entry[2]) and not is_type_name(entry[2]):
                yield Span(at + entry.start(2), at + entry.end(2), "kubernetes-secret")
        elif line.strip() and indent >= 0 and not line.startswith((" ", "\t", "+", "-")):
            indent = -1
        at += len(line) + 1


def _dump(text: str, lowered: str, at: int) -> Iterator[Span]:
    start = max(text.rfind("\n", 0, at) + 1, at - 140)
    if found := _DUMP.search(text, start, at + 3):
        yield Span(found.start(1), found.end(1), "password-hash")


def _pgpass(text: str, lowered: str, at: int) -> Iterator[Span]:
    """`host:port:database:user:password`, as psql keeps them."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    if at - start > 120:
        return
    found = _PGPASS.match(text, start, end if end >= 0 else len(text))
    if found and not is_placeholder(found[1]) and not is_number(found[1]):
        yield Span(found.start(1), found.end(1), "pgpass")


def _credentials(text: str, lowered: str, at: int) -> Iterator[Span]:
    """`log in as admin / …`, `credentials are admin:…`; the pair may stand before the word too."""
    start = max(text.rfind("\n", 0, at) + 1, at - 48)
    end = text.find("\n", at)
    end = min(end if end >= 0 else len(text), at + 80)
    for pair in _PAIR.finditer(text, start, end):
        value = pair[1].rstrip(".!?)")
        if is_secretive(value) and not is_number(value) and any(letter.isdigit() for letter in value):
            yield Span(pair.start(1), pair.start(1) + len(value), "password")


def _variable(text: str, lowered: str, at: int) -> Iterator[Span]:
    """The default of a Terraform variable that is named or marked as secret."""
    block = _TERRAFORM.match(text, at)
    if block is None:
        return
    end = text.find("\n}", block.end(), block.end() + 2_000)
    end = end if end >= 0 else min(len(text), block.end() + 2_000)
    body = text[block.end() : end]
    if not _SECRET_NAME.search(block[1]) and "sensitive" not in body:
        return
    for found in _DEFAULT.finditer(text, block.end(), end):
        if not is_placeholder(found[1]):
            yield Span(found.start(1), found.end(1), "terraform-default")


def _sql(text: str, lowered: str, at: int) -> Iterator[Span]:
    if (found := _SQL.match(text, at)) and not is_placeholder(found[1]):
        yield Span(found.start(1), found.end(1), "password")


_FINDERS: tuple[tuple[Finder, tuple[str, ...]], ...] = (
    (_oracle, ("jdbc:oracle:",)),
    (_authorization, ("authorization",)),
    (_bearer, ("bearer ", "basic ", "ssws ", "api-token ")),
    (_cookie, ("cookie",)),
    (_dump, (":::",)),
    (_pgpass, (":5432:", ":5433:", ":6432:", ":*:")),
    (_credentials, ("log in", "login", "credential", "creds", "sign in")),
    (_variable, ("variable",)),
    (_sql, ("identified", "with password", "encrypted password", "password for")),
)
