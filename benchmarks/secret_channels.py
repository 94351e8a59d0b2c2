"""All channels through which text reaches the disk.

They are `remember`, imports, the events of every hook, and the log of recent tool calls. Each channel puts a text into
one field of an event or file. Channels do not depend on the redaction rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fuzz.targets.tool_client import ToolClient

from benchmarks.hook_capture import capture
from deltos.call_log import CallRecorder
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.core.transfer import ImportReport, import_lines
from deltos.domains.memory.importers.detect import import_path
from deltos.domains.memory.tools import memory_tools
from deltos.model import Project
from deltos.open_stores import open_calls, open_foreign_tables
from deltos.store.calls import MAX_CALLS
from deltos.tool import CallNote

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel through which text reaches the data folder.

    `cuts` are the lengths to which the channel truncates text; with a negative length, the end of the text is kept.
    `takes_lines` states whether the text may have several lines. `short` marks a field for a name or a path, into which
    secrets are put without other text.
    """

    name: str
    send: Callable[[Memory, Path, str, str], None]
    cuts: tuple[int, ...] = ()
    takes_lines: bool = True
    short: bool = False


def all_channels() -> tuple[Channel, ...]:
    """Return every channel, in the order of the printed table."""
    return (*_own_channels(), *_hook_channels(), *_foreign_channels(), *_call_channels())


def _own_channels() -> tuple[Channel, ...]:
    def remember(memory: Memory, root: Path, marker: str, text: str) -> None:
        memory.remember(Draft(f"Note {marker}\n{text}"), ObservationOrigin("p", root, "s"))

    def remember_source(memory: Memory, root: Path, marker: str, text: str) -> None:
        memory.remember(Draft(f"Note {marker}", source=text), ObservationOrigin("p", root))

    def remember_names(memory: Memory, root: Path, marker: str, text: str) -> None:
        place = ObservationOrigin(f"host/{text}", root, f"session {text}", f"agent {text}")
        memory.remember(Draft(f"Note {marker}", kind=text, files=(f"src/{text}/a.py",)), place)

    def remember_tags(memory: Memory, root: Path, marker: str, text: str) -> None:
        tools = memory_tools(lambda: memory, lambda _: Project(root, "p"), token_budget=1_000)
        ToolClient(tools, root).call("remember", text=f"Note {marker}", tags=[text])

    def imported(memory: Memory, _: Path, marker: str, text: str) -> None:
        import_lines(
            memory, [json.dumps({"id": marker, "text": f"Note {marker}\n{text}", "source": text})], project_id="p"
        )

    def imported_names(memory: Memory, _: Path, marker: str, text: str) -> None:
        anchor = {"path": f"a/{text}", "symbol": text, "digest": "00"}
        names = {
            "kind": text,
            "project_id": f"host/{text}",
            "session_id": text,
            "embedding_model": text,
            "folder": text,
        }
        record = {"text": f"Note {marker}", "files": [f"a/{text}"], "symbols": [text], "anchors": [anchor], **names}
        session = {"type": "session", "project_id": text, "session_id": text, "agent": text}
        project = {"type": "project", "project_id": text, "root": f"/home/{text}"}
        import_lines(memory, map(json.dumps, (record, session, project, {"type": text})), project_id="p")

    return (
        Channel("remember", remember),
        Channel("remember: source", remember_source),
        Channel("remember: project, session, agent, kind, file", remember_names, short=True),
        Channel("remember: tags", remember_tags, takes_lines=False),
        Channel("import", imported),
        Channel("import: every other field", imported_names, short=True),
    )


def _hook_channel(name: str, event: str, payload: Callable[[str, str], Payload], **options: Any) -> Channel:
    def send(memory: Memory, root: Path, marker: str, text: str) -> None:
        fields = {"cwd": str(root), "session_id": f"s-{marker}", **payload(marker, text)}
        capture(memory, event, json.dumps(fields).encode(), folder=root, identify=lambda _: "p")

    return Channel(name, send, **options)


def _failed_command_output(tool: str, **rest: Any) -> Callable[[str, str], Payload]:
    """Return an event of a failed command with the text in its output."""
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {"command": f"release-{marker} --all"},
        "tool_response": {"stdout": f"error: boom\n{text}", "exit_code": 1},
        **rest,
    }


