"""Store the observation of a hook call in one step, where Deltos itself needs two steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.distill import store_record
from deltos.domains.memory.capture.events import EventType, event_from_json, event_to_json
from deltos.domains.memory.capture.hooks import has_content, read_call, start_context
from deltos.hook_settings import CONTEXT_TOKENS
from deltos.text.times import micros

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from deltos.hook_settings import HookSettings


def capture(
    memory: Memory,
    event_name: str,
    raw: bytes,
    *,
    folder: Path,
    identify: Callable[[Path], str],
    settings: HookSettings | None = None,
) -> str:
    """Store the observation of a hook call, and return the text that the hook prints at the start of a session."""
    at = micros(memory.clock())
    record = read_call(event_name, raw, at, folder=folder, identify=identify, settings=settings)
    if record is None:
        return ""
    if record.event.event_type is EventType.SESSION_STARTED:
        return start_context(memory, record, CONTEXT_TOKENS if settings is None else settings.context_tokens)
    if has_content(record.event):
        event = event_from_json(json.loads(json.dumps(event_to_json(record.event))))
        with memory.store.writing() as writer:
            store_record(memory, writer, record._replace(event=event))
    return ""
