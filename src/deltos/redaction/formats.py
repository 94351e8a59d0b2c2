"""Secrets recognised by a fixed format.

They occur in URLs, headers, cookies, password hashes, manifests and lists of credentials.
"""

# `from __future__ import annotations` is omitted, because a named tuple would then compile each annotation whenever a
# hook (a short process that the coding agent starts) starts.
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from deltos.redaction.predicates import (
    has_digit_and_letter,
    is_code,
    is_human_password,
    is_mixed_case,
    is_number,
    is_placeholder,
    is_random,
    is_secret_like,
    is_type_name,
    is_weakly_random,
    is_word_like,
)
from deltos.redaction.spans import BLANK, TOKEN_END, SecretSpan, line_around, offsets, run_end, skip_blanks
from deltos.redaction.word_lists import word_list

Finder = Callable[["FoldedText", int], Iterator[SecretSpan]]


class FoldedText(NamedTuple):
    """A text and its lower-case form."""

    text: str
    lowered: str


_ADDRESS_END = re.compile(r"[\s\"'`<>\\]")
_CREDENTIAL_END = re.compile(r"[\s\"'`<>,;\\()\[\]{}]")
_HASH_END = re.compile(r"[^\w./$=,+:-]")
_QUOTE_OR_LINE = re.compile(r"[\"'`\n\\]")
_EQUALS_SIGN = re.compile(r"=")
_FIRST_HOST_CHARACTER = r"[A-Za-z0-9_\[*{$%-]"
_PORT = re.compile(r"\d{1,5}(?=[/?#]|$)")
_SCHEME = re.compile(r"[A-Za-z0-9-]{2,20}")
_HEX32 = r"[0-9a-fA-F]{32}"
_COOKIE_ATTRIBUTES = frozenset("path domain expires max-age samesite version priority".split())
_SESSION_NAMES = ("sess", "sid", "auth", "token", "csrf", "remember", "jwt")
_SECRET_NAMES = ("pass", "secret", "token", "key", "cred", "pwd")
# Prefixes of password hashes. Other hashes have the algorithm's name before `$`, or in braces.
_HASH_PREFIXES = ("$2a$", "$2b$", "$2y$", "$2x$", "$argon2", "$scrypt$", "$pbkdf2", "$bcrypt-sha256$", "$1$", "$5$",
    "$6$", "$7$", "$y$", "$gy$", "$apr1$", "$p$", "$h$", "$s$")  # fmt: skip
_HASH_NAMES = ("pbkdf2_sha1", "pbkdf2_sha256", "pbkdf2_sha512", "bcrypt_sha256", "scrypt", "argon2", "sha1", "md5")
_MIN_HASH_CHARACTERS = 22
_LDAP_HASHES = ("{sha", "{ssha", "{smd5}", "{md5}", "{crypt}", "{bcrypt}")
# Kind of a secret, the text that precedes it, and its minimum length.
_SECRET_PREFIXES = (
    ("telegram-token", "api.telegram.org/bot", 20),
    ("slack-webhook", "hooks.slack.com/", 24),
    ("discord-webhook", "/api/webhooks/", 30),
    ("teams-webhook", "/webhookb2/", 30),
    ("signed-url", "signature=", 16),
    ("signed-url", "&sig=", 12),
    ("signed-url", "?sig=", 12),
    ("signed-url", "x-amz-security-token=", 16),
    ("otp-secret", "?secret=", 12),
    ("otp-secret", "&secret=", 12),
)
_TWO_STRING_ARGUMENTS = r"\s{0,8}[\"'][^\"'\n]{1,100}[\"'],\s{0,8}[\"']([^\"'\s]{4,100})[\"']"
_MAX_PGPASS_FIELD_CHARACTERS = 120
_SECRET_END = re.compile(r"[^\w%~.+/=@:-]")
_BLOCK_END = "\n}"
_CREDENTIAL_WORDS = word_list("words before a login")
# Headings before a user name and password, such as "Login:".
_PAIR_HEADINGS = word_list("headings of logins")
_SQL_LEADS = ("identified by", "with password", "encrypted password", "identified with mysql_native_password by")