def _failed_command(tool: str, **rest: Any) -> Callable[[str, str], Payload]:
    """Return an event of a failed command with the text in the command."""
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {"command": f"release-{marker} && {text}"},
        "tool_response": {"stderr": "error: boom", "exit_code": 2},
        **rest,
    }


def _drop_first_and_last_line(text: str) -> str:
    """Return a text without its first and last line. A diff that changes only the middle contains such a text."""
    return "\n".join(text.split("\n")[1:-1])


def _edit_event(tool: str, **rest: Any) -> Callable[[str, str], Payload]:
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {
            "file_path": f"src/{marker}.py",
            "old_string": _drop_first_and_last_line(text),
            "new_string": f"{marker}\n{text}",
        },
        "tool_response": {"success": True},
        **rest,
    }


def _partial_edit_event(tool: str, **rest: Any) -> Callable[[str, str], Payload]:
    def payload(marker: str, text: str) -> Payload:
        lines = text.split("\n")
        ends = "\n".join([lines[0], lines[-1]]) if len(lines) > 2 else ""
        given = {"file_path": f"src/{marker}.py", "old_string": ends, "new_string": f"{text}\n{marker}"}
        return {"tool_name": tool, "tool_input": given, "tool_response": {}, **rest}

    return payload


def _write_event(tool: str, field: str, **rest: Any) -> Callable[[str, str], Payload]:
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {"file_path": f"src/{marker}.py", field: f"# {marker}\n{text}"},
        "tool_response": {"success": True},
        **rest,
    }


def _patch_event(marker: str, text: str) -> Payload:
    added = "\n".join(f"+{line}" for line in text.split("\n"))
    patch = f"*** Begin Patch\n*** Update File: src/{marker}.py\n@@\n-old\n+{marker}\n{added}\n*** End Patch"
    return {"turn_id": "1", "tool_name": "apply_patch", "tool_input": {"input": patch}, "tool_response": "Done"}


def _hook_channels() -> tuple[Channel, ...]:
    return (
        *_claude_channels(),
        *_codex_channels(),
        *_gemini_channels(),
        *_cursor_channels(),
        *_windsurf_channels(),
        *_copilot_channels(),
        *_opencode_channels(),
        *_conversation_channels(),
    )


def _copilot_channels() -> tuple[Channel, ...]:
    def ran(marker: str, text: str) -> Payload:
        result = {"resultType": "success", "textResultForLlm": f"error: boom\n{text}\n<exited with exit code 1>"}
        return {"sessionId": "p", "toolName": "bash", "toolArgs": {"command": f"do-{marker}"}, "toolResult": result}

    def edited(marker: str, text: str) -> Payload:
        given = json.dumps({"path": f"src/{marker}.py", "old_str": "old", "new_str": f"{marker}\n{text}"})
        return {"sessionId": "p", "toolName": "edit", "toolArgs": given, "toolResult": {"resultType": "success"}}

    def prompted(marker: str, text: str) -> Payload:
        return {"sessionId": "p", "prompt": f"Note {marker} always\n{text}"}

    def ended(marker: str, text: str) -> Payload:
        return {"sessionId": "p", **_answer_event("text")(marker, text)}

    return (
        _hook_channel("copilot postToolUse bash", "postToolUse", ran, cuts=(160, 1_200)),
        _hook_channel("copilot postToolUse edit, arguments as a text", "postToolUse", edited, cuts=(160,)),
        _hook_channel("copilot userPromptSubmitted", "userPromptSubmitted", prompted, cuts=(1_500, 16_000, -16_000)),
        _hook_channel("copilot agentStop", "agentStop", ended, takes_lines=False),
        Channel("copilot agentStop, its session file", _copilot_stop, takes_lines=False),
        _hook_channel("copilot sessionStart", "sessionStart", lambda m, t: {"sessionId": t, "prompt": m}, short=True),
    )


def _copilot_stop(memory: Memory, root: Path, marker: str, text: str) -> None:
    """Send a stop event. It names a session file whose last message contains the text."""
    data = {"content": f"We decided for {marker} to go with {text}"}
    file = root / "events.jsonl"
    file.write_text(json.dumps({"parentId": "a", "type": "assistant.message", "data": data}) + "\n", "utf-8")
    fields = {"cwd": str(root), "sessionId": f"s-{marker}", "transcriptPath": str(file)}
    capture(memory, "agentStop", json.dumps(fields).encode(), folder=root, identify=lambda _: "p")


