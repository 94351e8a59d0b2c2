"""Recognise files whose content must never be captured: `.env`, key files and credentials."""

from __future__ import annotations

import re

# Files whose content is never captured: file names, prefixes, extensions and folders.
_SECRET_NAMES = frozenset(
    """.env .netrc netrc _netrc .npmrc .pypirc .pgpass .htpasswd .dockercfg kubeconfig terraform.tfstate
    terraform.tfstate.backup""".split()
)
_KEY_NAMES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
_KEY_ENDINGS = frozenset("pem key p12 pfx ppk jks keystore kdb kdbx asc gpg age tfvars env".split())
_SECRET_FOLDERS = frozenset(".ssh .aws .gnupg .azure .kube .docker".split())
_CONFIG_ENDINGS = frozenset("json yaml yml toml ini txt xml enc".split())
_CREDENTIAL_NAMES = frozenset("credential credentials secret secrets".split())
_EXAMPLE_FILES = (".env.example", ".env.sample", ".env.template")
_NAME_PARTS = str.maketrans("_-", "..")
_WORD_ENDS = re.compile(r"[\s\"'=<>|;&()]+")


def is_secret_file(path: str) -> bool:
    """Whether the content of a file must never be captured, as for `.env`, keys and credentials."""
    *folders, name = path.replace("\\", "/").lower().split("/")
    if name in _SECRET_NAMES or name in _SECRET_FOLDERS or not _SECRET_FOLDERS.isdisjoint(folders):
        return True
    stem, dot, ending = name.rpartition(".")
    if dot and stem and ending in _KEY_ENDINGS:
        return True
    if name.startswith(".env.") and len(name) > len(".env."):
        return not name.startswith(_EXAMPLE_FILES)
    # Private keys have no suffix, and public keys end with `.pub`
    if name.startswith(_KEY_NAMES) and "." not in name and "-" not in name:
        return True
    if ending == "json" and name.startswith(("service_account", "service-account", "serviceaccount")):
        return True
    plain = stem if dot and ending in _CONFIG_ENDINGS else name
    return plain.translate(_NAME_PARTS).rpartition(".")[2] in _CREDENTIAL_NAMES


def mentions_secret_file(command: str) -> bool:
    """Whether a command line mentions a file that contains secrets."""
    return any(is_secret_file(word) for word in _WORD_ENDS.split(command) if word)
