"""Replay a coding week as events of each agent's hooks, then ask questions of the next week.

    python -m benchmarks.memory_week [--week FILE] [--agent NAME …] [--wrong] [--shown] [--processes]

Counts the questions that one of the first three results answers, and how much of the expected content is in the
session-start context. Weeks 9 to 12, 15 and 16 of `questions/memory_weeks/` are held out: do not use `--wrong` or
`--shown` for
them.

A week file does not depend on an agent: it holds prompts, commands, edits, answered questions, plans and pages. Each
agent reports these events in its own format (tests/domains/memory/hook_inputs/). Events for which an agent has no hook
are omitted; a choice of the user is sent as a prompt. `--processes` sends the week of Claude Code through `deltos hook`
processes and
compares the stored observations.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.hook_capture import capture
from benchmarks.memory import open_memory, table
from deltos.domains.memory.capture.distill import distill
from deltos.domains.memory.capture.journal import Journal
from deltos.domains.memory.core.memory import Memory
from deltos.hook_settings import HookSettings
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.workspace.identity import identify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


QUESTIONS = Path(__file__).with_name("questions")
WEEKS = QUESTIONS / "memory_weeks"
COUNTED_RESULTS = 3
_DELTOS = "import sys; from deltos.cli.main import main; sys.exit(main())"
_BETWEEN_EVENTS = timedelta(seconds=80)

Row = dict[str, Any]


class HookCall(NamedTuple):
    """One call of an agent's hook."""

    event: str
    payload: Row


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a week.

    One of the first three results must contain the texts `needs`, and none of them may contain the texts `outdated`.
    """

    text: str
    needs: tuple[str, ...]
    otherwise: tuple[str, ...] = ()
    outdated: str = ""

    def is_answered(self, texts: Sequence[str]) -> bool:
        """Return whether one of the texts answers the question and none is outdated."""
        answering = [self._answers(text) for text in texts]
        stale = (bool(self.outdated) and self.outdated in text for text in texts)
        return any(answering) and not any(old and not new for old, new in zip(stale, answering, strict=True))

    def _answers(self, text: str) -> bool:
        return all(need in text for need in self.needs) or bool(
            self.otherwise and all(s in text for s in self.otherwise)
        )


@dataclass(frozen=True, slots=True)
class Week:
    """Five days of events, and the questions that are asked in the following week."""

    project: str
    files: dict[str, str]
    asked: datetime
    events: tuple[tuple[datetime, str, Row], ...]
    questions: tuple[Question, ...]
    shown: tuple[str, ...]
    hidden: tuple[str, ...]


def read_week(path: Path) -> Week:
    """Read a week. An event without a time gets a time shortly after the previous event."""
    head, *rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return Week(
        head["project"],
        head["files"],
        datetime.fromisoformat(head["asked"]).replace(tzinfo=UTC),
        tuple(_add_times(head["monday"], [row for row in rows if "event" in row])),
        tuple(
            Question(row["question"], tuple(row["needs"]), tuple(row.get("or", ())), row.get("outdated", ""))
            for row in rows
            if "needs" in row
        ),
        tuple(row["shown"] for row in rows if "shown" in row),
        tuple(row["hidden"] for row in rows if "hidden" in row),
    )


def _add_times(monday: str, rows: Iterable[Row]) -> Iterator[tuple[datetime, str, Row]]:
    moment, session = datetime.fromisoformat(monday).replace(tzinfo=UTC), ""
    first = moment
    for row in rows:
        if "day" in row:
            hour, minute = map(int, row["at"].split(":"))
            moment, session = first + timedelta(days=row["day"] - 1, hours=hour, minutes=minute), row["session"]
        yield moment, session, row
        moment += _BETWEEN_EVENTS


class Agent:
    """Hook events of Claude Code. Those of Codex are mostly the same."""

    name = "claude"
    title = "Claude Code"

    def __init__(self, root: Path) -> None:
        self.root = root

    def calls(self, session: str, moment: datetime, row: Row) -> list[HookCall]:
        """Return the hook calls for an event. The list is empty if the agent has no hook for it."""
        convert: Callable[[Row], list[HookCall]] | None = getattr(self, f"on_{row['event']}", None)
        calls = convert(row) if convert else []
        return [HookCall(event, {**self.frame(session, moment, event), **payload}) for event, payload in calls]

    def frame(self, session: str, moment: datetime, event: str) -> Row:  # noqa: ARG002
        return {
            "session_id": session,
            "transcript_path": f"/home/ann/.claude/projects/-app/{session}.jsonl",
            "cwd": str(self.root),
            "permission_mode": "default",
            "hook_event_name": event,
        }

    def on_start(self, row: Row) -> list[HookCall]:
        return [HookCall("SessionStart", {"source": row.get("source", "startup"), "model": "claude-opus"})]

    def on_end(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("SessionEnd", {"reason": "exit"})]

    def on_prompt(self, row: Row) -> list[HookCall]:
        return [HookCall("UserPromptSubmit", {"prompt": row["text"]})]

    def on_answer(self, row: Row) -> list[HookCall]:
        return [HookCall("Stop", {"stop_hook_active": False, "last_assistant_message": row["text"]})]

    def on_notification(self, row: Row) -> list[HookCall]:
        text = f"<task-notification>\n<task-id>b1</task-id>\n<summary>{row['text']}</summary>\n</task-notification>"
        return self.on_prompt({"text": text})

    def on_interrupt(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return self.on_prompt({"text": "[Request interrupted by user for tool use]"})

    def _tool(self, name: str, given: Row, answer: object) -> list[HookCall]:
        return [HookCall("PostToolUse", {"tool_name": name, "tool_input": given, "tool_response": answer})]

    def on_look(self, row: Row) -> list[HookCall]:
        if row["tool"] == "Bash":
            return self.on_run({"command": row["command"], "output": "…", "status": 0})
        return self._tool(row["tool"], {"file_path": str(self.root / row["file"])}, {"type": "text", "file": {}})

    def on_run(self, row: Row) -> list[HookCall]:
        if row["status"]:
            error = f"Exit code {row['status']}\n{row['output']}"
            failed = {"tool_name": "Bash", "tool_input": {"command": row["command"]}, "error": error}
            return [HookCall("PostToolUseFailure", {**failed, "is_interrupt": False, "duration_ms": 90})]
        answer = {"stdout": row["output"], "stderr": "", "interrupted": False, "isImage": False}
        return self._tool("Bash", {"command": row["command"], "description": "…"}, answer)

    def on_edit(self, row: Row) -> list[HookCall]:
        path = str(self.root / row["file"])
        given = {"file_path": path, "old_string": row["old"], "new_string": row["new"], "replace_all": False}
        return self._tool("Edit", given, {"filePath": path, "oldString": row["old"], "newString": row["new"]})

    def on_write(self, row: Row) -> list[HookCall]:
        path = str(self.root / row["file"])
        return self._tool("Write", {"file_path": path, "content": row["content"]}, {"type": "create", "filePath": path})

    def on_ask(self, row: Row) -> list[HookCall]:
        questions = [{key: row[key] for key in ("question", "header", "options")} | {"multiSelect": False}]
        answer = {"questions": questions, "answers": {row["question"]: row["chosen"]}}
        return self._tool("AskUserQuestion", {"questions": questions}, answer)

    def on_plan(self, row: Row) -> list[HookCall]:
        answer = {"plan": row["text"], "isAgent": False, "filePath": "/home/ann/.claude/plans/a.md"}
        return self._tool("ExitPlanMode", {}, answer)

    def on_fetch(self, row: Row) -> list[HookCall]:
        answer = {"bytes": 900, "code": row["code"], "codeText": "OK", "result": row["result"], "url": row["url"]}
        return self._tool("WebFetch", {"url": row["url"], "prompt": "?"}, answer)

    def on_websearch(self, row: Row) -> list[HookCall]:
        results = [{"tool_use_id": "srv_1", "content": row["results"]}, row["summary"]]
        answer = {"query": row["query"], "results": results, "durationSeconds": 2.1}
        return self._tool("WebSearch", {"query": row["query"]}, answer)

    def on_pr(self, row: Row) -> list[HookCall]:
        given = {key: row[key] for key in ("owner", "repo", "title")} | {"head": "x", "base": "main"}
        answer = [{"type": "text", "text": json.dumps({"id": "7", "url": row["url"]})}]
        return self._tool("mcp__github__create_pull_request", given, answer)

    def on_compact(self, row: Row) -> list[HookCall]:
        return [HookCall("PostCompact", {"trigger": "auto", "compact_summary": row["summary"]})]

    def not_reported(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        """Return an empty list, because the agent has no hook for this event."""
        return []

    def as_prompt(self, row: Row) -> list[HookCall]:
        """Return the question or plan as an answer of the agent, and the choice of the user as a prompt."""
        asked = row.get("text") or row["question"]
        return [*self.on_answer({"text": asked}), *self.on_prompt({"text": row["reply"]})]


class Codex(Agent):
    """Hook events of Codex. The event of a command contains only its output. There is no event for a web search."""

    name = "codex"
    title = "Codex"

    def frame(self, session: str, moment: datetime, event: str) -> Row:
        transcript = f"/home/ann/.codex/sessions/2026/11/16/rollout-{session}.jsonl"
        turn = {} if event in ("SessionStart", "SessionEnd") else {"turn_id": "t1"}
        return {**super().frame(session, moment, event), "transcript_path": transcript, "model": "gpt-5", **turn}

    def _tool(self, name: str, given: Row, answer: object) -> list[HookCall]:
        payload = {"tool_name": name, "tool_use_id": "call-1", "tool_input": given, "tool_response": answer}
        return [HookCall("PostToolUse", payload)]

    def on_look(self, row: Row) -> list[HookCall]:
        return self._tool("Bash", {"command": row.get("command") or f"rg -n {row['file']}"}, "…")

    def on_run(self, row: Row) -> list[HookCall]:
        return self._tool("Bash", {"command": row["command"]}, row["output"])

    def _patch(self, file: str, kind: str, lines: Sequence[str]) -> list[HookCall]:
        patch = "\n".join(("*** Begin Patch", f"*** {kind} File: {file}", *lines, "*** End Patch"))
        mark = "A" if kind == "Add" else "M"
        answer = f"Success. Updated the following files:\n{mark} {file}\n"
        return self._tool("apply_patch", {"command": patch}, answer)

    def on_edit(self, row: Row) -> list[HookCall]:
        removed = [f"-{line}" for line in row["old"].splitlines()]
        added = [f"+{line}" for line in row["new"].splitlines()]
        return self._patch(row["file"], "Update", ["@@", *removed, *added])

    def on_write(self, row: Row) -> list[HookCall]:
        return self._patch(row["file"], "Add", [f"+{line}" for line in row["content"].splitlines()])

    def on_ask(self, row: Row) -> list[HookCall]:
        given = {"questions": [{"id": "q", **{key: row[key] for key in ("question", "header", "options")}}]}
        return self._tool("request_user_input", given, json.dumps({"answers": {"q": {"answers": [row["chosen"]]}}}))

    def on_pr(self, row: Row) -> list[HookCall]:
        given = {key: row[key] for key in ("owner", "repo", "title")}
        answer = {"content": [{"type": "text", "text": json.dumps({"url": row["url"]})}]}
        return self._tool("mcp__github__create_pull_request", given, answer)

    def on_compact(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("PostCompact", {"trigger": "auto"})]

    on_plan = Agent.as_prompt
    on_fetch = Agent.not_reported
    on_websearch = Agent.not_reported
    on_notification = Agent.not_reported
    on_interrupt = Agent.not_reported


class Gemini(Agent):
    """Hook events of Gemini CLI. The event of a plan contains only the name of the file with the plan."""

    name = "gemini"
    title = "Gemini CLI"

    def frame(self, session: str, moment: datetime, event: str) -> Row:
        return {
            "session_id": session,
            "transcript_path": f"/home/ann/.gemini/tmp/app/chats/session-{session}.json",
            "cwd": str(self.root),
            "timestamp": moment.isoformat(),
            "hook_event_name": event,
        }

    def on_start(self, row: Row) -> list[HookCall]:
        return [HookCall("SessionStart", {"source": row.get("source", "startup")})]

    def on_prompt(self, row: Row) -> list[HookCall]:
        return [HookCall("BeforeAgent", {"prompt": row["text"]})]

    def on_answer(self, row: Row) -> list[HookCall]:
        return [HookCall("AfterAgent", {"prompt": "?", "prompt_response": row["text"], "stop_hook_active": False})]

    def _tool(self, name: str, given: Row, answer: object) -> list[HookCall]:
        response = {"llmContent": answer, "returnDisplay": ""}
        return [HookCall("AfterTool", {"tool_name": name, "tool_input": given, "tool_response": response})]

    def on_look(self, row: Row) -> list[HookCall]:
        if row["tool"] == "Bash":
            return self.on_run({"command": row["command"], "output": "…", "status": 0})
        return self._tool("read_file", {"file_path": str(self.root / row["file"])}, "…")

    def on_run(self, row: Row) -> list[HookCall]:
        status = f"\nExit Code: {row['status']}" if row["status"] else ""
        output = f"Output: {row['output'] or '(empty)'}{status}\nProcess Group PGID: 4711"
        return self._tool("run_shell_command", {"command": row["command"]}, output)

    def on_edit(self, row: Row) -> list[HookCall]:
        path = str(self.root / row["file"])
        given = {"file_path": path, "instruction": "…", "old_string": row["old"], "new_string": row["new"]}
        return self._tool("replace", given, f"Successfully modified file: {path} (1 replacements).")

    def on_write(self, row: Row) -> list[HookCall]:
        path = str(self.root / row["file"])
        answer = f"Successfully created and wrote to new file: {path}."
        return self._tool("write_file", {"file_path": path, "content": row["content"]}, answer)

    def on_ask(self, row: Row) -> list[HookCall]:
        question = {key: row[key] for key in ("question", "header", "options")} | {"type": "choice"}
        return self._tool("ask_user", {"questions": [question]}, json.dumps({"answers": {"0": row["chosen"]}}))

    def on_plan(self, row: Row) -> list[HookCall]:
        answer = (
            "Plan approved. Switching to Default mode.\n\nThe approved implementation plan is stored at: /p/plan.md"
        )
        shown = self.on_answer({"text": row["text"]})
        return [*shown, *self._tool("exit_plan_mode", {"plan_filename": "plan.md"}, answer)]

    def on_fetch(self, row: Row) -> list[HookCall]:
        return self._tool("web_fetch", {"prompt": f"Summarise {row['url']}"}, row["result"])

    def on_websearch(self, row: Row) -> list[HookCall]:
        sources = "\n".join(f"[{at}] {hit['title']} ({hit['url']})" for at, hit in enumerate(row["results"], 1))
        text = f'Web search results for "{row["query"]}":\n\n{row["summary"]}[1]\n\nSources:\n{sources}'
        return self._tool("google_web_search", {"query": row["query"]}, text)

    def on_pr(self, row: Row) -> list[HookCall]:
        given = {key: row[key] for key in ("owner", "repo", "title")}
        return self._tool("mcp_github_create_pull_request", given, [{"text": json.dumps({"url": row["url"]})}])

    def on_compact(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("PreCompress", {"trigger": "auto"})]

    on_notification = Agent.not_reported
    on_interrupt = Agent.not_reported


class Cursor(Agent):
    """Hook events of Cursor: commands without exit status, edits, prompts and answers.

    There are no events for questions, plans and pages.
    """

    name = "cursor"
    title = "Cursor"

    def frame(self, session: str, moment: datetime, event: str) -> Row:  # noqa: ARG002
        return {
            "conversation_id": session,
            "generation_id": "g1",
            "model": "composer",
            "cursor_version": "2.0.77",
            "workspace_roots": [str(self.root)],
            "user_email": "ann@example.com",
            "transcript_path": None,
            "hook_event_name": event,
        }

    def on_start(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("sessionStart", {"session_id": "c", "is_background_agent": False, "composer_mode": "agent"})]

    def on_end(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("sessionEnd", {"session_id": "c", "reason": "completed", "duration_ms": 45_000})]

    def on_prompt(self, row: Row) -> list[HookCall]:
        return [HookCall("beforeSubmitPrompt", {"prompt": row["text"], "attachments": []})]

    def on_answer(self, row: Row) -> list[HookCall]:
        return [HookCall("afterAgentResponse", {"text": row["text"]})]

    def on_run(self, row: Row) -> list[HookCall]:
        payload = {"command": row["command"], "output": row["output"], "duration": 900}
        return [HookCall("afterShellExecution", payload)]

    def on_look(self, row: Row) -> list[HookCall]:
        return self.on_run({"command": row["command"], "output": "…"}) if row["tool"] == "Bash" else []

    def on_edit(self, row: Row) -> list[HookCall]:
        edits = [{"old_string": row["old"], "new_string": row["new"]}]
        return [HookCall("afterFileEdit", {"file_path": str(self.root / row["file"]), "edits": edits})]

    def on_write(self, row: Row) -> list[HookCall]:
        return self.on_edit({"file": row["file"], "old": "", "new": row["content"]})

    def on_pr(self, row: Row) -> list[HookCall]:
        result = json.dumps({"content": [{"type": "text", "text": row["url"]}]})
        payload = {"tool_name": "create_pull_request", "tool_input": json.dumps({"title": row["title"]})}
        return [HookCall("afterMCPExecution", {**payload, "result_json": result, "duration": 250})]

    def on_compact(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("preCompact", {"trigger": "auto", "context_usage_percent": 85})]

    on_ask = Agent.as_prompt
    on_plan = Agent.as_prompt
    on_fetch = Agent.not_reported
    on_websearch = Agent.not_reported
    on_notification = Agent.not_reported
    on_interrupt = Agent.not_reported


class OpenCode(Agent):
    """Hook events of the OpenCode plugin that `deltos install` writes."""

    name = "opencode"
    title = "OpenCode"

    def frame(self, session: str, moment: datetime, event: str) -> Row:  # noqa: ARG002
        return {"sessionID": f"ses_{session}", "directory": str(self.root)}

    def on_start(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("session.created", {})]

    def on_end(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return []

    def on_prompt(self, row: Row) -> list[HookCall]:
        return [HookCall("chat.message", {"prompt": row["text"]})]

    def on_answer(self, row: Row) -> list[HookCall]:
        return [HookCall("experimental.text.complete", {"text": row["text"]})]

    def _tool(self, name: str, given: Row, answer: object) -> list[HookCall]:
        return [HookCall("tool.execute.after", {"tool": name, "callID": "c1", "args": given, "output": answer})]

    def on_look(self, row: Row) -> list[HookCall]:
        if row["tool"] == "Bash":
            return self.on_run({"command": row["command"], "output": "…", "status": 0})
        return self._tool("read", {"filePath": str(self.root / row["file"])}, {"title": "", "output": "…"})

    def on_run(self, row: Row) -> list[HookCall]:
        metadata = {"output": "…", "exit": row["status"], "truncated": False}
        answer = {"title": row["command"], "output": row["output"], "metadata": metadata}
        return self._tool("bash", {"command": row["command"], "description": "…"}, answer)

    def on_edit(self, row: Row) -> list[HookCall]:
        given = {"filePath": str(self.root / row["file"]), "oldString": row["old"], "newString": row["new"]}
        answer = {"title": row["file"], "output": "Edit applied successfully.", "metadata": {}}
        return self._tool("edit", given, answer)

    def on_write(self, row: Row) -> list[HookCall]:
        given = {"filePath": str(self.root / row["file"]), "content": row["content"]}
        return self._tool("write", given, {"title": row["file"], "output": "", "metadata": {}})

    def on_ask(self, row: Row) -> list[HookCall]:
        questions = [{key: row[key] for key in ("question", "header", "options")}]
        answer = {"title": "Asked 1 question", "output": "…", "metadata": {"answers": [[row["chosen"]]]}}
        return self._tool("question", {"questions": questions}, answer)

    def on_fetch(self, row: Row) -> list[HookCall]:
        answer = {"title": row["url"], "output": row["result"], "metadata": {}}
        return self._tool("webfetch", {"url": row["url"], "format": "markdown"}, answer)

    def on_websearch(self, row: Row) -> list[HookCall]:
        hits = "\n".join(f"Title: {hit['title']}\nURL: {hit['url']}" for hit in row["results"])
        answer = {"title": row["query"], "output": f"{hits}\n{row['summary']}", "metadata": {}}
        return self._tool("websearch", {"query": row["query"]}, answer)

    def on_pr(self, row: Row) -> list[HookCall]:
        answer = {"title": "", "output": json.dumps({"url": row["url"]}), "metadata": {}}
        given = {key: row[key] for key in ("owner", "repo", "title")}
        return self._tool("github_create_pull_request", given, answer)

    def on_compact(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return []

    on_plan = Agent.as_prompt
    on_notification = Agent.not_reported
    on_interrupt = Agent.not_reported


class Copilot(Agent):
    """Hook events of Copilot CLI. The answers of the main agent are only in the session file."""

    name = "copilot"
    title = "Copilot CLI"

    def frame(self, session: str, moment: datetime, event: str) -> Row:  # noqa: ARG002
        return {"sessionId": session, "timestamp": int(moment.timestamp() * 1000), "cwd": str(self.root)}

    def on_start(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("sessionStart", {"source": "new"})]

    def on_end(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("sessionEnd", {"reason": "user_exit"})]

    def on_prompt(self, row: Row) -> list[HookCall]:
        return [HookCall("userPromptSubmitted", {"prompt": row["text"]})]

    def on_answer(self, row: Row) -> list[HookCall]:
        data = {"messageId": "m1", "content": row["text"], "toolRequests": []}
        line = {"id": "e1", "timestamp": "", "parentId": None, "type": "assistant.message", "data": data}
        transcript = self.root.parent / "session-state" / "s1" / "events.jsonl"
        _save(transcript, json.dumps(line) + "\n")
        return [HookCall("agentStop", {"transcriptPath": str(transcript), "stopReason": "end_turn"})]

    def _tool(self, name: str, given: object, answer: object) -> list[HookCall]:
        result = {"resultType": "success", "textResultForLlm": answer}
        return [HookCall("postToolUse", {"toolName": name, "toolArgs": given, "toolResult": result})]

    def on_look(self, row: Row) -> list[HookCall]:
        if row["tool"] == "Bash":
            return self.on_run({"command": row["command"], "output": "…", "status": 0})
        return self._tool("view", {"path": str(self.root / row["file"])}, "…")

    def on_run(self, row: Row) -> list[HookCall]:
        answer = f"{row['output']}\n<exited with exit code {row['status']}>"
        return self._tool("bash", {"command": row["command"], "description": "…"}, answer)

    def on_edit(self, row: Row) -> list[HookCall]:
        given = {"path": str(self.root / row["file"]), "old_str": row["old"], "new_str": row["new"]}
        return self._tool("edit", json.dumps(given), "File updated")

    def on_write(self, row: Row) -> list[HookCall]:
        given = {"path": str(self.root / row["file"]), "file_text": row["content"]}
        return self._tool("create", given, "Created file")

    def on_ask(self, row: Row) -> list[HookCall]:
        given = {"question": row["question"], "choices": [option["label"] for option in row["options"]]}
        return self._tool("ask_user", given, f"User selected: {row['chosen']}")

    def on_fetch(self, row: Row) -> list[HookCall]:
        return self._tool("web_fetch", {"url": row["url"]}, row["result"])

    def on_websearch(self, row: Row) -> list[HookCall]:
        hits = "\n".join(f"{hit['title']} ({hit['url']})" for hit in row["results"])
        return self._tool("web_search", {"query": row["query"]}, f"{row['summary']}\n{hits}")

    def on_pr(self, row: Row) -> list[HookCall]:
        given = {key: row[key] for key in ("owner", "repo", "title")}
        return self._tool("github-mcp-server-create_pull_request", given, json.dumps({"url": row["url"]}))

    def on_compact(self, row: Row) -> list[HookCall]:  # noqa: ARG002
        return [HookCall("preCompact", {"transcriptPath": "/t.jsonl", "trigger": "auto", "customInstructions": ""})]

    on_plan = Agent.as_prompt
    on_notification = Agent.not_reported
    on_interrupt = Agent.not_reported


AGENTS = (Agent, Codex, Gemini, Cursor, OpenCode, Copilot)


@dataclass(slots=True)
class Clock:
    """Clock that returns the time of the replayed event."""

    moment: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        """Return the current time."""
        return self.moment


def lay_out(week: Week, root: Path) -> None:
    """Write the files of the project at the start of the week."""
    for name, content in week.files.items():
        _save(root / name, content)
    subprocess.run(("git", "init", "-q", str(root)), check=True)


def _save(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")


def apply_event(root: Path, row: Row) -> None:
    """Apply an event to the files of the project."""
    if row["event"] == "write":
        _save(root / row["file"], row["content"])
    elif row["event"] == "edit":
        path = root / row["file"]
        before = path.read_text("utf-8") if path.exists() else row["old"]
        _save(path, before.replace(row["old"], row["new"]) if row["old"] in before else f"{before}\n{row['new']}\n")


def replay(week: Week, agent: Agent, send: Callable[[HookCall], object], clock: Clock) -> int:
    """Send the hook events of a week, and return the number of hook calls."""
    count = 0
    for moment, session, row in week.events:
        clock.moment = moment
        apply_event(agent.root, row)  # Hooks run after the tool has changed the files.
        for call in agent.calls(session, moment, row):
            send(call)
            count += 1
    return count


class Answers(NamedTuple):
    """Results of the questions about one week, recorded by the hooks of one agent."""

    hooks: int
    kept: int
    wrong: list[tuple[Question, list[str]]]
    not_reported: int  # number of unanswered questions whose answer is in no hook event
    context: str


def first_texts(memory: Memory, question: str, project_id: str) -> list[str]:
    """Return the texts of the first three results."""
    return [hit.observation.text for hit in memory.search(question, project_id, limit=COUNTED_RESULTS).hits]


def replay_and_ask(
    week: Week, kind: type[Agent], folder: Path, ask: Callable[[Memory, str, str], list[str]] = first_texts
) -> Answers:
    """Send the events of a week in this process, then ask the questions."""
    root, home, clock = folder / week.project, folder / "home", Clock()
    home.mkdir()
    lay_out(week, root)
    memory = open_memory(SqliteObservations(home / "memory.db"), clock=clock)
    settings = HookSettings(home)

    sent_texts: list[str] = []

    def send(call: HookCall) -> str:
        sent_texts.append("\n".join(_strings_in(call.payload)))
        return capture(
            memory,
            call.event,
            json.dumps(call.payload).encode(),
            folder=root,
            identify=lambda here: identify(here, may_start_git=False).project_id,
            settings=settings,
        )

    agent = kind(root)
    hooks = replay(week, agent, send, clock)
    clock.moment = week.asked
    project = memory.with_stored_identity(identify(root)).project_id
    wrong = [
        (question, texts)
        for question in week.questions
        if not question.is_answered(texts := ask(memory, question.text, project))
    ]
    kept = memory.store.counts().observations
    not_reported = sum(not any(question.is_answered([text]) for text in sent_texts) for question, _ in wrong)
    (start,) = agent.calls("next", week.asked, {"event": "start"})
    return Answers(hooks, kept, wrong, not_reported, send(start))


def _strings_in(value: object) -> Iterator[str]:
    """Yield all strings in a payload."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings_in(each)