def find_formatted(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the secrets of all formats in this module, in no particular order."""
    source = FoldedText(text, lowered)
    for finder, marks in _FINDERS:
        for mark in marks:
            for at in offsets(lowered, mark):
                yield from finder(source, at)
    yield from _url_passwords(text)
    yield from _prefixed_secrets(text, lowered)
    yield from _password_hashes(text, lowered)
    yield from _kubernetes_secrets(text, lowered)
    yield from _credentials(text, lowered)


def _url_passwords(text: str) -> Iterator[SecretSpan]:
    """Yield passwords in URLs, which may contain any special characters, and user names that are tokens."""
    done = 0
    for at in offsets(text, "://"):
        if at < done:
            continue
        begin = at + 3
        done = run_end(text, begin, _ADDRESS_END)
        rest = text[begin:done]
        last = _host_separator_offset(rest)
        if last <= 0 or not re.match(_FIRST_HOST_CHARACTER, rest[last + 1 : last + 2]):
            continue
        user, colon, secret = rest[:last].partition(":")
        if colon and not is_placeholder(secret):
            yield SecretSpan(begin + len(user) + 1, begin + last, "connection-string")
        elif not colon and (is_weakly_random(user) or is_random(user)):
            yield SecretSpan(begin, begin + last, "connection-string")


def _host_separator_offset(rest: str) -> int:
    """Return the offset of the `@` before the host, even if the password contains `@`, `/`, `?` or `#`, or -1."""
    ends = [place for sign in "/?#" if (place := rest.find(sign)) >= 0]
    authority = min(ends, default=len(rest))
    last = rest.rfind("@", 0, authority)
    colon = rest.find(":", 0, authority)
    if last >= 0 or colon < 0 or _PORT.match(rest, colon + 1) or rest.startswith("[", colon + 1):
        return last
    return rest.find("@", authority, authority + 80)


def _netrc_passwords(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the password in `machine … login … password …`, on one line or on several."""
    words = source.text[at : at + 400].split(maxsplit=6)
    if len(words) > 5 and (words[2].lower(), words[4].lower()) == ("login", "password"):
        start = source.text.find(words[5], source.lowered.find("password", at) + len("password"))
        if not words[5].startswith(("<", "$", "{", "[")):
            yield SecretSpan(start, start + len(words[5]), "netrc-password")


def _oracle_passwords(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the password in `jdbc:oracle:thin:user/password@host`."""
    text = source.text
    rest = text[at : run_end(text, at, _ADDRESS_END, max_characters=300)]
    slash, sign = rest.find("/"), rest.rfind("@")
    if 0 < slash < sign and slash + 1 < sign:
        yield SecretSpan(at + slash + 1, at + sign, "connection-string")


def _authorization_credentials(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the credential after `Authorization:`, for any scheme."""
    text = source.text
    at += len("authorization")
    while text[at : at + 1] in ("\\", '"', "'", "`", "]", ")"):
        at += 1
    at = skip_blanks(text, at)
    if text[at : at + 1] not in (":", "=", ","):
        return
    at = skip_blanks(text, at + (2 if text.startswith("=>", at) else 1))
    while text[at : at + 1] in ("\\", '"', "'", "`"):
        at += 1
    end = min(run_end(text, at, _QUOTE_OR_LINE), at + 4_000)
    yield from _scheme_and_credential(text, at, end)


def _scheme_and_credential(text: str, at: int, end: int) -> Iterator[SecretSpan]:
    """Yield the credential after an optional scheme such as `Bearer` or `Basic`."""
    scheme = _SCHEME.match(text, at, end)
    if scheme and text[scheme.end() : scheme.end() + 1] in (" ", "\t", "="):
        if scheme[0].lower() in ("digest", "aws4-hmac-sha256", "hawk", "oauth"):
            return  # The secrets of these schemes are found by named_values.py and _SECRET_PREFIXES.
        at = skip_blanks(text, scheme.end() + 1)
    if text.startswith("token=", at):
        at += 6
    value = text[at : min(end, run_end(text, at, _CREDENTIAL_END))]
    if len(value) > 5 and not is_placeholder(value) and not is_code(value) and not is_word_like(value):
        yield SecretSpan(at, at + len(value), "authorization")


def _bearer_credentials(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the credential after `Bearer` where the text does not contain `Authorization:`."""
    text = source.text
    at = skip_blanks(text, run_end(text, at, BLANK))
    value = text[at : run_end(text, at, _CREDENTIAL_END)]
    if len(value) > 11 and is_secret_like(value):
        yield SecretSpan(at, at + len(value), "authorization")


def _digest_response(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the response to an authentication challenge: `response="…"`, `mac="…"`."""
    text = source.text
    start = run_end(text, at, _EQUALS_SIGN) + 1
    start += text[start : start + 1] == '"'
    value = text[start : run_end(text, start, TOKEN_END)]
    if len(value) > 15 and has_digit_and_letter(value):
        yield SecretSpan(start, start + len(value), "authorization")


def _cookie_values(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the secret values in a cookie header, such as session ids."""
    text = source.text
    sign = skip_blanks(text, at + len("cookie"))
    sign += text[sign : sign + 1] in ('"', "'")
    if text[sign : sign + 1] not in (":", "="):
        return
    place, end = sign + 1, line_around(text, at)[1]
    for pair in text[place:end].split(";"):
        name, equals, value = pair.partition("=")
        value = value[: run_end(value, 0, _ADDRESS_END)].rstrip(",")
        if equals and _is_cookie_secret(name.strip("\"' ").lower(), value):
            start = place + len(name) + 1
            yield SecretSpan(start, start + len(value), "cookie")
        place += len(pair) + 1


def _is_cookie_secret(name: str, value: str) -> bool:
    """Whether a cookie value is a secret; values of session cookies may be shorter."""
    if name in _COOKIE_ATTRIBUTES or is_placeholder(value):
        return False
    return len(value) >= (8 if any(word in name for word in _SESSION_NAMES) else 16) and is_secret_like(value)


def _prefixed_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the secrets after texts that always precede a secret, such as `signature=`."""
    for kind, mark, min_characters in _SECRET_PREFIXES:
        done = 0
        for at in offsets(lowered, mark):
            start = at + len(mark)
            if start < done:
                continue
            done = run_end(text, start, _SECRET_END)
            value = text[start:done].rstrip(".:")
            if len(value) >= min_characters and has_digit_and_letter(value) and not is_placeholder(value):
                yield SecretSpan(start, start + len(value), kind)


def _docker_auth(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the credentials in `"auth": "dXNlcjpwYXNz"`."""
    text = source.text
    opening = text.find('"', at + len('"auth"'), at + 16)
    value = text[opening + 1 : run_end(text, opening + 1, TOKEN_END)] if opening >= 0 else ""
    if len(value) > 7 and ":" in text[at + 6 : opening] and not is_word_like(value):
        yield SecretSpan(opening + 1, opening + 1 + len(value), "docker-auth")


def _password_hashes(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield password hashes in the formats of crypt(3), Django, Werkzeug, passlib and LDAP."""
    done = 0
    for at in offsets(text, "$"):
        start = at if lowered.startswith(_HASH_PREFIXES, at) else _hash_name_start(lowered, at)
        if start < done:
            continue
        end = run_end(text, at, _HASH_END)
        value = text[start:end].rstrip(".:,")
        if len(value) >= _MIN_HASH_CHARACTERS and value.count("$") > 1 and has_digit_and_letter(text[at + 3 : end]):
            done = end
            yield SecretSpan(start, start + len(value), "password-hash")
    for mark in _LDAP_HASHES:
        for at in offsets(lowered, mark):
            end = run_end(text, at + len(mark), _HASH_END)
            end = run_end(text, end + 1, _HASH_END) if text[end : end + 1] == "}" else end
            if end - at > 20:
                yield SecretSpan(at, end, "password-hash")


def _hash_name_start(lowered: str, at: int) -> int:
    """Return the start of the name before the `$` of a password hash (`sha1$…`, `scrypt:32768:8:1$…`), or -1."""
    before = lowered[max(0, at - 40) : at]
    for name in _HASH_NAMES:
        if before.endswith(name):
            return at - len(name)
    found = max(before.rfind("scrypt:"), before.rfind("pbkdf2:"))
    return at - len(before) + found if found >= 0 and " " not in before[found:] else -1


def _kubernetes_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield all values in a Kubernetes Secret."""
    if not any(lowered[at + 5 : at + 17].strip(" \t\"'").startswith("secret") for at in offsets(lowered, "kind:")):
        return
    place, indent = 0, -1
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        plain = value.strip().strip("\"'")
        depth = len(name) - len(name.lstrip(" \t+-"))
        if colon and not plain and name.strip(" \t\"'+-").lower() in ("data", "stringdata"):
            indent = depth
        elif indent >= 0 and colon and depth > indent:
            if len(plain) > 3 and " " not in plain and not is_placeholder(plain) and not is_type_name(plain):
                start = place + len(name) + 1 + value.find(plain)
                yield SecretSpan(start, start + len(plain), "kubernetes-secret")
        elif line.strip() and depth <= indent:
            indent = -1
        place += len(line) + 1


def _account_dump_hashes(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the hashes in `user:500:LM hash:NT hash:::`, the format of Windows account dumps."""
    text = source.text
    start = line_around(text, at)[0]
    fields = text[start:at].rsplit(":", 3)
    if len(fields) == 4 and all(re.fullmatch(_HEX32, field) for field in fields[-2:]):
        yield SecretSpan(at - 65, at, "password-hash")


def _pgpass_passwords(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the password in `host:port:database:user:password`, the format of psql's password file."""
    text = source.text
    low = max(0, at - _MAX_PGPASS_FIELD_CHARACTERS)
    start = max(low, *(text.rfind(blank, low, at) + 1 for blank in " \t\n"))
    fields = text[start : run_end(text, at, BLANK, max_characters=2 * _MAX_PGPASS_FIELD_CHARACTERS)].split(":", 5)
    if len(fields) != 5 or len(fields[4]) < 3:
        return
    if not is_placeholder(fields[4]) and not is_number(fields[4]):
        begin = start + sum(map(len, fields[:4])) + 4
        yield SecretSpan(begin, begin + len(fields[4]), "pgpass")


def _credentials(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the passwords in `log in as admin / …` and `user/pass: admin / …`.

    The user name and password may also come before the phrase.
    """
    done = 0
    leads = [(at, at - 60) for word in _CREDENTIAL_WORDS for at in offsets(lowered, word)]
    leads += [(at, at) for name in _PAIR_HEADINGS for at in offsets(lowered, name)]
    for at, first in sorted(leads):
        start = max(done, first, text.rfind("\n", max(0, at - 60), at) + 1)
        line_end = text.find("\n", at, at + 90)
        done = line_end if line_end >= 0 else min(len(text), at + 90)
        yield from _paired_passwords(text, start, done)


def _paired_passwords(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    """Yield the passwords in `admin / …` and `admin:…` between two offsets."""
    for sign in ("/", ":"):
        for place in offsets(text[start:end], sign):
            found = start + place
            before = text[max(start, found - 2) : found].rstrip(" ")
            value_start = skip_blanks(text, found + 1, max_characters=2)
            value = text[value_start : min(end, run_end(text, value_start, _CREDENTIAL_END))].rstrip(".!?:")
            if before[-1:].isalnum() and _is_paired_password(value):
                yield SecretSpan(value_start, value_start + len(value), "password")


def _is_paired_password(value: str) -> bool:
    """Whether the second value of a user name and password pair looks like a password."""
    if len(value) < 6 or "/" in value or is_placeholder(value) or is_code(value):
        return False
    if not has_digit_and_letter(value) and not is_mixed_case(value):
        return False
    return is_secret_like(value) or is_human_password(value)


def _login_call(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the password in `smtp.login('user', '…')`."""
    text = source.text
    words = re.match(_TWO_STRING_ARGUMENTS, text[at + len("login(") : at + 300])
    if words and not is_placeholder(words[1]) and not is_type_name(words[1]):
        yield SecretSpan(at + len("login(") + words.start(1), at + len("login(") + words.end(1), "password")


def _terraform_defaults(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the default of a Terraform variable that is named or marked as secret."""
    text = source.text
    opening = text.find("{", at, at + 120)
    if opening < 0 or '"' not in text[at:opening] or "\n" in text[at:opening]:
        return
    end = text.find(_BLOCK_END, opening, opening + 2_000)
    end = end if end >= 0 else min(len(text), opening + 2_000)
    if (
        not any(word in source.lowered[at:opening] for word in _SECRET_NAMES)
        and "sensitive" not in source.lowered[opening:end]
    ):
        return
    default = text.find("default", opening, end)
    first = text.find('"', default, line_around(text, default)[1]) if default >= 0 else -1
    last = text.find('"', first + 1, line_around(text, default)[1]) if first >= 0 else -1
    if last > first + 1 and not is_placeholder(text[first + 1 : last]):
        yield SecretSpan(first + 1, last, "terraform-default")


def _sql_passwords(source: FoldedText, at: int) -> Iterator[SecretSpan]:
    """Yield the password in `IDENTIFIED BY '…'` and `WITH PASSWORD '…'`."""
    text = source.text
    lead = next((lead for lead in _SQL_LEADS if source.lowered.startswith(lead, at)), "")
    opening = skip_blanks(text, at + len(lead))
    if lead and text[opening : opening + 1] == "'":
        end = text.find("'", opening + 1, opening + 300)
        value = text[opening + 1 : end] if end >= 0 else ""
        if len(value) > 3 and " " not in value and not is_placeholder(value) and not is_type_name(value):
            yield SecretSpan(opening + 1, end, "password")


_FINDERS: tuple[tuple[Finder, tuple[str, ...]], ...] = (
    (_netrc_passwords, ("machine ",)),
    (_oracle_passwords, ("jdbc:oracle:",)),
    (_authorization_credentials, ("authorization",)),
    (_bearer_credentials, ("bearer ", "basic ", "ssws ", "api-token ")),
    (_digest_response, ("response=", " mac=")),
    (_cookie_values, ("cookie",)),
    (_docker_auth, ('"auth"',)),
    (_account_dump_hashes, (":::",)),
    (_login_call, ("login(",)),
    (_pgpass_passwords, (":5432:", ":5433:", ":6432:", ":*:")),
    (_terraform_defaults, ("variable",)),
    (_sql_passwords, ("identified ", "with password", "encrypted password")),
)
