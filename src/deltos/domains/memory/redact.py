"""Takes secrets and private passages out of texts, before anything is shortened, compared or written. secrets/ finds
them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.secrets import find_secrets
from deltos.store.memory.rows import Clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.secrets import Span

_MARK = "[redacted:"
_OPENING, _CLOSING = "<private>", "</private>"
# How much is looked at on the far side of a cut: a secret that the cut would fall into is seen whole, or is a key of
# more lines, which is recognised line by line.
_MARGIN = 4_000

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

    text: Clean
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """The text without private passages, each secret replaced by its kind."""
    text = _without_private(text)
    spans = find_secrets(text)
    return Redacted(_marked(text, spans), tuple(dict.fromkeys(span.kind for span in spans)))


@lru_cache(1024)
def redact_name(name: str) -> Clean:
    """A name, an id or a path without what is certainly a secret; that it looks random is its nature."""
    return _marked(name, [span for span in find_secrets(name) if span.kind != "high-entropy"])


def redact_long(text: str, *, most: int) -> Clean:
    """A text of any length: redacted whole, or its beginning and its end, cut where no secret stands."""
    text = _without_private(text)
    if len(text) <= most:
        return _marked(text, find_secrets(text))
    head, tail = _head(text, most // 2), _tail(text, most // 2)
    left_out = len(text) - head[1] - (len(text) - tail[1])
    return Clean(f"{head[0]}\n[{left_out:,} characters left out]\n{tail[0]}")


def _head(text: str, most: int) -> tuple[Clean, int]:
    """The beginning of a text, redacted, and where it was cut."""
    window = text[: most + _MARGIN]
    spans = find_secrets(window)
    cut = max(window.rfind("\n", 0, most), window.rfind(" ", 0, most), 0)
    cut = next((span.start for span in spans if span.start < cut < span.end), cut)
    return _marked(window[:cut], [span for span in spans if span.end <= cut]), cut


def _tail(text: str, most: int) -> tuple[Clean, int]:
    """The end of a text, redacted, and where it was cut."""
    first = len(text) - most - _MARGIN
    window = text[first:]
    spans = find_secrets(window)
    found = [place for sign in "\n " if (place := window.find(sign, _MARGIN)) >= 0]
    cut = min(found, default=len(window))
    cut = next((span.end for span in spans if span.start < cut < span.end), cut)
    kept = [span._replace(start=span.start - cut, end=span.end - cut) for span in spans if span.start >= cut]
    return _marked(window[cut:], kept), first + cut


def is_secret_file(path: str) -> bool:
    """Whether a file is one whose content must never be captured: `.env`, keys, credentials."""
    return re.search(_NEVER_CAPTURED, path.replace("\\", "/")) is not None


def _marked(text: str, spans: Sequence[Span]) -> Clean:
    kept: list[str] = []
    last = 0
    for start, end, kind in spans:
        kept += (text[last:start], f"{_MARK}{kind}]")
        last = end
    kept.append(text[last:])
    return Clean("".join(kept))


def _without_private(text: str) -> str:
    """The text without `<private>` passages; one that is not closed goes on to the end."""
    if "rivate>" not in text and "RIVATE>" not in text:
        return text
    lowered = text.replace("\u0130", "I").lower()
    kept: list[str] = []
    at = 0
    while (opening := lowered.find(_OPENING, at)) >= 0:
        kept.append(text[at:opening])
        closing = lowered.find(_CLOSING, opening)
        at = closing + len(_CLOSING) if closing >= 0 else len(text)
    kept.append(text[at:])
    return "".join(kept)
