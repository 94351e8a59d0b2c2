"""Notes each call of a tool in the ring of the last calls, its arguments redacted before they are shortened."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.errors import StoreError
from deltos.store.calls import CallRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.store.calls import CallRecords
    from deltos.tool import CallNote

ARGUMENT_CHARACTERS = 300
NAME_CHARACTERS = 80
# Longer ones are not looked through for secrets, so they are not kept at all.
LONGEST_ARGUMENTS = 20_000


def note_calls(open_records: Callable[[], CallRecords | None]) -> Callable[[CallNote], None]:
    """What notes a call; a log that cannot be written is left alone."""

    def note(call: CallNote) -> None:
        records = open_records()
        if records is None:
            return
        try:
            records.add(_record(call))
        except StoreError:  # busy or full: the call itself was answered
            return

    return note


def _record(call: CallNote) -> CallRecord:
    from deltos.domains.memory.redact import redact_name  # deferred: only the first call waits for it

    return CallRecord(
        at=time.time(),
        tool=_storable(redact_name(call.tool)[:NAME_CHARACTERS]),
        client=_storable(redact_name(call.client)[:NAME_CHARACTERS]),
        arguments=_storable(_without_secrets(call.arguments)[:ARGUMENT_CHARACTERS]),
        seconds=call.seconds,
        tokens=-(-call.shown_characters // CHARACTERS_PER_TOKEN),
        original_tokens=-(-call.original_characters // CHARACTERS_PER_TOKEN),
        is_error=call.is_error,
    )


def _without_secrets(arguments: Mapping[str, Any]) -> str:
    """The arguments as JSON: each text redacted before JSON escapes its quotes and lines, then all of it once more,
    because the name of an argument can tell what its value is."""
    from deltos.domains.memory.redact import KnownSecrets, redact_long  # deferred, as above

    known = KnownSecrets()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redact_long(value, most=LONGEST_ARGUMENTS, known=known)
        if isinstance(value, dict):
            return {clean(str(name)): clean(each) for name, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list | tuple) else value

    try:
        if (size := len(_as_json(arguments))) > LONGEST_ARGUMENTS:
            return f"[{size:,} characters left out]"
        return known.taken_out(redact_long(_as_json(clean(arguments)), most=LONGEST_ARGUMENTS, known=known))
    except RecursionError:
        return "[nested too deeply]"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