def _opencode_channels() -> tuple[Channel, ...]:
    def ran(marker: str, text: str) -> Payload:
        output = {"title": marker, "output": f"error: boom\n{text}", "metadata": {"exit": 1}}
        return {"sessionID": "o", "tool": "bash", "args": {"command": f"do-{marker}"}, "output": output}

    def edited(marker: str, text: str) -> Payload:
        given = {
            "filePath": f"/w/src/{marker}.ts",
            "oldString": _drop_first_and_last_line(text),
            "newString": f"{marker}\n{text}",
        }
        output = {"title": f"src/{marker}.ts", "output": "", "metadata": {"diff": f"+{text}"}}
        return {"sessionID": "o", "tool": "edit", "args": given, "output": output}

    def wrote(marker: str, text: str) -> Payload:
        given = {"filePath": f"/w/src/{marker}.ts", "content": f"// {marker}\n{text}"}
        return {"sessionID": "o", "tool": "write", "args": given, "output": {"title": "", "output": "", "metadata": {}}}

    def prompted(marker: str, text: str) -> Payload:
        return {"sessionID": "o", "prompt": f"Note {marker} always\n{text}"}

    def completed(marker: str, text: str) -> Payload:
        return {"sessionID": "o", **_answer_event("text")(marker, text)}

    return (
        _hook_channel("opencode tool.execute.after bash", "tool.execute.after", ran, cuts=(160, 1_200)),
        _hook_channel("opencode tool.execute.after edit", "tool.execute.after", edited, cuts=(160,)),
        _hook_channel("opencode tool.execute.after write", "tool.execute.after", wrote, cuts=(160, 16_000, -16_000)),
        _hook_channel("opencode chat.message", "chat.message", prompted, cuts=(1_500, 16_000, -16_000)),
        _hook_channel(
            "opencode experimental.text.complete", "experimental.text.complete", completed, takes_lines=False
        ),
        _hook_channel("opencode chat.message: session", "chat.message", _opencode_session_end, short=True),
    )


def _opencode_session_end(marker: str, text: str) -> Payload:
    return {"sessionID": text, "prompt": f"Always write {marker} first"}


def _foreign_channels() -> tuple[Channel, ...]:
    """Return channels for files of other memory servers, as read by `deltos memory import`."""

    def taken(memory: Memory, path: Path) -> None:
        lines = path.read_text("utf-8").splitlines() if path.is_file() else ()
        import_path(
            memory,
            path,
            lines=lines,
            project_id="p",
            overrides_project=False,
            open_tables=open_foreign_tables,
            report=ImportReport(),
        )

    def mcp_memory_service(memory: Memory, root: Path, marker: str, text: str) -> None:
        row = {"content": f"Note {marker}\n{text}", "content_hash": marker, "tags": [text]}
        path = root / "memories.json"
        path.write_text(json.dumps({"export_metadata": {}, "memories": [row]}), "utf-8")
        taken(memory, path)

    def basic_memory(memory: Memory, root: Path, marker: str, text: str) -> None:
        folder = root / f"notes-{marker}"
        folder.mkdir()
        (folder / f"{marker}.md").write_text(f"---\ntitle: {marker}\n---\n\n# {marker}\n\n{text}\n", "utf-8")
        taken(memory, folder)

    return (
        Channel("import of mcp-memory-service", mcp_memory_service),
        Channel("import of basic-memory", basic_memory),
    )


def _call_channels() -> tuple[Channel, ...]:
    """Return channels for the log of recent tool calls, which records every call with its arguments."""

    @lru_cache
    def log(ring: Path) -> CallRecorder:
        return CallRecorder(lambda: open_calls(ring))

    def call(root: Path, marker: str, arguments: Payload, client: str = "client") -> None:
        number = int(marker.removeprefix("marker").removesuffix("x"))
        # Several logs are used, because one log would drop calls before they are read.
        ring = root.parent / "home" / f"ring{number // MAX_CALLS}"
        log(ring).note(CallNote("remember", client, arguments, 0.1, 10, 10, is_error=False))
        log(ring).newest(1)  # Wait until the call is written.

    def argument(_: Memory, root: Path, marker: str, text: str) -> None:
        call(root, marker, {"text": f"{marker} {text}"})

    def in_a_list(_: Memory, root: Path, marker: str, text: str) -> None:
        call(root, marker, {"ids": [marker, text], "files": {"a": [text]}})

    def names(_: Memory, root: Path, marker: str, text: str) -> None:
        call(root, marker, {marker: "x", text: "y"}, client=f"client {text}")

    return (
        Channel("ring of calls: an argument", argument, cuts=(300,)),
        Channel("ring of calls: in lists and objects", in_a_list, cuts=(300,)),
        Channel("ring of calls: names of arguments and clients", names, short=True),
    )


