"""Log of the last tool calls. A background thread redacts and shortens the arguments and writes the records."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.errors import StoreError
from deltos.store.calls import CallRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.store.calls import CallRecords
    from deltos.tool import CallNote

logger = logging.getLogger(__name__)

ARGUMENT_CHARACTERS = 300
NAME_CHARACTERS = 80
# Longer arguments are dropped, because redacting them would take too long.
MAX_ARGUMENTS_CHARACTERS = 20_000
# When this many notes wait, the caller writes the next one itself, so that none is lost.
MAX_WAITING_NOTES = 64
WRITE_SECONDS = 5.0  # to wait for pending notes when the log is read or closed


class CallRecorder:
    """Ring of the last calls; if it cannot be opened or written, calls are not logged."""

    def __init__(self, open_records: Callable[[], CallRecords]) -> None:
        self._open_records = open_records
        self._opening = threading.Lock()
        self._records: CallRecords | None = None
        self._is_opened = False
        self._starting = threading.Lock()
        self._writer: threading.Thread | None = None
        self._is_closed = False
        # Items: a note with its time; an event to set when all earlier notes are written; None to end the thread.
        self._waiting: queue.Queue[tuple[float, CallNote] | threading.Event | None] = queue.Queue(MAX_WAITING_NOTES)

    def note(self, call: CallNote) -> None:
        """Log a call in the background."""
        noted_at = time.time()
        with self._starting:
            if self._is_closed:
                return
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="deltos-call-log", daemon=True)
                self._writer.start()
        try:
            self._waiting.put_nowait((noted_at, call))
        except queue.Full:
            self._write(noted_at, call)

    def newest(self, limit: int) -> list[CallRecord] | None:
        """Return the last calls, newest first, after writing pending ones; None if the log is not available."""
        if self._writer is not None:
            written = threading.Event()
            if self._put(written):
                written.wait(WRITE_SECONDS)
        records = self._opened()
        return None if records is None else records.newest(limit)

    def forget_arguments(self) -> bool:
        """Delete the arguments of all logged calls; return False if some may remain."""
        records = self._opened()
        try:
            return records is None or records.forget_arguments()
        except StoreError as exc:
            logger.warning("Cannot delete the arguments of logged calls: %s", exc)
            return False

    def close(self) -> None:
        """Write pending notes and close the file."""
        with self._starting:
            self._is_closed = True
        if self._writer is not None and self._put(None):
            self._writer.join(WRITE_SECONDS)
        with self._opening:
            self._is_opened = True
            records, self._records = self._records, None
        if records is not None:
            records.close()

    def _put(self, mark: threading.Event | None) -> bool:
        try:
            self._waiting.put(mark, timeout=WRITE_SECONDS)
        except queue.Full:
            return False
        return True

    def _write_all(self) -> None:
        while (each := self._waiting.get()) is not None:
            if isinstance(each, threading.Event):
                each.set()
            else:
                self._write(*each)

    def _write(self, noted_at: float, call: CallNote) -> None:
        try:
            if records := self._opened():
                records.add(_record(noted_at, call))
        except StoreError:  # a busy store or a full disk; the call itself was answered
            return
        except Exception:  # the thread must go on with the next note
            logger.exception("Cannot log a call")

    def _opened(self) -> CallRecords | None:
        with self._opening:
            if not self._is_opened:
                self._is_opened = True
                try:
                    self._records = self._open_records()
                except (StoreError, OSError):  # a full or read-only disk must not make calls fail
                    return None
            return self._records


def _record(noted_at: float, call: CallNote) -> CallRecord:
    from deltos.redaction.redact import redact_name  # deferred: slow to import

    return CallRecord(
        at=noted_at,
        tool=_storable(redact_name(call.tool)[:NAME_CHARACTERS]),
        client=_storable(redact_name(call.client)[:NAME_CHARACTERS]),
        arguments=_storable(_without_secrets(call.arguments)[:ARGUMENT_CHARACTERS]),
        seconds=call.seconds,
        tokens=-(-call.shown_characters // CHARACTERS_PER_TOKEN),
        original_tokens=-(-call.original_characters // CHARACTERS_PER_TOKEN),
        is_error=call.is_error,
    )


def _without_secrets(arguments: Mapping[str, Any]) -> str:
    """Return the arguments as redacted JSON.

    Each text is redacted before JSON escapes it, then the whole JSON again, because an argument's name can mark its
    value as a secret.
    """
    from deltos.redaction.redact import KnownSecrets, redact_long  # deferred, as above

    known = KnownSecrets()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redact_long(value, max_characters=MAX_ARGUMENTS_CHARACTERS, known=known)
        if isinstance(value, dict):
            return {clean(str(name)): clean(each) for name, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list | tuple) else value

    try:
        if (size := len(_as_json(arguments))) > MAX_ARGUMENTS_CHARACTERS:
            return f"[{size:,} characters omitted]"
        text = _as_json(clean(arguments))
        return known.redact_known(redact_long(text, max_characters=MAX_ARGUMENTS_CHARACTERS, known=known))
    except RecursionError:
        return "[nested too deeply]"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
