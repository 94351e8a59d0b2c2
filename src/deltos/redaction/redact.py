"""Remove secrets and private passages from texts before the texts are truncated, compared or stored."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.model import Clean
from deltos.redaction.secrets import MARK, find_secrets, find_secrets_in_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.redaction.secrets import SecretSpan

MAX_NAME_CHARACTERS = 4_000
MAX_KIND_CHARACTERS = 42  # maximum length of the kind in a redaction mark, including a digit and the closing bracket
_MAX_KNOWN_SECRETS = 500  # maximum number of known secrets, because each text of an event is searched for all of them
_MIN_KNOWN_CHARACTERS = 6  # minimum length of a known secret; shorter secrets are often ordinary words
_OPENING, _CLOSING = "<private>", "</private>"
# Number of characters searched beyond the point of truncation, to find secrets that extend beyond it. Longer secrets
# are multi-line keys, which are recognised line by line.
_SEARCH_MARGIN_CHARACTERS = 4_000


class Redacted(NamedTuple):
    """A redacted text, and the kinds of secrets that were removed."""

    text: Clean
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Return the text without private passages and with each secret replaced by a mark such as `[redacted:jwt]`."""
    text = _remove_private_passages(text)
    spans = find_secrets(text)
    return Redacted(_replace_spans(text, spans), tuple(dict.fromkeys(span.kind for span in spans)))


def redacted_kinds(text: str) -> list[str]:
    """Return the kind of each redaction mark in a stored text."""
    kinds = []
    for part in text.split(MARK)[1:]:
        kind, closing, _ = part[:MAX_KIND_CHARACTERS].partition("]")
        if closing and kind.isascii() and kind.replace("-", "").isalnum():
            kinds.append(kind)
    return kinds


@lru_cache(1024)
def redact_name(name: str) -> Clean:
    """Return a name, id or path without recognisable secrets, keeping names that merely look random.

    A name that is too long is replaced entirely, because truncating it could prevent the detection of a secret.
    """
    if len(name) > MAX_NAME_CHARACTERS:
        return Clean(f"[{len(name):,} characters left out]")
    return _replace_spans(name, [span for span in find_secrets(name) if span.kind != "high-entropy"])


def redact_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags without secrets; must be called before tags are lower-cased and shortened."""
    return [redact(storable(tag)).text for tag in tags]


def storable(text: str) -> str:
    """Return a text that SQLite and JSON can store.

    Surrogates are replaced. NUL is removed, because it could split a secret.
    """
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class KnownSecrets:
    """Secrets found in the texts of one captured event, such as a prompt or a tool call.

    Other texts of the event may contain the same secret without the words that reveal it. For example, a diff may omit
    the line above the secret.
    """

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._lines: dict[str, str] = {}

    def learn(self, text: str, spans: Sequence[SecretSpan]) -> None:
        """Record the secrets in a text as known secrets; multi-line secrets are recorded line by line."""
        for start, end, kind in spans:
            value = text[start:end]
            if "\n" in value:
                self._lines.update(
                    (line, kind) for line in map(_strip_line_markers, value.split("\n")) if len(line) > 2
                )
            elif len(value) >= _MIN_KNOWN_CHARACTERS and len(self._values) < _MAX_KNOWN_SECRETS:
                self._values[value] = kind

    def redact_known(self, text: Clean) -> Clean:
        """Replace all known secrets in a text with redaction marks."""
        for value, kind in self._values.items():
            if value in text:
                text = Clean(text.replace(value, f"{MARK}{kind}]"))
        if not self._lines:
            return text
        lines = text.split("\n")
        known = (
            (line, plain_line, self._lines.get(plain_line))
            for line, plain_line in zip(lines, map(_strip_line_markers, lines), strict=True)
        )
        return Clean(
            "\n".join(line.replace(plain_line, f"{MARK}{kind}]") if kind else line for line, plain_line, kind in known)
        )


def _strip_line_markers(line: str) -> str:
    """Remove diff marks, list marks and line numbers from a line."""
    return line.strip(" \t\r+->|*").lstrip("0123456789").lstrip(".): \t")


def redact_long(text: str, *, max_characters: int, known: KnownSecrets | None = None) -> Clean:
    """Redact a text of any length.

    Of a long text, only the beginning and the end are kept, without splitting a secret.
    """
    text = _remove_private_passages(text)
    known = known or KnownSecrets()
    if len(text) <= max_characters:
        spans = find_secrets(text)
        known.learn(text, spans)
        return _replace_spans(text, spans)
    head, tail = _redact_head(text, max_characters // 2, known), _redact_tail(text, max_characters // 2, known)
    left_out = len(text) - head[1] - (len(text) - tail[1])
    return Clean(f"{head[0]}\n[{left_out:,} characters left out]\n{tail[0]}")


def redact_answer(question: str, answer: Clean, *, is_typed: bool, known: KnownSecrets) -> Clean:
    """Return a user's answer without the password, key or code that the agent's question asks for."""
    spans = find_secrets_in_answer(question, answer, is_typed=is_typed)
    known.learn(answer, spans)
    return _replace_spans(answer, spans)


def _redact_head(text: str, max_characters: int, known_secrets: KnownSecrets) -> tuple[Clean, int]:
    """Return the redacted beginning of a text, and the offset at which the text was truncated."""
    window = text[: max_characters + _SEARCH_MARGIN_CHARACTERS]
    spans = find_secrets(window)
    known_secrets.learn(window, spans)
    cut = max(window.rfind("\n", 0, max_characters), window.rfind(" ", 0, max_characters), 0)
    cut = next((span.start for span in spans if span.start < cut < span.end), cut)
    return _replace_spans(window[:cut], [span for span in spans if span.end <= cut]), cut


def _redact_tail(text: str, max_characters: int, known_secrets: KnownSecrets) -> tuple[Clean, int]:
    """Return the redacted end of a text, and the offset at which this end begins."""
    first = len(text) - max_characters - _SEARCH_MARGIN_CHARACTERS
    window = text[first:]
    spans = find_secrets(window)
    known_secrets.learn(window, spans)
    found = [place for sign in "\n " if (place := window.find(sign, _SEARCH_MARGIN_CHARACTERS)) >= 0]
    cut = min(found, default=len(window))
    cut = next((span.end for span in spans if span.start < cut < span.end), cut)
    kept = [span._replace(start=span.start - cut, end=span.end - cut) for span in spans if span.start >= cut]
    return _replace_spans(window[cut:], kept), first + cut


def _replace_spans(text: str, spans: Sequence[SecretSpan]) -> Clean:
    """Replace each span of a secret with a redaction mark."""
    kept: list[str] = []
    last = 0
    for start, end, kind in spans:
        kept += (text[last:start], f"{MARK}{kind}]")
        last = end
    kept.append(text[last:])
    return Clean("".join(kept))


def _remove_private_passages(text: str) -> str:
    """Remove `<private>` passages; an unclosed passage extends to the end."""
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
