"""Session files of Codex, `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

The format was learned from openai/codex 343074d420 (npm 0.166.0): codex-rs/history/src/rollout_payload.rs,
codex-rs/rollout/src/policy.rs, codex-rs/protocol/src/{items,models,protocol}.rs,
codex-rs/core/src/tools/{mod,context,events,parallel}.rs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.domains.memory.transcripts.events import (
    OpenCalls,
    Record,
    TranscriptEvent,
    nested,
    redacted_key_part,
    text_field,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHELLS = ("shell", "shell_command", "exec_command", "local_shell", "container.exec")
_NON_USER_THREADS = ("subagent", "memory_consolidation")
_STOPPED_MARKERS = ("aborted by user", "rejected by user", "Process running with session ID")
_PATCH_FAILED_PREFIXES = ("apply_patch verification failed", "patch rejected", "patch failed")
_STATUS_LINES = ("Exit code: ", "Process exited with code ")
_HEADER_LINES = ("Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: ", *_STATUS_LINES)
_MAX_HEADER_LINES = 8


def is_session(record: Record) -> bool:
    """Whether a record starts a session of Codex."""
    return record.get("type") == "session_meta" and isinstance(record.get("payload"), dict)


class CodexReader:
    """Reader of Codex's session files; implements `events.TranscriptReader`."""

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._meta: Record = {}
        self._is_ignored = False
        self._folder = ""
        self._turn_id = ""
        self._prompts = 0

    def read(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield the events that this record completes."""
        payload = nested(record, "payload")
        match record.get("type"):
            case "session_meta" if not self._meta:  # a forked session repeats the records of its parents
                self._begin(payload)
            case "turn_context":
                self._folder = text_field(payload, "cwd") or self._folder
                self._turn_id = text_field(payload, "turn_id") or self._turn_id
            case "event_msg" if not self._is_ignored:
                yield from self._read_event(record, payload)
            case "response_item" if not self._is_ignored:
                yield from self._read_item(record, payload)

    def end(self) -> Iterator[TranscriptEvent]:
        """Yield nothing: Codex records the end of each turn."""
        yield from ()

    def _begin(self, meta: Record) -> None:
        """Store the metadata of the session, and whether it belongs to a sub-agent."""
        self._meta = meta
        self._folder = text_field(meta, "cwd")
        source = nested(meta, "source")
        self._is_ignored = (
            "subagent" in source or "internal" in source or text_field(meta, "thread_source") in _NON_USER_THREADS
        )

    def _read_event(self, record: Record, event: Record) -> Iterator[TranscriptEvent]:
        match event.get("type"):
            case "user_message":
                yield self._prompted(record, text_field(event, "message"))
            case "item_completed" if nested(event, "item").get("type") == "UserMessage":
                yield self._prompted(record, text_of(nested(event, "item").get("content")))
            case "task_complete" | "turn_complete":
                key = f"answer:{text_field(event, 'turn_id') or text_field(record, 'timestamp')}"
                yield self._event("Stop", record, key, last_assistant_message=text_field(event, "last_agent_message"))

    def _prompted(self, record: Record, prompt: str) -> TranscriptEvent:
        """Return the event of a prompt; its key is the same in forked sessions."""
        self._prompts += 1
        begun = text_field(self._meta, "forked_from_id", "session_id", "id")
        return self._event(
            "UserPromptSubmit", record, f"prompt:{begun}:{self._prompts}:{redacted_key_part(prompt)}", prompt=prompt
        )

    def _read_item(self, record: Record, item: Record) -> Iterator[TranscriptEvent]:
        match item.get("type"):
            case "function_call":
                name = "".join((text_field(item, "namespace"), text_field(item, "name")))
                self._calls.begin(item.get("call_id"), name, _parse_json_text(item.get("arguments")))
            case "custom_tool_call":
                self._calls.begin(item.get("call_id"), item.get("name"), {"input": item.get("input")})
            case "local_shell_call":
                self._calls.begin(item.get("call_id"), "local_shell", item.get("action"))
            case "function_call_output" | "custom_tool_call_output":
                call = self._calls.end(item.get("call_id"))
                output = item.get("output")
                if call is not None:
                    yield from self._tool_event(record, f"tool:{item['call_id']}", *call, output=output)

    def _tool_event(
        self, record: Record, key: str, name: str, tool_input: object, *, output: object
    ) -> Iterator[TranscriptEvent]:
        """Yield the event of a completed tool call in the format of a hook."""
        fields = tool_input if isinstance(tool_input, dict) else {}
        text = text_of(output)
        if any(mark in text[:300] for mark in _STOPPED_MARKERS):
            return
        if name in _SHELLS:
            tool_fields = {"tool_name": "Bash", "tool_input": {"command": _command(fields)}}
            yield self._event("PostToolUse", record, key, **tool_fields, tool_response=_command_result(text))
        elif name == "apply_patch":
            tool_fields = {"tool_name": name, "tool_input": {"command": text_field(fields, "input", "patch")}}
            answer = _command_result(text)
            if answer.get("exit_code") or answer["output"].startswith(_PATCH_FAILED_PREFIXES):
                yield self._event("PostToolUseFailure", record, key, **tool_fields, error=answer["output"])
            else:
                yield self._event("PostToolUse", record, key, **tool_fields, tool_response=answer["output"])
        else:
            yield self._event("PostToolUse", record, key, tool_name=name, tool_input=fields, tool_response=output)

    def _event(self, event_name: str, record: Record, key: str, **fields: Any) -> TranscriptEvent:
        event_fields = {
            "session_id": text_field(self._meta, "session_id", "id"),
            "cwd": self._folder,
            "turn_id": self._turn_id,
            **fields,
        }
        repository = text_field(nested(self._meta, "git"), "repository_url")
        return TranscriptEvent(event_name, event_fields, key, text_field(record, "timestamp"), repository)


def _command(tool_input: Record) -> str:
    """Return the command without the shell that runs it."""
    command = tool_input.get("cmd") or tool_input.get("command")
    if isinstance(command, list):
        words = [str(part) for part in command]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc", "-ic") else " ".join(words)
    return command if isinstance(command, str) else ""


def _command_result(text: str) -> dict[str, Any]:
    """Return the output of a command, and its exit status if Codex wrote it above the output."""
    written = _parse_json_text(text)
    if isinstance(written, dict) and isinstance(written.get("output"), str):
        code = nested(written, "metadata").get("exit_code")
        return {"output": written["output"], **({"exit_code": code} if isinstance(code, int) else {})}
    lines = text.split("\n", _MAX_HEADER_LINES)
    if "Output:" not in lines or not lines[0].startswith(_HEADER_LINES):
        return {"output": text}
    end = lines.index("Output:")
    codes = [line.rpartition(" ")[2] for line in lines[:end] if line.startswith(_STATUS_LINES)]
    status = int(codes[0]) if codes and codes[0].lstrip("-").isdecimal() and len(codes[0]) < 12 else None
    return {"output": "\n".join(lines[end + 1 :]), **({} if status is None else {"exit_code": status})}


def _parse_json_text(value: object) -> object:
    """Parse a string that contains a JSON object; return any other value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] != "{":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