def _conversation_channels() -> tuple[Channel, ...]:
    """Return channels for questions, plans, pull requests, and answers that are plain text or JSON in a string."""

    def chosen(marker: str, text: str) -> Payload:
        question = f"What about {marker}?"
        given = {"questions": [{"question": question, "options": [{"label": text, "description": text}]}]}
        return {"tool_name": "AskUserQuestion", "tool_input": given, "tool_response": {"answers": {question: text}}}

    def planned(marker: str, text: str) -> Payload:
        return {"tool_name": "ExitPlanMode", "tool_input": {}, "tool_response": {"plan": f"Plan {marker}\n{text}"}}

    def requested(marker: str, text: str) -> Payload:
        given = {"title": f"Title {marker} {text}"}
        return {"tool_name": "mcp__github__create_pull_request", "tool_input": given, "tool_response": text}

    def bare(marker: str, text: str) -> Payload:
        given = {"command": f"do-{marker}"}
        return {"turn_id": "t", "tool_name": "Bash", "tool_input": given, "tool_response": f"error: boom\n{text}"}

    def in_text(marker: str, text: str) -> Payload:
        output = json.dumps({"exitCode": 1, "stdout": f"error: boom\n{text}"})
        given = {"command": f"do-{marker}"}
        return {"conversation_id": "c", "tool_name": "Shell", "tool_input": given, "tool_output": output}

    return (
        _hook_channel("claude PostToolUse AskUserQuestion", "PostToolUse", chosen, cuts=(4_000,)),
        _hook_channel("claude PostToolUse ExitPlanMode", "PostToolUse", planned, cuts=(4_000,)),
        _hook_channel("claude PostToolUse create_pull_request", "PostToolUse", requested, takes_lines=False),
        _hook_channel("codex PostToolUse Bash, a bare text", "PostToolUse", bare, cuts=(160, 1_200)),
        _hook_channel("cursor postToolUse, JSON in a text", "postToolUse", in_text, cuts=(160, 1_200)),
    )


def _claude_channels() -> tuple[Channel, ...]:
    line, output, prompt, summary = (
        (160,),
        (160, 1_200, 16_000, -16_000),
        (1_500, 16_000, -16_000),
        (12_000, 16_000, -16_000),
    )
    return (
        _hook_channel(
            "claude UserPromptSubmit", "UserPromptSubmit", lambda m, t: {"prompt": f"Note {m} always\n{t}"}, cuts=prompt
        ),
        _hook_channel("claude PostToolUse Bash: output", "PostToolUse", _failed_command_output("Bash"), cuts=output),
        _hook_channel(
            "claude PostToolUse Bash: command", "PostToolUse", _failed_command("Bash"), cuts=(300, 16_000, -16_000)
        ),
        _hook_channel(
            "claude PostToolUseFailure Bash", "PostToolUseFailure", _failed_command_output("Bash"), cuts=output
        ),
        _hook_channel("claude PostToolUse Edit", "PostToolUse", _edit_event("Edit"), cuts=line),
        _hook_channel("claude PostToolUse Edit of the middle", "PostToolUse", _partial_edit_event("Edit"), cuts=line),
        _hook_channel("claude PostToolUse MultiEdit", "PostToolUse", _multiple_edits_event, cuts=line),
        _hook_channel(
            "claude PostToolUse Write", "PostToolUse", _write_event("Write", "content"), cuts=(160, 16_000, -16_000)
        ),
        _hook_channel(
            "claude PostToolUse NotebookEdit", "PostToolUse", _write_event("NotebookEdit", "new_source"), cuts=line
        ),
        _hook_channel(
            "claude PostToolUse WebFetch", "PostToolUse", _fetch_event("WebFetch", "url"), cuts=(1_200, 16_000, -16_000)
        ),
        _hook_channel(
            "claude PostToolUse WebFetch: address", "PostToolUse", _prompt_event("WebFetch", "url"), takes_lines=False
        ),
        _hook_channel("claude PostToolUse WebSearch", "PostToolUse", _fetch_event("WebSearch", "query"), cuts=(1_200,)),
        _hook_channel("claude PostToolUse: file", "PostToolUse", _file_event("Write"), short=True),
        _hook_channel("claude UserPromptSubmit: session", "UserPromptSubmit", _session_event, short=True),
        _hook_channel("claude Stop", "Stop", _answer_event("last_assistant_message"), takes_lines=False),
        _hook_channel(
            "claude SubagentStop", "SubagentStop", _answer_event("last_assistant_message"), takes_lines=False
        ),
        _hook_channel(
            "claude PreCompact", "PreCompact", lambda m, t: {"custom_instructions": f"Note {m}\n{t}"}, cuts=prompt
        ),
        _hook_channel(
            "claude PostCompact", "PostCompact", lambda m, t: {"compact_summary": f"Note {m}\n{t}"}, cuts=summary
        ),
        _hook_channel("claude SessionStart", "SessionStart", _session_event, short=True),
        _hook_channel("claude SessionEnd", "SessionEnd", _session_event, short=True),
    )


