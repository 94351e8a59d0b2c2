"""Codex' session files, `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`. Learned from openai/codex 343074d420 (npm
0.166.0): codex-rs/history/src/rollout_payload.rs, codex-rs/rollout/src/policy.rs, codex-rs/protocol/src/{items,
models,protocol}.rs, codex-rs/core/src/tools/{mod,context,events,parallel}.rs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.domains.memory.transcripts.told import OpenCalls, Record, Told, inside, safe_part, text_of, word

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHELLS = ("shell", "shell_command", "exec_command", "local_shell", "container.exec")
_THREADS_OF_NO_USER = ("subagent", "memory_consolidation")
_STOPPED = ("aborted by user", "rejected by user", "Process running with session ID")
_PATCH_FAILED = ("apply_patch verification failed", "patch rejected", "patch failed")
_STATUS_LINES = ("Exit code: ", "Process exited with code ")
_HEADER_LINES = ("Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: ", *_STATUS_LINES)
_LONGEST_HEADER_LINES = 8


def is_session(record: Record) -> bool:
    """Whether a record begins a session of Codex."""
    return record.get("type") == "session_meta" and isinstance(record.get("payload"), dict)


class CodexSession:
    """Implements `told.Session`."""

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._meta: Record = {}
        self._is_nothing = False
        self._folder = ""
        self._turn_id = ""
        self._prompts = 0

    def read(self, record: Record) -> Iterator[Told]:
        payload = inside(record, "payload")
        match record.get("type"):
            case "session_meta" if not self._meta:  # a fork repeats those of its parents
                self._begin(payload)
            case "turn_context":
                self._folder = word(payload, "cwd") or self._folder
                self._turn_id = word(payload, "turn_id") or self._turn_id
            case "event_msg" if not self._is_nothing:
                yield from self._read_event(record, payload)
            case "response_item" if not self._is_nothing:
                yield from self._read_item(record, payload)

    def end(self) -> Iterator[Told]:
        yield from ()

    def _begin(self, meta: Record) -> None:
        self._meta = meta
        self._folder = word(meta, "cwd")
        source = inside(meta, "source")
        self._is_nothing = (
            "subagent" in source or "internal" in source or word(meta, "thread_source") in _THREADS_OF_NO_USER
        )

    def _read_event(self, record: Record, event: Record) -> Iterator[Told]:
        match event.get("type"):
            case "user_message":
                yield self._prompted(record, word(event, "message"))
            case "item_completed" if inside(event, "item").get("type") == "UserMessage":
                yield self._prompted(record, text_of(inside(event, "item").get("content")))
            case "task_complete" | "turn_complete":
                key = f"answer:{word(event, 'turn_id') or word(record, 'timestamp')}"
                yield self._told("Stop", record, key, last_assistant_message=word(event, "last_agent_message"))

    def _prompted(self, record: Record, prompt: str) -> Told:
        self._prompts += 1
        begun = word(self._meta, "forked_from_id", "session_id", "id")
        return self._told(
            "UserPromptSubmit", record, f"prompt:{begun}:{self._prompts}:{safe_part(prompt)}", prompt=prompt
        )

    def _read_item(self, record: Record, item: Record) -> Iterator[Told]:
        match item.get("type"):
            case "function_call":
                name = "".join((word(item, "namespace"), word(item, "name")))
                self._calls.begin(item.get("call_id"), name, _unwritten(item.get("arguments")))
            case "custom_tool_call":
                self._calls.begin(item.get("call_id"), item.get("name"), {"input": item.get("input")})
            case "local_shell_call":
                self._calls.begin(item.get("call_id"), "local_shell", item.get("action"))
            case "function_call_output" | "custom_tool_call_output":
                call = self._calls.end(item.get("call_id"))
                output = item.get("output")
                if call is not None:
                    yield from self._used(record, f"tool:{item['call_id']}", *call, output=output)

    def _used(self, record: Record, key: str, name: str, given: object, *, output: object) -> Iterator[Told]:
        fields = given if isinstance(given, dict) else {}
        said = text_of(output)
        if any(mark in said[:300] for mark in _STOPPED):
            return
        if name in _SHELLS:
            used = {"tool_name": "Bash", "tool_input": {"command": _command(fields)}}
            yield self._told("PostToolUse", record, key, **used, tool_response=_command_answer(said))
        elif name == "apply_patch":
            used = {"tool_name": name, "tool_input": {"command": word(fields, "input", "patch")}}
            answer = _command_answer(said)
            if answer.get("exit_code") or answer["output"].startswith(_PATCH_FAILED):
                yield self._told("PostToolUseFailure", record, key, **used, error=answer["output"])
            else:
                yield self._told("PostToolUse", record, key, **used, tool_response=answer["output"])
        else:
            yield self._told("PostToolUse", record, key, tool_name=name, tool_input=fields, tool_response=output)

    def _told(self, event_name: str, record: Record, key: str, **fields: Any) -> Told:
        told = {
            "session_id": word(self._meta, "session_id", "id"),
            "cwd": self._folder,
            "turn_id": self._turn_id,
            **fields,
        }
        repository = word(inside(self._meta, "git"), "repository_url")
        return Told(event_name, told, key, word(record, "timestamp"), repository)


def _command(given: Record) -> str:
    """The command that was run, without the shell around it."""
    command = given.get("cmd") or given.get("command")
    if isinstance(command, list):
        words = [str(part) for part in command]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc", "-ic") else " ".join(words)
    return command if isinstance(command, str) else ""


def _command_answer(said: str) -> dict[str, Any]:
    """What a command printed, and its exit status where Codex wrote it above that."""
    written = _unwritten(said)
    if isinstance(written, dict) and isinstance(written.get("output"), str):
        code = inside(written, "metadata").get("exit_code")
        return {"output": written["output"], **({"exit_code": code} if isinstance(code, int) else {})}
    lines = said.split("\n", _LONGEST_HEADER_LINES)
    if "Output:" not in lines or not lines[0].startswith(_HEADER_LINES):
        return {"output": said}
    end = lines.index("Output:")
    codes = [line.rpartition(" ")[2] for line in lines[:end] if line.startswith(_STATUS_LINES)]
    status = int(codes[0]) if codes and codes[0].lstrip("-").isdecimal() and len(codes[0]) < 12 else None
    return {"output": "\n".join(lines[end + 1 :]), **({} if status is None else {"exit_code": status})}


def _unwritten(value: object) -> object:
    """The JSON that a text is; the text when it is none."""
    if not isinstance(value, str) or value.lstrip()[:1] != "{":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
