"""Takes secrets and private passages out of a text before anything touches the disk. What secrets look like:
secrets.py."""

from __future__ import annotations

import re
from typing import NamedTuple

from deltos.domains.memory.secrets import find_secrets

_PRIVATE = r"(?is)<private>.*?(?:</private>|\Z)"
_MARK = "[redacted:"
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
    kept: list[str] = []
    last = 0
    for start, end, kind in find_secrets(text):
        kept += (text[last:start], f"{_MARK}{kind}]")
        last = end
        kinds[kind] = None
    kept.append(text[last:])
    return Redacted("".join(kept), tuple(kinds))


def is_secret_file(path: str) -> bool:
    """Whether a file is one whose content must never be captured: `.env`, keys, credentials."""
    return re.search(_NEVER_CAPTURED, path.replace("\\", "/")) is not None
