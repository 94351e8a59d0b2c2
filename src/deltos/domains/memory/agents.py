"""Reads the hook JSON of Claude Code, Codex, Gemini CLI, Cursor and Windsurf into events. Tolerant: what it
does not know is no event."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deltos.domains.memory.events import Action, Event, Happening, ToolUse

if TYPE_CHECKING:
    from collections.abc import Mapping

Payload = dict[str, Any]

# Event names of all agents, lower-cased and without punctuation.
_HAPPENINGS = {
    "sessionstart": Happening.SESSION_STARTED,
    "userpromptsubmit": Happening.PROMPTED,
    "beforeagent": Happening.PROMPTED,
    "beforesubmitprompt": Happening.PROMPTED,
    "preuserprompt": Happening.PROMPTED,
    "posttooluse": Happening.TOOL_USED,
    "posttoolusefailure": Happening.TOOL_USED,
    "aftertool": Happening.TOOL_USED,
    "aftershellexecution": Happening.TOOL_USED,
    "afterfileedit": Happening.TOOL_USED,
    "aftermcpexecution": Happening.TOOL_USED,
    "postwritecode": Happening.TOOL_USED,
    "postruncommand": Happening.TOOL_USED,
    "stop": Happening.ANSWERED,
    "subagentstop": Happening.ANSWERED,
    "afteragent": Happening.ANSWERED,
    "afteragentresponse": Happening.ANSWERED,
    "agentturncomplete": Happening.ANSWERED,
    "postcascaderesponse": Happening.ANSWERED,
    "precompact": Happening.COMPACTING,
    "precompress": Happening.COMPACTING,
    "postcompact": Happening.COMPACTED,
    "sessionend": Happening.SESSION_ENDED,
}
_ACTIONS = {
    "edit": Action.EDIT,
    "multiedit": Action.EDIT,
    "write": Action.EDIT,
    "notebookedit": Action.EDIT,
    "applypatch": Action.EDIT,
    "replace": Action.EDIT,
    "writefile": Action.EDIT,
    "editfile": Action.EDIT,
    "searchreplace": Action.EDIT,
    "createfile": Action.EDIT,
    "bash": Action.COMMAND,
    "shell": Action.COMMAND,
    "runshellcommand": Action.COMMAND,
    "execcommand": Action.COMMAND,
    "localshell": Action.COMMAND,
    "runterminalcmd": Action.COMMAND,
    "powershell": Action.COMMAND,
    "webfetch": Action.FETCH,
    "fetch": Action.FETCH,
    "websearch": Action.WEB_SEARCH,
    "googlewebsearch": Action.WEB_SEARCH,
}
# Tools of agents that have an event for each instead of a name.
_TOOL_NAMES = {
    "aftershellexecution": "Shell",
    "afterfileedit": "Edit",
    "postruncommand": "Shell",
    "postwritecode": "Edit",
}
_EXIT_CODE = r"(?i)\bexit(?:ed with)? (?:code|status):? *(-?\d+)"
_PATCHED_FILE = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"


def read_event(event_name: str, payload: Payload) -> Event | None:
    """What an agent's hook tells; None for an event that memory has no use for."""
    key = _key(event_name or _text(payload, "hook_event_name", "type"))
    happening = _HAPPENINGS.get(key)
    if happening is None:
        return None
    payload = payload | _mapping(payload.get("tool_info"))  # Windsurf wraps what the others tell openly
    return Event(
        happening,
        agent=_agent(key, payload),
        session_id=_text(payload, "session_id", "conversation_id", "trajectory_id", "thread-id", "thread_id"),
        folder=_folder(payload),
        text=_said(happening, payload),
        tool=_tool(key, payload) if happening is Happening.TOOL_USED else None,
    )


def _agent(key: str, payload: Payload) -> str:
    if "trajectory_id" in payload:
        return "windsurf"
    if "cursor_version" in payload or "conversation_id" in payload:
        return "cursor"
    if key in ("beforeagent", "afteragent", "aftertool", "precompress") or "timestamp" in payload:
        return "gemini"
    return "codex" if "turn_id" in payload or "thread-id" in payload else "claude"


