"""Notes each call of a tool in the ring of the last calls, its arguments redacted before they are shortened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.errors import StoreError
from deltos.store.calls import CallRecord

if TYPE_CHECKING:
    from collections.abc import Callable

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
    from deltos.domains.memory.redact import redact, redact_name  # deferred: only the first call waits for it

    if len(call.arguments) > LONGEST_ARGUMENTS:
        arguments = f"[{len(call.arguments):,} characters left out]"
    else:
        arguments = redact(call.arguments).text
    return CallRecord(
        at=time.time(),
        tool=redact_name(call.tool)[:NAME_CHARACTERS],
        client=redact_name(call.client)[:NAME_CHARACTERS],
        arguments=_storable(arguments[:ARGUMENT_CHARACTERS]),
        seconds=call.seconds,
        tokens=-(-call.shown_characters // CHARACTERS_PER_TOKEN),
        original_tokens=-(-call.original_characters // CHARACTERS_PER_TOKEN),
        is_error=call.is_error,
    )


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