def _codex_channels() -> tuple[Channel, ...]:
    answer = {"type": "agent-turn-complete", "thread-id": "t"}
    return (
        _hook_channel(
            "codex UserPromptSubmit",
            "UserPromptSubmit",
            lambda m, t: {"turn_id": "1", "prompt": f"Note {m} always\n{t}"},
        ),
        _hook_channel("codex PostToolUse shell", "PostToolUse", _shell_words_event, cuts=(300,), takes_lines=False),
        _hook_channel(
            "codex PostToolUse exec_command",
            "PostToolUse",
            _failed_command_output("exec_command", turn_id="1"),
            cuts=(160, 1_200),
        ),
        _hook_channel("codex PostToolUse apply_patch", "PostToolUse", _patch_event, cuts=(160,)),
        _hook_channel(
            "codex notify",
            "",
            lambda m, t: {**answer, **_answer_event("last-assistant-message")(m, t)},
            takes_lines=False,
        ),
    )


def _gemini_channels() -> tuple[Channel, ...]:
    time = {"timestamp": "2025-05-05T10:00:00Z"}

    def ran(marker: str, text: str) -> Payload:
        answer = {"llmContent": f"Exit Code: 1\nerror: boom {marker}\n{text}", "returnDisplay": text, "error": "boom"}
        return {
            "tool_name": "run_shell_command",
            "tool_input": {"command": f"do-{marker}"},
            "tool_response": answer,
            **time,
        }

    return (
        _hook_channel(
            "gemini BeforeAgent", "BeforeAgent", lambda m, t: {"prompt": f"Note {m} always\n{t}", **time}, cuts=(1_500,)
        ),
        _hook_channel(
            "gemini AfterAgent",
            "AfterAgent",
            lambda m, t: {**_answer_event("prompt_response")(m, t), **time},
            takes_lines=False,
        ),
        _hook_channel("gemini AfterTool run_shell_command", "AfterTool", ran, cuts=(160, 1_200)),
        _hook_channel("gemini AfterTool replace", "AfterTool", _edit_event("replace", **time), cuts=(160,)),
        _hook_channel(
            "gemini AfterTool write_file", "AfterTool", _write_event("write_file", "content", **time), cuts=(160,)
        ),
        _hook_channel(
            "gemini AfterTool web_fetch", "AfterTool", _fetch_event("web_fetch", "prompt", **time), cuts=(1_200,)
        ),
        _hook_channel(
            "gemini AfterTool google_web_search", "AfterTool", _fetch_event("google_web_search", "query", **time)
        ),
        _hook_channel(
            "gemini PreCompress", "PreCompress", lambda m, t: {"custom_instructions": f"Note {m}\n{t}", **time}
        ),
        _hook_channel("gemini SessionEnd", "SessionEnd", lambda m, t: {**_session_event(m, t), **time}, short=True),
    )