def context_of(output: str) -> str:
    """Return the session-start context in a hook's output."""
    if not output:
        return ""
    answer = json.loads(output)
    inner = answer.get("hookSpecificOutput", answer)
    return str(inner.get("additionalContext") or inner.get("additional_context") or "")


def check_processes(week: Week) -> None:
    """Send the week of Claude Code through `deltos hook` processes and compare the stored observations."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        root, home = Path(one) / week.project, Path(one) / "home"
        lay_out(week, root)
        environ = {**os.environ, "DELTOS_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}

        def send(call: HookCall) -> object:
            command = (sys.executable, "-c", _DELTOS, "hook", call.event)
            given = json.dumps(call.payload).encode()
            return subprocess.run(command, input=given, env=environ, cwd=root, check=True, capture_output=True)

        replay(week, Agent(root), send, Clock())
        distill(Memory(SqliteObservations(home / "memory.db")), Journal(home))
        replay_and_ask(week, Agent, Path(other))
        by_processes, in_process = (
            _stored_observations(Path(folder) / "home", Path(folder)) for folder in (one, other)
        )
    print(
        f"stored by processes: {len(by_processes)}, in one process: {len(in_process)}, "
        f"equal: {by_processes == in_process}"
    )


def _stored_observations(home: Path, folder: Path) -> list[tuple[str, str, bool]]:
    store = SqliteObservations(home / "memory.db")
    rows: list[tuple[str, str, bool]] = [
        (row.kind, row.text.replace(str(folder), ""), row.superseded_by is None) for row in store.all()
    ]
    store.close()
    return rows


def main() -> None:
    """Replay the weeks, ask the questions, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--week", type=Path, default=WEEKS / "week_01.jsonl")
    parser.add_argument("--agent", nargs="*", default=[agent.name for agent in AGENTS])
    parser.add_argument("--wrong", action="store_true", help="print the unanswered questions")
    parser.add_argument("--shown", action="store_true", help="print the session-start context")
    parser.add_argument(
        "--processes", action="store_true", help="compare with `deltos hook` processes; ask no questions"
    )
    args = parser.parse_args()
    week = read_week(args.week)
    if args.processes:
        check_processes(week)
        return
    rows = []
    for kind in AGENTS:
        if kind.name in args.agent:
            with tempfile.TemporaryDirectory() as folder:
                answers = replay_and_ask(week, kind, Path(folder))
            rows.append(_format_row(week, kind, answers))
            _print_details(args, kind, answers)
    heads = (
        "agent",
        "hooks",
        "stored",
        "answered",
        "in first three",
        "not reported",
        "shown at start",
        "of",
        "noise",
        "tokens",
    )
    table(heads, rows)


def _format_row(week: Week, kind: type[Agent], answers: Answers) -> tuple[object, ...]:
    context = context_of(answers.context)
    right = len(week.questions) - len(answers.wrong)
    share = f"{right / len(week.questions):.3f}"
    shown = sum(text in context for text in week.shown)
    noise = sum(text in context for text in week.hidden)
    at_start = shown, len(week.shown), noise, len(context) // 4
    return kind.title, answers.hooks, answers.kept, right, share, answers.not_reported, *at_start


def _print_details(args: argparse.Namespace, kind: type[Agent], answers: Answers) -> None:
    if args.wrong:
        for question, texts in answers.wrong:
            print(f"{kind.name}: {question.text} — needs {question.needs}")
            for text in texts:
                print("     ", " ".join(text.split())[:150])
    if args.shown:
        print(f"--- {kind.name}\n{context_of(answers.context)}")


if __name__ == "__main__":
    main()
