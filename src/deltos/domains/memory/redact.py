"""Takes secrets and private passages out of a text before anything touches the disk. What secrets look like:
secrets.py."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.secrets import RULES

if TYPE_CHECKING:
    from deltos.domains.memory.secrets import SecretRule

_PRIVATE = r"(?is)<private>.*?(?:</private>|\Z)"
_MARK = "[redacted:"
# Values that stand for a secret without being one.
_PLACEHOLDER = (
    r"(?i)^(?:x{3,}|\*{3,}|\.{3,}|<.*|your[_-].*|example.*|change[_-]?me.*|placeholder.*|none|null|true|false|"
    r"redacted.*|.*\.\.\.)$"
)
_CODE = r"^[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+$|^[A-Za-z_]\w*\("
# `password`, `Token`, `HTTP`, `camelCase`, `PBKDF2PasswordHasher`, `sha256`, `2024`; not `hunter2x9`.
_PLAIN_WORD = (
    r"(?:(?:[A-Z]{0,6}[a-z]{2,}|[A-Z][a-z])+[A-Z]{0,4}\d{0,2}|[A-Z]{1,12}|[a-z]|\d{1,8}"
    r"|(?:[A-Z]*[a-z]*(?:SHA|MD|UTF|AES|DF|HTTP|sha|md|utf|aes|base|http|oauth|argon)\d{1,4}(?:[A-Z][a-z]+|[A-Z]{2,4}\d?)*))"
)
_SMALLEST_ENTROPY = 3.0
_LONG_VALUE = 20

_NEVER_CAPTURED = r"""(?ix) (?:^|/) (?:
    \.env(?:\.(?!example|sample|template)[\w.-]+)? | [\w.-]+\.env
    | \.?netrc | _netrc | \.npmrc | \.pypirc | \.pgpass | \.htpasswd | \.dockercfg
    | id_(?:rsa|dsa|ecdsa|ed25519)\w* | [^/]+\.(?:pem|key|p12|pfx|ppk|jks|keystore|kdbx?|asc|gpg|age)
    | (?:[\w.-]*[_.-])?(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|txt|xml|enc))?
    | service[_-]?account[\w.-]*\.json | kubeconfig
    | terraform\.tfstate(?:\.backup)? | [^/]+\.tfvars ) $
    | (?:^|/) \.(?:ssh|aws|gnupg|azure|kube|docker) (?:/|$)"""


class Redacted(NamedTuple):
    """A text that is safe to keep, and the kinds of secret that were in it."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """The text without private passages, each secret replaced by its kind."""
    text = re.sub(_PRIVATE, "", text) if "<private>" in text.lower() else text
    kinds: dict[str, None] = {}
    lowered = text.lower()
    for rule in RULES:
        if any(hint in lowered for hint in rule.hints):
            text = _apply(rule, text, kinds)
    return Redacted(text, tuple(kinds))


def is_secret_file(path: str) -> bool:
    """Whether a file is one whose content must never be captured: `.env`, keys, credentials."""
    return re.search(_NEVER_CAPTURED, path.replace("\\", "/")) is not None


def _apply(rule: SecretRule, text: str, kinds: dict[str, None]) -> str:
    def replaced(match: re.Match[str]) -> str:
        whole = match[0]
        name = next((name for name, value in match.groupdict().items() if value is not None), None)
        secret = whole if name is None else match[name]
        if _MARK in whole or (name is not None and not _is_real(secret, guess=rule.guess)):
            return whole
        kinds[rule.kind] = None
        at = 0 if name is None else match.start(name) - match.start()
        return f"{whole[:at]}{_MARK}{rule.kind}]{whole[at + len(secret) :]}"

    return rule.compiled().sub(replaced, text)


def _is_real(value: str, *, guess: bool) -> bool:
    """Whether a value is a secret rather than a placeholder, a word or a piece of code."""
    if re.match(_PLACEHOLDER, value) or value.startswith(("${", "{{", "$(")):
        return False
    if not guess:
        return True
    if re.match(_CODE, value) or _is_word_like(value):
        return False
    return len(value) < _LONG_VALUE or entropy(value) >= _SMALLEST_ENTROPY


def _is_word_like(value: str) -> bool:
    """Names, paths and prose, not secrets: words, whatever joins them. A secret has digits or odd case inside."""
    return all(re.fullmatch(_PLAIN_WORD, piece) for piece in re.split(r"[^A-Za-z0-9]+", value) if piece)


def entropy(value: str) -> float:
    """Shannon's entropy of a value, in bits per character."""
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())