def _cursor_channels() -> tuple[Channel, ...]:
    def cursor(payload: Callable[[str, str], Payload]) -> Callable[[str, str], Payload]:
        return lambda m, t: {"conversation_id": f"c-{m}", "cursor_version": "1.7", **payload(m, t)}

    def shell(marker: str, text: str) -> Payload:
        return {"command": f"npm install {marker} && {text}", "output": f"added 3 packages\n{text}"}

    def edited(marker: str, text: str) -> Payload:
        return {"file_path": f"/w/{marker}.ts", "edits": [{"old_string": "", "new_string": f"{marker}\n{text}"}]}

    def mcp(marker: str, text: str) -> Payload:
        return {"tool_name": "shell", "tool_input": {"command": f"do-{marker}"}, "result_json": f"exit code: 1\n{text}"}

    return (
        _hook_channel(
            "cursor beforeSubmitPrompt", "beforeSubmitPrompt", cursor(lambda m, t: {"prompt": f"Note {m} always\n{t}"})
        ),
        _hook_channel("cursor afterShellExecution", "afterShellExecution", cursor(shell), cuts=(160, 300, 400)),
        _hook_channel("cursor afterFileEdit", "afterFileEdit", cursor(edited), cuts=(160,)),
        _hook_channel("cursor afterMCPExecution", "afterMCPExecution", cursor(mcp), cuts=(160, 1_200)),
        _hook_channel(
            "cursor afterAgentResponse", "afterAgentResponse", cursor(_answer_event("text")), takes_lines=False
        ),
        _hook_channel(
            "cursor preCompact", "preCompact", cursor(lambda m, t: {"custom_instructions": f"Note {m}\n{t}"})
        ),
        _hook_channel("cursor sessionEnd", "sessionEnd", cursor(lambda _, t: {"conversation_id": t}), short=True),
    )


def _windsurf_channels() -> tuple[Channel, ...]:
    def windsurf(payload: Callable[[str, str], Payload]) -> Callable[[str, str], Payload]:
        return lambda m, t: {"trajectory_id": f"t-{m}", "tool_info": payload(m, t)}

    def edited(marker: str, text: str) -> Payload:
        return {
            "file_path": f"/w/{marker}.go",
            "edits": [{"old_string": _drop_first_and_last_line(text), "new_string": f"{marker}\n{text}"}],
        }

    return (
        _hook_channel(
            "windsurf pre_user_prompt",
            "pre_user_prompt",
            windsurf(lambda m, t: {"user_prompt": f"Note {m} always\n{t}"}),
        ),
        _hook_channel(
            "windsurf post_run_command",
            "post_run_command",
            windsurf(lambda m, t: {"command_line": f"npm install {m} && {t}"}),
        ),
        _hook_channel("windsurf post_write_code", "post_write_code", windsurf(edited), cuts=(160,)),
        _hook_channel(
            "windsurf post_cascade_response",
            "post_cascade_response",
            windsurf(_answer_event("response")),
            takes_lines=False,
        ),
    )


def _multiple_edits_event(marker: str, text: str) -> Payload:
    edits = [
        {"old_string": "a", "new_string": marker},
        {"old_string": _drop_first_and_last_line(text), "new_string": text},
    ]
    return {
        "tool_name": "MultiEdit",
        "tool_input": {"file_path": f"src/{marker}.py", "edits": edits},
        "tool_response": "",
    }


def _fetch_event(tool: str, field: str, **rest: Any) -> Callable[[str, str], Payload]:
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {field: f"https://docs.example.com/{marker}"},
        "tool_response": {"result": text},
        **rest,
    }


def _prompt_event(tool: str, field: str) -> Callable[[str, str], Payload]:
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {field: f"https://docs.example.com/{marker} {text}"},
        "tool_response": {"result": "a page"},
    }


def _file_event(tool: str) -> Callable[[str, str], Payload]:
    return lambda marker, text: {
        "tool_name": tool,
        "tool_input": {"file_path": f"/srv/{text}/{marker}.py", "content": "x = 1"},
        "tool_response": {},
    }


def _session_event(marker: str, text: str) -> Payload:
    return {"session_id": text, "prompt": f"Always write {marker} first"}


def _answer_event(field: str) -> Callable[[str, str], Payload]:
    return lambda marker, text: {field: f"We decided for {marker} to go with {text}"}


def _shell_words_event(marker: str, text: str) -> Payload:
    command = ["bash", "-lc", f"release-{marker} && {text}"]
    answer = {"output": f"error: {text}", "metadata": {"exit_code": 1}}
    return {"turn_id": "1", "tool_name": "shell", "tool_input": {"command": command}, "tool_response": answer}
