"""Provide access to hook input without secrets.

The received JSON is private to `Payload`; every text is redacted before callers can select or truncate it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.errors import BadArgument
from deltos.redaction.redact import KnownSecrets, redact_answer, redact_long, redact_name, storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deltos.model import Clean

# Maximum size of hook input. Longer input is rejected, because the agent waits for the hook.
MAX_INPUT_BYTES = 8_000_000
# Limits per text and per event; redaction of the maximum takes about 15 ms of CPU time. A truncated text states the
# number of omitted characters.
MAX_CHARACTERS_PER_TEXT = 32_000
MAX_CHARACTERS_PER_EVENT = 120_000
_MIN_CHARACTERS_PER_TEXT = 2_000
# Fields of a tool response that contain text.
_TEXT_FIELDS = (
    "stdout",
    "stderr",
    "error",
    "message",
    "output",
    "llmContent",
    "textResultForLlm",
    "text_result_for_llm",
    "result",
    "results",
    "text",
    "content",
    "returnDisplay",
)
_MAX_NESTING_DEPTH = 40


class RedactionBudget:
    """Number of characters of one event that may still be redacted; longer texts are truncated."""

    def __init__(self, characters: int = MAX_CHARACTERS_PER_EVENT) -> None:
        self._left = characters
        self._known = KnownSecrets()

    def clean(self, text: str) -> Clean:
        """Redact a text; truncate it if the text is long or the budget of the event is nearly exhausted."""
        max_characters = max(_MIN_CHARACTERS_PER_TEXT, min(MAX_CHARACTERS_PER_TEXT, self._left))
        self._left -= min(len(text), max_characters)
        return redact_long(text, max_characters=max_characters, known=self._known)

    def clean_answer(self, question: str, answer: Clean, *, is_typed: bool) -> Clean:
        """Redact a user's answer if the question asks for a secret."""
        return redact_answer(question, answer, is_typed=is_typed, known=self._known)

    def redact_known(self, text: Clean) -> Clean:
        """Return a text without secrets that were found in other texts of the same event."""
        return self._known.redact_known(text)


class Payload:
    """The fields of hook input by name; methods return only redacted texts, numbers and flags."""

    def __init__(self, fields: Mapping[str, Any], allowance: RedactionBudget | None = None) -> None:
        self._fields = fields
        self._budget = allowance or RedactionBudget()

    @classmethod
    def parse(cls, raw: bytes) -> Payload:
        """Parse hook input; raise an error if it is too long or not a JSON object."""
        if len(raw) > MAX_INPUT_BYTES:
            raise BadArgument(f"The hook's input has {len(raw):,} bytes; the limit is {MAX_INPUT_BYTES:,}")
        try:
            fields = json.loads(raw.decode("utf-8", "replace") or "{}")
        except (ValueError, RecursionError) as exc:
            raise BadArgument(f"The hook's input is not JSON ({exc})") from None
        if not isinstance(fields, dict):
            raise BadArgument("The hook's input is not a JSON object")
        return cls(fields)

    def __bool__(self) -> bool:
        return bool(self._fields)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def text(self, *names: str) -> Clean:
        """Return the redacted text of the first of the given fields that contains text."""
        return self._budget.clean(self._raw_text(names))

    def name(self, *names: str) -> Clean:
        """Return the name, id or path in the first of the given fields; redact only unmistakable secrets."""
        return redact_name(self._raw_text(names))

    def line(self, *names: str) -> Clean:
        """Return the redacted text of the first of the given fields that contains text or a list of words."""
        for name in names:
            if isinstance(words := self._fields.get(name), list):
                return self._budget.clean(storable(" ".join(map(str, words))))
        return self.text(*names)

    def folder(self) -> Path | None:
        """Return the agent's working folder; memory redacts the path before storing it."""
        roots = self._fields.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        given = self._raw_text(("cwd", "directory")) or first
        return Path(given) if given else None

    def all_text(self, name: str, *, is_json: bool = False) -> Clean:
        """Return all text inside a field, joined by line breaks and redacted. If `is_json` is set, the field may be a
        JSON string.
        """
        value = self._fields.get(name, "")
        texts = dict.fromkeys(filter(None, _texts_in(_parse_json_text(value) if is_json else value)))
        return self._budget.clean(storable("\n".join(texts)))

    def part(self, name: str, *, is_json: bool = False) -> Payload:
        """Return the JSON object in a field as a payload, or an empty payload if there is none.

        If `is_json` is set, the field may be a JSON string.
        """
        inner = self._fields.get(name)
        inner = _parse_json_text(inner) if is_json else inner
        return Payload(inner if isinstance(inner, dict) else {}, self._budget)

    def entries(self, name: str) -> list[tuple[Clean, Clean]]:
        """Return the entries of an object or list in a field, as pairs of key (or position) and redacted text."""
        inner = self._fields.get(name)
        if isinstance(inner, list):
            inner = {str(number): value for number, value in enumerate(inner)}
        if not isinstance(inner, dict):
            return []
        return [
            (self._budget.clean(storable(key)), self._budget.clean(storable(", ".join(_texts_in(value)))))
            for key, value in inner.items()
        ]

    def parts(self, name: str) -> list[Payload]:
        """Return the objects of a list in a field as payloads."""
        items = self._fields.get(name)
        return (
            [Payload(item, self._budget) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        )

    def flattened(self, name: str) -> Payload:
        """Merge the fields with the fields of a nested object; the nested fields take precedence."""
        inner = self._fields.get(name)
        return Payload({**self._fields, **inner}, self._budget) if isinstance(inner, dict) else self

    def with_text(self, name: str, text: str) -> Payload:
        """Return a payload with an additional text field that was not part of the hook input."""
        return Payload({**self._fields, name: text}, self._budget)

    def number(self, *names: str) -> int | None:
        """Return the integer in the first of the given fields that contains one, or None if there is none."""
        return next((value for name in names if isinstance(value := self._fields.get(name), int)), None)

    def is_set(self, name: str) -> bool:
        """Whether a field has a value other than false, zero, null or empty."""
        return bool(self._fields.get(name))

    def is_false(self, name: str) -> bool:
        """Whether a field is present and has the value `false`."""
        return self._fields.get(name) is False

    def clean_answer(self, question: str, answer: Clean, *, is_typed: bool) -> Clean:
        """Redact an answer if the question asks for a secret; `is_typed` is set if the user typed the answer."""
        return self._budget.clean_answer(question, answer, is_typed=is_typed)

    def redact_known(self, text: Clean) -> Clean:
        """Return a text without secrets that were found in other texts of the event."""
        return self._budget.redact_known(text)

    def _raw_text(self, names: tuple[str, ...]) -> str:
        found = next((value for name in names if isinstance(value := self._fields.get(name), str) and value), "")
        return storable(found)


def _texts_in(answer: object, depth: int = 0) -> Iterator[str]:
    """Yield all texts in a tool response, in order."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list) and depth < _MAX_NESTING_DEPTH:
        for item in answer:
            yield from _texts_in(item, depth + 1)
    elif isinstance(answer, dict) and depth < _MAX_NESTING_DEPTH:
        for name in _TEXT_FIELDS:
            if answer.get(name):
                yield from _texts_in(answer[name], depth + 1)
        # Web search results have a title and a URL; responses of question tools have answers.
        if isinstance(title := answer.get("title"), str) and isinstance(url := answer.get("url"), str):
            yield f"{title} ({url})"
        if isinstance(answers := answer.get("answers"), list):
            yield from _texts_in(answers, depth + 1)


def _parse_json_text(value: object) -> object:
    """Parse a string that contains a JSON object or list; return other values unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
