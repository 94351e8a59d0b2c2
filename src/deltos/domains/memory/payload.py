"""A hook's input, which gives nothing away unredacted: its JSON is private to it, and who asks for a text gets it
without secrets, before anything is picked out of it or shortened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.domains.memory.redact import KnownSecrets, redact_answer, redact_long, redact_name, storable
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deltos.store.observations import Clean

# More than an agent's largest tool answer; what is longer is not worth the time of the agent that waits.
LARGEST_INPUT = 8_000_000
# How much of one text is redacted, and of all texts of one event: about 15 ms of CPU time. What is left out is counted
# in the text.
MOST_OF_A_TEXT = 32_000
MOST_OF_ALL = 120_000
_LEAST_OF_A_TEXT = 2_000
# Where the fields of an answer keep what they say.
_SAYING = (
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
_DEEPEST = 40


class Allowance:
    """How many characters may still be redacted for one event."""

    def __init__(self, characters: int = MOST_OF_ALL) -> None:
        self._left = characters
        self._known = KnownSecrets()

    def clean(self, text: str) -> Clean:
        """A text without secrets; shortened when it is long or when little is left."""
        most = max(_LEAST_OF_A_TEXT, min(MOST_OF_A_TEXT, self._left))
        self._left -= min(len(text), most)
        return redact_long(text, most=most, known=self._known)

    def clean_answer(self, question: str, answer: Clean, *, is_typed: bool) -> Clean:
        """An answer without what the question asks for, if that is a secret."""
        return redact_answer(question, answer, is_typed=is_typed, known=self._known)

    def clean_again(self, text: Clean) -> Clean:
        """A text of the same event without what turned out to be a secret in another one."""
        return self._known.taken_out(text)


class Payload:
    """Fields of a hook's input, by name. Gives clean texts, numbers and flags, never what was received."""

    def __init__(self, fields: Mapping[str, Any], allowance: Allowance | None = None) -> None:
        self._fields = fields
        self._allowance = allowance or Allowance()

    @classmethod
    def parse(cls, raw: bytes) -> Payload:
        """The input of a hook, as it came on standard input."""
        if len(raw) > LARGEST_INPUT:
            raise BadArgument(f"The hook's input has {len(raw):,} bytes; more than {LARGEST_INPUT:,} are not read")
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
        """The first of these fields that holds a text, without secrets."""
        return self._allowance.clean(self._raw(names))

    def name(self, *names: str) -> Clean:
        """The first of these fields that holds a name, an id or a path, without what is certainly a secret."""
        return redact_name(self._raw(names))

    def line(self, *names: str) -> Clean:
        """The first of these fields that holds a text or a list of words, as one text."""
        for name in names:
            if isinstance(words := self._fields.get(name), list):
                return self._allowance.clean(storable(" ".join(map(str, words))))
        return self.text(*names)

    def folder(self) -> Path | None:
        """The folder that the agent works in. A path, not a text: memory redacts it before it keeps it."""
        roots = self._fields.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        given = self._raw(("cwd", "directory")) or first
        return Path(given) if given else None

    def said(self, name: str, *, is_json: bool = False) -> Clean:
        """What a field says, whatever shape it has, as one text; `is_json`: it may be JSON written as a text."""
        value = self._fields.get(name, "")
        texts = dict.fromkeys(filter(None, _said(_unwritten(value) if is_json else value)))
        return self._allowance.clean(storable("\n".join(texts)))

    def part(self, name: str, *, is_json: bool = False) -> Payload:
        """The fields inside a field; none when it has none. `is_json`: they may be JSON written as a text."""
        inner = self._fields.get(name)
        inner = _unwritten(inner) if is_json else inner
        return Payload(inner if isinstance(inner, dict) else {}, self._allowance)

    def entries(self, name: str) -> list[tuple[Clean, Clean]]:
        """What a field has under each name, or at each position, as texts."""
        inner = self._fields.get(name)
        if isinstance(inner, list):
            inner = {str(number): value for number, value in enumerate(inner)}
        if not isinstance(inner, dict):
            return []
        return [
            (self._allowance.clean(storable(key)), self._allowance.clean(storable(", ".join(_said(value)))))
            for key, value in inner.items()
        ]

    def parts(self, name: str) -> list[Payload]:
        """The objects of a list."""
        items = self._fields.get(name)
        return (
            [Payload(item, self._allowance) for item in items if isinstance(item, dict)]
            if isinstance(items, list)
            else []
        )

    def joined(self, name: str) -> Payload:
        """These fields with those inside a field, which go before."""
        inner = self._fields.get(name)
        return Payload({**self._fields, **inner}, self._allowance) if isinstance(inner, dict) else self

    def with_text(self, name: str, text: str) -> Payload:
        """These fields and one more, which was read from elsewhere."""
        return Payload({**self._fields, name: text}, self._allowance)

    def number(self, *names: str) -> int | None:
        """The first of these fields that holds a whole number."""
        return next((value for name in names if isinstance(value := self._fields.get(name), int)), None)

    def is_set(self, name: str) -> bool:
        """Whether a field holds anything that counts as true."""
        return bool(self._fields.get(name))

    def is_false(self, name: str) -> bool:
        """Whether a field says false."""
        return self._fields.get(name) is False

    def clean_answer(self, question: str, answer: Clean, *, is_typed: bool) -> Clean:
        """An answer without what the question asks for, if that is a secret. `is_typed`: the user wrote it."""
        return self._allowance.clean_answer(question, answer, is_typed=is_typed)

    def clean_again(self, text: Clean) -> Clean:
        """A text that was given earlier, without what turned out to be a secret in another one since."""
        return self._allowance.clean_again(text)

    def _raw(self, names: tuple[str, ...]) -> str:
        found = next((value for name in names if isinstance(value := self._fields.get(name), str) and value), "")
        return storable(found)


def _said(answer: object, depth: int = 0) -> Iterator[str]:
    """The texts of an answer, in its order."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list) and depth < _DEEPEST:
        for item in answer:
            yield from _said(item, depth + 1)
    elif isinstance(answer, dict) and depth < _DEEPEST:
        for name in _SAYING:
            if answer.get(name):
                yield from _said(answer[name], depth + 1)
        # A hit of a web search, and the answers to a question.
        if isinstance(title := answer.get("title"), str) and isinstance(url := answer.get("url"), str):
            yield f"{title} ({url})"
        if isinstance(answers := answer.get("answers"), list):
            yield from _said(answers, depth + 1)


def _unwritten(value: object) -> object:
    """The JSON that a text is, when it is a JSON object or a list."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
