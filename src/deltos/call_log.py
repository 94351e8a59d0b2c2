"""Log of recent tool calls. A background thread redacts and shortens the arguments and writes the records."""

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

MAX_ARGUMENT_CHARACTERS = 300  # maximum length of logged arguments
MAX_NAME_CHARACTERS = 80  # maximum length of logged tool and client names
# Maximum length of the arguments of a call. Longer arguments are not logged, because redacting them is slow.
MAX_ARGUMENTS_CHARACTERS = 20_000
# Maximum number of queued records. If the queue is full, the caller writes its record itself.
MAX_QUEUED_RECORDS = 64
WRITE_TIMEOUT_SECONDS = 5.0  # maximum wait for queued records when the log is read or closed


class CallRecorder:
    """Recorder of recent tool calls. A failure to write the log never makes a call fail."""

    def __init__(self, open_records: Callable[[], CallRecords]) -> None:
        self._open_records = open_records
        self._opening = threading.Lock()
        self._records: CallRecords | None = None
        self._is_opened = False
        self._starting = threading.Lock()
        self._writer: threading.Thread | None = None
        self._is_closed = False
        # A queued item is a call with its time, an event, or None. The thread sets an event after it has written all
        # earlier calls. It ends at None.
        self._queue: queue.Queue[tuple[float, CallNote] | threading.Event | None] = queue.Queue(MAX_QUEUED_RECORDS)

    def note(self, call: CallNote) -> None:
        """Queue a call. A background thread writes it to the log."""
        noted_at = time.time()
        with self._starting:
            if self._is_closed:
                return
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="deltos-call-log", daemon=True)
                self._writer.start()
        try:
            self._queue.put_nowait((noted_at, call))
        except queue.Full:
            self._write(noted_at, call)

    def newest(self, limit: int) -> list[CallRecord] | None:
        """Write queued calls and return the most recent calls, newest first, or None if the log cannot be read."""
        if self._writer is not None:
            written = threading.Event()
            if self._enqueue(written):
                written.wait(WRITE_TIMEOUT_SECONDS)
        records = self._open_once()
        return None if records is None else records.newest(limit)

    def forget_arguments(self) -> bool:
        """Delete the arguments of all logged calls. Return False if some could not be deleted."""
        records = self._open_once()
        try:
            return records is None or records.forget_arguments()
        except StoreError as exc:
            logger.warning("Cannot delete the arguments of logged calls: %s", exc)
            return False

    def close(self) -> None:
        """Write queued calls and close the file."""
        with self._starting:
            self._is_closed = True
        if self._writer is not None and self._enqueue(None):
            self._writer.join(WRITE_TIMEOUT_SECONDS)
        with self._opening:
            self._is_opened = True
            records, self._records = self._records, None
        if records is not None:
            records.close()

    def _enqueue(self, mark: threading.Event | None) -> bool:
        try:
            self._queue.put(mark, timeout=WRITE_TIMEOUT_SECONDS)
        except queue.Full:
            return False
        return True

    def _write_all(self) -> None:
        while (each := self._queue.get()) is not None:
            if isinstance(each, threading.Event):
                each.set()
            else:
                self._write(*each)

    def _write(self, noted_at: float, call: CallNote) -> None:
        try:
            if records := self._open_once():
                records.add(_call_record(noted_at, call))
        except StoreError:  # the database is locked or the disk is full
            return
        except Exception:  # the thread must continue with other calls
            logger.exception("Cannot log a call")

    def _open_once(self) -> CallRecords | None:
        with self._opening:
            if not self._is_opened:
                self._is_opened = True
                try:
                    self._records = self._open_records()
                except (StoreError, OSError):  # calls must not fail on a full or read-only disk
                    return None
            return self._records


def _call_record(noted_at: float, call: CallNote) -> CallRecord:
    from deltos.redaction.redact import redact_name  # deferred import: slow to import

    return CallRecord(
        at=noted_at,
        tool=_replace_surrogates(redact_name(call.tool)[:MAX_NAME_CHARACTERS]),
        client=_replace_surrogates(redact_name(call.client)[:MAX_NAME_CHARACTERS]),
        arguments=_replace_surrogates(_redacted_arguments_json(call.arguments)[:MAX_ARGUMENT_CHARACTERS]),
        seconds=call.seconds,
        tokens=-(-call.shown_characters // CHARACTERS_PER_TOKEN),
        original_tokens=-(-call.original_characters // CHARACTERS_PER_TOKEN),
        is_error=call.is_error,
    )


def _redacted_arguments_json(arguments: Mapping[str, Any]) -> str:
    """Return the arguments as redacted JSON."""
    # The complete JSON is redacted again, because the name of an argument may show that its value is a secret.
    from deltos.redaction.redact import KnownSecrets, redact_long  # deferred import: slow to import

    known = KnownSecrets()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redact_long(value, max_characters=MAX_ARGUMENTS_CHARACTERS, known=known)
        if isinstance(value, dict):
            return {clean(str(name)): clean(each) for name, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list | tuple) else value

    try:
        if (size := len(_to_json(arguments))) > MAX_ARGUMENTS_CHARACTERS:
            return f"[{size:,} characters omitted]"
        text = _to_json(clean(arguments))
        return known.redact_known(redact_long(text, max_characters=MAX_ARGUMENTS_CHARACTERS, known=known))
    except RecursionError:
        return "[nested too deeply]"


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