def _folder(payload: Payload) -> str:
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return _text(payload, "cwd") or first


def _said(happening: Happening, payload: Payload) -> str:
    match happening:
        case Happening.PROMPTED:
            return _text(payload, "prompt", "user_prompt")
        case Happening.ANSWERED:
            return _text(
                payload, "last_assistant_message", "prompt_response", "text", "last-assistant-message", "response"
            )
        case Happening.COMPACTED:
            return _text(payload, "compact_summary", "summary")
        case Happening.COMPACTING:
            return _text(payload, "custom_instructions")
        case _:
            return ""


def _tool(key: str, payload: Payload) -> ToolUse:
    given = _mapping(payload.get("tool_input")) or payload
    name = _text(payload, "tool_name") or _TOOL_NAMES.get(key, "")
    action = _ACTIONS.get(_key(name), Action.OTHER)
    response = next(
        (
            payload[field]
            for field in ("tool_response", "tool_output", "result_json", "output", "error")
            if field in payload
        ),
        "",
    )
    output = _flat(response)
    failed = key == "posttoolusefailure" or _has_failed(response, output)
    return ToolUse(
        name,
        action,
        subject=_subject(action, given),
        files=_files(action, given),
        edits=_edits(given),
        output=output,
        failed=failed,
    )


def _subject(action: Action, given: Mapping[str, Any]) -> str:
    if action is Action.COMMAND:
        command = given.get("command")
        if isinstance(command, list):
            return " ".join(map(str, command))
        return _text(given, "command", "cmd", "command_line")
    if action is Action.FETCH:
        return _text(given, "url") or _text(given, "prompt")
    return _text(given, "query") if action is Action.WEB_SEARCH else ""


def _files(action: Action, given: Mapping[str, Any]) -> tuple[str, ...]:
    if action is not Action.EDIT:
        return ()
    named = _text(given, "file_path", "path", "notebook_path", "absolute_path", "target_file")
    return (named,) if named else tuple(re.findall(_PATCHED_FILE, _patch(given)))


def _edits(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if (several := given.get("edits")) and isinstance(several, list):
        return tuple(
            (_text(edit, "old_string"), _text(edit, "new_string")) for edit in several if isinstance(edit, dict)
        )
    if "new_string" in given or "old_string" in given:
        return ((_text(given, "old_string"), _text(given, "new_string")),)
    if content := _text(given, "content", "new_source", "contents", "code_edit"):
        return (("", content),)
    return _patched(_patch(given))


def _patch(given: Mapping[str, Any]) -> str:
    text = _text(given, "input", "patch", "command")
    return text if "*** Begin Patch" in text else ""


def _patched(patch: str) -> tuple[tuple[str, str], ...]:
    """The removed and the added lines of a patch."""
    if not patch:
        return ()
    lines = [line for line in patch.splitlines() if not line.startswith("***")]
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    return ((old, new),)


def _has_failed(response: object, output: str) -> bool:
    fields = _mapping(response)
    for holder in (fields, _mapping(fields.get("metadata"))):
        for name in ("exit_code", "exitCode", "code"):
            if isinstance(holder.get(name), int):
                return bool(holder[name])
    if fields.get("error") or fields.get("is_error") or fields.get("success") is False:
        return True
    codes = re.findall(_EXIT_CODE, output[-2_000:])
    return bool(codes) and codes[-1] != "0"


def _flat(response: object) -> str:
    """What a tool said, as text, whatever shape it came in."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(filter(None, map(_flat, response)))
    fields = _mapping(response)
    named = (
        "stdout",
        "stderr",
        "error",
        "output",
        "llmContent",
        "result",
        "text",
        "content",
        "returnDisplay",
    )
    parts = [_flat(fields[name]) for name in named if fields.get(name)]
    return "\n".join(dict.fromkeys(filter(None, parts)))


def _text(payload: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _key(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
