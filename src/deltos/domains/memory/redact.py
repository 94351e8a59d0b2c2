"""Takes secrets and private passages out of texts, before anything is shortened, compared or written. secrets/ finds
them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.secrets import MARK, find_answered, find_secrets
from deltos.store.observations import Clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.secrets import SecretSpan

LONGEST_NAME = 4_000
LONGEST_KIND = 42  # of a mark, with its digit and its bracket
_MOST_KNOWN = 500  # each is looked for in every text of an event
_SHORTEST_KNOWN = 6  # shorter ones are words too often to be looked for elsewhere
_OPENING, _CLOSING = "<private>", "</private>"
# How much is looked at on the far side of a cut: a secret that the cut would fall into is seen whole, or is a key of
# more lines, which is recognised line by line.
_MARGIN = 4_000

# Files whose content is never captured: names, beginnings, endings, and the folders that hold such files.
_SECRET_NAMES = frozenset(
    """.env .netrc netrc _netrc .npmrc .pypirc .pgpass .htpasswd .dockercfg kubeconfig terraform.tfstate
    terraform.tfstate.backup""".split()
)
_KEY_NAMES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
_KEY_ENDINGS = frozenset("pem key p12 pfx ppk jks keystore kdb kdbx asc gpg age tfvars env".split())
_SECRET_FOLDERS = frozenset(".ssh .aws .gnupg .azure .kube .docker".split())
_LIST_ENDINGS = frozenset("json yaml yml toml ini txt xml enc".split())
_LIST_NAMES = frozenset("credential credentials secret secrets".split())
_EXAMPLES = (".env.example", ".env.sample", ".env.template")
_NAME_PARTS = str.maketrans("_-", "..")


class Redacted(NamedTuple):
    """A text that is safe to keep, and the kinds of secret that were in it."""

    text: Clean
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """The text without private passages, each secret replaced by its kind."""
    text = _without_private(text)
    spans = find_secrets(text)
    return Redacted(_marked(text, spans), tuple(dict.fromkeys(span.kind for span in spans)))


def redacted_kinds(text: str) -> list[str]:
    """The kinds that marks in a kept text name, one for each mark."""
    kinds = []
    for part in text.split(MARK)[1:]:
        kind, closing, _ = part[:LONGEST_KIND].partition("]")
        if closing and kind.isascii() and kind.replace("-", "").isalnum():
            kinds.append(kind)
    return kinds


@lru_cache(1024)
def redact_name(name: str) -> Clean:
    """A name, an id or a path without what is certainly a secret; that it looks random is its nature.

    One that is too long to be a name is left out: where it is cut, a secret could no longer be told.
    """
    if len(name) > LONGEST_NAME:
        return Clean(f"[{len(name):,} characters left out]")
    return _marked(name, [span for span in find_secrets(name) if span.kind != "high-entropy"])


def redact_tags(tags: Sequence[str]) -> list[str]:
    """Tags without secrets: before they become words in small letters and are cut, where none could be told."""
    return [redact(storable(tag)).text for tag in tags]


def storable(text: str) -> str:
    """A text that SQLite and JSON can carry: no NUL, which could part a secret, no half characters."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class KnownSecrets:
    """What was found in the texts of one event. Elsewhere in them it may stand without what gave it away: the lines of
    a diff without the line above, the output of a command without its option."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._lines: dict[str, str] = {}

    def learn(self, text: str, spans: Sequence[SecretSpan]) -> None:
        """Note the secrets of a text: as a whole those of one line, line by line the others."""
        for start, end, kind in spans:
            value = text[start:end]
            if "\n" in value:
                self._lines.update((line, kind) for line in map(_bare, value.split("\n")) if len(line) > 2)
            elif len(value) >= _SHORTEST_KNOWN and len(self._values) < _MOST_KNOWN:
                self._values[value] = kind

    def taken_out(self, text: Clean) -> Clean:
        """A text without what is known."""
        for value, kind in self._values.items():
            if value in text:
                text = Clean(text.replace(value, f"{MARK}{kind}]"))
        if not self._lines:
            return text
        lines = text.split("\n")
        known = ((line, bare, self._lines.get(bare)) for line, bare in zip(lines, map(_bare, lines), strict=True))
        return Clean("\n".join(line.replace(bare, f"{MARK}{kind}]") if kind else line for line, bare, kind in known))


def _bare(line: str) -> str:
    """A line without the marks of diffs, lists and numbering before it."""
    return line.strip(" \t\r+->|*").lstrip("0123456789").lstrip(".): \t")


def redact_long(text: str, *, most: int, known: KnownSecrets | None = None) -> Clean:
    """A text of any length: redacted whole, or its beginning and its end, cut where no secret stands."""
    text = _without_private(text)
    known = known or KnownSecrets()
    if len(text) <= most:
        spans = find_secrets(text)
        known.learn(text, spans)
        return _marked(text, spans)
    head, tail = _head(text, most // 2, known), _tail(text, most // 2, known)
    left_out = len(text) - head[1] - (len(text) - tail[1])
    return Clean(f"{head[0]}\n[{left_out:,} characters left out]\n{tail[0]}")


def redact_answer(question: str, answer: Clean, *, is_typed: bool, known: KnownSecrets) -> Clean:
    """An answer without the password, key or code that the question asks for. `is_typed`: the user wrote it."""
    spans = find_answered(question, answer, is_typed=is_typed)
    known.learn(answer, spans)
    return _marked(answer, spans)


def _head(text: str, most: int, known: KnownSecrets) -> tuple[Clean, int]:
    """The beginning of a text, redacted, and where it was cut."""
    window = text[: most + _MARGIN]
    spans = find_secrets(window)
    known.learn(window, spans)
    cut = max(window.rfind("\n", 0, most), window.rfind(" ", 0, most), 0)
    cut = next((span.start for span in spans if span.start < cut < span.end), cut)
    return _marked(window[:cut], [span for span in spans if span.end <= cut]), cut


def _tail(text: str, most: int, known: KnownSecrets) -> tuple[Clean, int]:
    """The end of a text, redacted, and where it was cut."""
    first = len(text) - most - _MARGIN
    window = text[first:]
    spans = find_secrets(window)
    known.learn(window, spans)
    found = [place for sign in "\n " if (place := window.find(sign, _MARGIN)) >= 0]
    cut = min(found, default=len(window))
    cut = next((span.end for span in spans if span.start < cut < span.end), cut)
    kept = [span._replace(start=span.start - cut, end=span.end - cut) for span in spans if span.start >= cut]
    return _marked(window[cut:], kept), first + cut


def is_secret_file(path: str) -> bool:
    """Whether a file is one whose content must never be captured: `.env`, keys, credentials."""
    *folders, name = path.replace("\\", "/").lower().split("/")
    if name in _SECRET_NAMES or name in _SECRET_FOLDERS or not _SECRET_FOLDERS.isdisjoint(folders):
        return True
    stem, dot, ending = name.rpartition(".")
    if dot and stem and ending in _KEY_ENDINGS:
        return True
    if name.startswith(".env.") and len(name) > len(".env."):
        return not name.startswith(_EXAMPLES)
    if name.startswith(_KEY_NAMES) and "." not in name and "-" not in name:  # beside each lies `.pub`, for everybody
        return True
    if ending == "json" and name.startswith(("service_account", "service-account", "serviceaccount")):
        return True
    plain = stem if dot and ending in _LIST_ENDINGS else name
    return plain.translate(_NAME_PARTS).rpartition(".")[2] in _LIST_NAMES


def _marked(text: str, spans: Sequence[SecretSpan]) -> Clean:
    kept: list[str] = []
    last = 0
    for start, end, kind in spans:
        kept += (text[last:start], f"{MARK}{kind}]")
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
