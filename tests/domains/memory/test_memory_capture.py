"""Capture: hook events of each agent, and the observations extracted from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.hook_capture import capture

from deltos.budget import estimate_tokens
from deltos.domains.memory.capture.commands import Effect, effect_of
from deltos.domains.memory.capture.error_text import error_excerpt
from deltos.domains.memory.capture.hooks import project_root
from deltos.domains.memory.capture.payload import MAX_INPUT_BYTES
from deltos.domains.memory.core.model import PERSONAL, Draft, ObservationOrigin
from deltos.errors import BadArgument
from deltos.hook_settings import CONTEXT_TOKENS

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from tests.domains.memory.conftest import Clock, Notes


class Agent:
    """Agent that sends hook events from a project folder."""

    def __init__(self, memory: Memory, root: Path) -> None:
        self.memory = memory
        self.root = root

    def send_event(self, event: str, **fields: Any) -> str:
        """Send an event and return the output of the hook."""
        payload = {"session_id": "s1", "cwd": str(self.root), "hook_event_name": event, **fields}
        return self.send_raw(event, json.dumps(payload).encode())

    def send_raw(self, event: str, raw: bytes) -> str:
        """Send raw input and return the output of the hook."""
        return capture(self.memory, event, raw, folder=self.root, identify=lambda root: f"id:{root.name}")

    def run(self, command: str, output: str = "", *, fails: bool = False, session: str = "s1") -> str:
        """Send a shell command of Claude Code."""
        tool = {"session_id": session, "tool_name": "Bash", "tool_input": {"command": command}}
        if fails:
            return self.send_event("PostToolUseFailure", **tool, error=f"Exit code 1\n{output}")
        return self.send_event("PostToolUse", **tool, tool_response={"stdout": output, "stderr": ""})

    def edit(self, path: str, old: str, new: str, *, session: str = "s1") -> str:
        """Send an edit of Claude Code."""
        changed = {"file_path": path, "old_string": old, "new_string": new}
        return self.send_event("PostToolUse", session_id=session, tool_name="Edit", tool_input=changed)

    def open_errors(self, session: str) -> str:
        """Return the open errors in the context of a new session."""
        output = self.send_event("SessionStart", session_id=session, source="startup")
        context = json.loads(output)["hookSpecificOutput"]["additionalContext"] if output else ""
        _, _, errors = str(context).partition("Open errors, quoted from the output of commands:\n")
        return "\n".join(line for line in errors.splitlines() if " error: " in line)

    def stored(self) -> list[tuple[str, str]]:
        """Return kind and text of all observations."""
        return [(row.kind, row.text) for row in self.memory.store.all()]


@pytest.fixture
def agent(memory: Memory, tmp_path: Path) -> Agent:
    root = tmp_path / "app"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x = 2\n")
    return Agent(memory, root)


class TestExtraction:
    """Edits, failures, state changes, decisions and fetched pages are stored; reading is not."""

    def test_an_edit_is_stored_with_its_changed_lines(self, agent: Agent) -> None:
        path = str(agent.root / "src" / "a.py")
        agent.send_event(
            "PostToolUse",
            tool_name="Edit",
            tool_input={"file_path": path, "old_string": "x = 1", "new_string": "x = 2"},
        )
        assert agent.stored() == [("change", "Edited src/a.py\n- x = 1\n+ x = 2")]
        [row] = agent.memory.store.all()
        assert row.files == ("src/a.py",)
        assert row.session_id == "s1"
        assert agent.memory.store.anchors([row.place])

    def test_a_long_edit_is_truncated(self, agent: Agent) -> None:
        content = "\n".join(f"line {number}" for number in range(50))
        agent.send_event("PostToolUse", tool_name="Write", tool_input={"file_path": "src/b.py", "content": content})
        [(_, text)] = agent.stored()
        assert text.endswith("… 42 more lines")

    def test_a_failed_edit_is_an_error(self, agent: Agent) -> None:
        agent.send_event(
            "PostToolUseFailure",
            tool_name="Edit",
            tool_input={"file_path": "src/a.py"},
            error="String not found",
        )
        assert agent.stored() == [("error", "Editing src/a.py failed: String not found")]

    def test_a_failed_command_is_stored_with_its_error(self, agent: Agent) -> None:
        agent.run("pytest -q", "E  assert 1 == 2", fails=True)
        assert agent.stored() == [("error", "`pytest -q` failed:\nExit code 1\nE  assert 1 == 2")]

    def test_a_command_that_changes_something_is_stored(self, agent: Agent) -> None:
        agent.run("git commit -m 'Fix the lexer'", "[main 1a2b3c] Fix the lexer")
        assert agent.stored() == [("change", "Ran `git commit -m 'Fix the lexer'`\n[main 1a2b3c] Fix the lexer")]

    @pytest.mark.parametrize(
        "command", ["ls -la", "cat a.py", "git status", "cd src && rg foo | head", "pytest -q", "npm test"]
    )
    def test_reading_commands_and_passing_tests_are_not_stored(self, agent: Agent, command: str) -> None:
        agent.run(command, "fine")
        assert agent.stored() == []

    def test_a_failed_reading_command_is_not_stored(self, agent: Agent) -> None:
        agent.run("ls nowhere", "No such file", fails=True)
        assert agent.stored() == []

    def test_a_fixed_error_is_not_open(self, agent: Agent, clock: Clock) -> None:
        agent.run("make", "error: no rule", fails=True)
        agent.run("pytest -q", "E  NameError: foo", fails=True)
        clock.pass_time(minutes=1)
        agent.run("pytest -q", "3 passed")
        context = agent.send_event("SessionStart", source="startup")
        _, _, open_errors = context.partition("Open errors, quoted from the output of commands:")
        assert "`make` failed" in open_errors
        assert "`pytest -q` failed" not in open_errors
        clock.pass_time(minutes=1)
        agent.run("pytest -q", "E  TypeError: bar", fails=True)
        assert (
            "TypeError"
            in agent.send_event("SessionStart", source="startup").partition(
                "Open errors, quoted from the output of commands:"
            )[2]
        )

    def test_an_error_is_stored_with_its_fix(self, agent: Agent) -> None:
        agent.run("pytest -q", "E  NameError: foo", fails=True)
        agent.send_event(
            "PostToolUse",
            tool_name="Edit",
            tool_input={"file_path": "src/a.py", "old_string": "foo", "new_string": "bar"},
        )
        agent.run("pytest -q", "3 passed")
        agent.run("pytest -q", "3 passed")
        kind, text = agent.stored()[-1]
        assert kind == "finding"
        assert text.startswith(
            "Fixed: `pytest -q` works now.\nAfter: Edited src/a.py: - foo + bar\nIt had failed with: "
        )
        assert "NameError" in text
        assert len(agent.stored()) == 3

    def test_a_failure_repeated_in_another_session_is_closed_by_a_success_there(
        self, agent: Agent, clock: Clock
    ) -> None:
        output = "error[E0382]: borrow of moved value: `x`\nerror: could not compile `foo`"
        agent.run("cargo test", output, fails=True, session="s1")
        clock.pass_time(hours=1)
        agent.edit("src/a.py", "before", "between", session="s2")
        clock.pass_time(minutes=1)
        agent.run("cargo test", output, fails=True, session="s2")
        clock.pass_time(minutes=1)
        agent.edit("src/a.py", "self.size = size", "self.size = str(size)", session="s2")
        clock.pass_time(minutes=1)
        agent.run("cargo test", "test result: ok. 5 passed; 0 failed", session="s2")
        assert agent.open_errors("s3") == ""
        [text] = [text for kind, text in agent.stored() if kind == "finding"]
        assert text.startswith(
            "Fixed: `cargo test` works now.\nAfter: Edited src/a.py: - self.size = size + self.size = str(size)\n"
            "It had failed with: Exit code 1\nerror[E0382]"
        )

    def test_a_success_in_another_session_closes_every_open_error_of_the_command(
        self, agent: Agent, clock: Clock
    ) -> None:
        for session, output in (("s1", "ERR_PNPM_OUTDATED_LOCKFILE  not up to date"), ("s2", "ERR_PNPM_FETCH_404")):
            agent.run("pnpm install --frozen-lockfile", output, fails=True, session=session)
            clock.pass_time(hours=1)
        agent.run("make", "error: no rule", fails=True, session="s2")
        clock.pass_time(hours=1)
        for _ in range(2):
            agent.run("pnpm install --frozen-lockfile", "Done in 1.4s", session="s3")
            clock.pass_time(minutes=1)
        assert "`make` failed" in agent.open_errors("s4")
        assert "pnpm" not in agent.open_errors("s4")
        fixes = [text for kind, text in agent.stored() if kind == "finding"]
        assert len(fixes) == 1
        assert "After: " not in fixes[0]
        assert "ERR_PNPM_FETCH_404" in fixes[0]

    def test_a_command_that_fails_again_after_it_was_fixed_is_open_again(self, agent: Agent, clock: Clock) -> None:
        for session in ("s1", "s2"):
            agent.run("cargo test", "error[E0382]: borrow of moved value: `x`", fails=True, session=session)
            clock.pass_time(minutes=1)
            assert "E0382" in agent.open_errors("looks")
            agent.run("cargo test", "test result: ok. 5 passed; 0 failed", session=session)
            clock.pass_time(minutes=1)
            assert agent.open_errors("looks") == ""

    def test_an_error_stays_closed_after_many_later_findings(self, agent: Agent, notes: Notes, clock: Clock) -> None:
        agent.run("cargo test", "error[E0382]: borrow of moved value: `x`", fails=True)
        agent.run("cargo test", "test result: ok. 5 passed; 0 failed")
        for number in range(100):
            clock.pass_time(minutes=1)
            notes.remember(f"Queue {number} drains within {number} seconds", project="id:app")
        assert agent.open_errors("s2") == ""

    def test_a_fix_names_the_command_that_fixed_it(self, agent: Agent) -> None:
        agent.run("pytest -q 2>&1 | tail -5", "E  ModuleNotFoundError: No module named 'zod'\n1 error in 0.1s")
        for package in ("a", "b", "c", "zod"):
            agent.run(f"pip install {package}", "Successfully installed")
        agent.run("pytest -q", "3 passed in 0.1s")
        _, text = agent.stored()[-1]
        assert text.splitlines()[:5] == [
            "Fixed: `pytest -q` works now.",
            "After: `pip install zod`",
            "after: `pip install c`",
            "after: `pip install b`",
            "and 1 changes before",
        ]
        assert "No module named 'zod'" in text
        assert "Open errors" not in agent.send_event("SessionStart", source="startup")

    def test_a_fix_keeps_the_last_output_of_a_changing_command(self, agent: Agent) -> None:
        agent.run("terraform apply", "│ Error: region is not enabled", fails=True)
        agent.run("aws account enable-region --region-name eu-central-2")
        agent.run("terraform apply", 'Apply complete!\nhost = "pgb.internal"')
        _, text = agent.stored()[-1]
        assert "After: `aws account enable-region --region-name eu-central-2`" in text
        assert 'It printed: Apply complete!\nhost = "pgb.internal"\nIt had failed with: ' in text

    @pytest.mark.parametrize(
        "command", ["hyperfine 'curl -s localhost'", "go test -bench=. ./...", "npm run bench:api"]
    )
    def test_a_measurement_is_a_finding(self, agent: Agent, command: str) -> None:
        agent.run(command, "mean 11.8 ms")
        assert agent.stored() == [("finding", f"Measured with `{command}`\nmean 11.8 ms")]

    def test_a_load_test_over_its_threshold_is_still_a_measurement(self, agent: Agent) -> None:
        agent.run(
            "k6 run load.js", "ERRO[0012] thresholds have been crossed\nhttp_req_duration: p(95)=1.9s", fails=True
        )
        agent.run("k6 run missing.js", "ERRO[0000] The moduleSpecifier couldn't be found", fails=True)
        assert [kind for kind, _ in agent.stored()] == ["finding", "error"]

    def test_the_line_with_the_cause_is_not_truncated(self, agent: Agent) -> None:
        cause = "E   TypeError: " + "unsupported operand " * 20 + "at the very end"
        noise = "\n".join(f"test_{number} PASSED with a long description of it" for number in range(90))
        agent.run("pytest", f"{noise}\n{cause}\n{noise}\n1 failed", fails=True)
        [(_, text)] = agent.stored()
        assert cause in text

    def test_deltos_tools_and_unknown_tools_are_not_stored(self, agent: Agent) -> None:
        agent.send_event("PostToolUse", tool_name="mcp__deltos__search", tool_input={"query": "x"})
        agent.send_event("PostToolUse", tool_name="Read", tool_input={"file_path": "src/a.py"}, tool_response="x = 2")
        assert agent.stored() == []

    def test_a_fetched_page_is_a_reference(self, agent: Agent) -> None:
        agent.send_event(
            "PostToolUse",
            tool_name="WebFetch",
            tool_input={"url": "https://x.dev/a", "prompt": "?"},
            tool_response="Use v2",
        )
        agent.send_event(
            "PostToolUse",
            tool_name="WebSearch",
            tool_input={"query": "sqlite wal"},
            tool_response={"result": "docs"},
        )
        assert agent.stored() == [
            ("reference", "Fetched https://x.dev/a\nUse v2"),
            ("reference", "Searched the web for: sqlite wal\ndocs"),
        ]

    @pytest.mark.parametrize(
        ("prompt", "kind"),
        [
            ("Please always run the linter before you commit", "preference"),
            ("Please always run the linter first", "preference"),
            ("We decided to use SQLite instead of files.", "decision"),
            ("Let's use SQLite instead of files", "note"),
            ("Why does the parser hang on empty input?", "request"),
        ],
    )
    def test_prompts_are_stored_with_their_kind(self, agent: Agent, prompt: str, kind: str) -> None:
        agent.send_event("UserPromptSubmit", prompt=prompt)
        assert agent.stored() == [(kind, prompt)]

    @pytest.mark.parametrize("prompt", ["yes", "continue", "/clear now please", "ok go", ""])
    def test_trivial_prompts_are_not_stored(self, agent: Agent, prompt: str) -> None:
        agent.send_event("UserPromptSubmit", prompt=prompt)
        assert agent.stored() == []

    def test_decisions_and_findings_of_an_answer_are_stored(self, agent: Agent) -> None:
        agent.send_event(
            "Stop",
            last_assistant_message="Done. The root cause was a stale lock file in the cache folder.\n"
            "I decided to delete it at start.\n```\nbecause = 1 # code is left out\n```\nAnything else?",
        )
        [(kind, text)] = agent.stored()
        assert kind == "finding"  # a choice of the agent is not a decision of the project
        assert text == "The root cause was a stale lock file in the cache folder.\nI decided to delete it at start."

    def test_an_answer_that_only_explains_is_a_finding(self, agent: Agent) -> None:
        agent.send_event("Stop", last_assistant_message="It fails because the port is taken by another process.")
        agent.send_event("Stop", last_assistant_message="All done, have a nice day my friend!")
        assert [kind for kind, _ in agent.stored()] == ["finding"]

    def test_summary_and_instructions_of_a_compaction_are_stored(self, agent: Agent) -> None:
        agent.send_event("PreCompact", trigger="auto", custom_instructions="")
        agent.send_event("PreCompact", trigger="manual", custom_instructions="keep the API design")
        agent.send_event("PostCompact", trigger="auto", compact_summary="We rewrote the lexer.")
        assert agent.stored() == [("request", "keep the API design"), ("summary", "We rewrote the lexer.")]

    def test_a_session_has_its_agent_and_end(self, agent: Agent) -> None:
        agent.send_event("SessionStart", source="startup")
        agent.send_event("SessionEnd", reason="exit")
        [session] = agent.memory.store.sessions()
        assert (session.agent, session.session_id) == ("claude", "s1")
        assert session.ended_at is not None

    def test_secrets_and_secret_files_are_not_stored(self, agent: Agent) -> None:
        agent.send_event("PostToolUse", tool_name="Write", tool_input={"file_path": ".env", "content": "A=b"})
        agent.run("cp .env.production /tmp/x", "DB_PASSWORD=hunter2")
        agent.run("source .env && make", "boom", fails=True)
        agent.run("git push https://bot:abc123@host/r.git", "done")
        assert [text for _, text in agent.stored()] == [
            "Ran `git push https://bot:[redacted:connection-string]@host/r.git`\ndone"
        ]

    def test_an_entirely_private_prompt_is_not_stored(self, agent: Agent) -> None:
        agent.send_event("UserPromptSubmit", prompt="<private>my salary is ten times yours</private>")
        assert agent.stored() == []

    def test_a_repeated_event_is_stored_once(self, agent: Agent) -> None:
        for _ in range(3):
            agent.run("pytest -q", "E  assert 1 == 2", fails=True)
        assert len(agent.stored()) == 1


class TestAgents:
    """Codex, Gemini CLI and Cursor send the same events in their own formats."""

    def test_codex_events_are_stored(self, agent: Agent) -> None:
        agent.send_event(
            "PostToolUse",
            turn_id="t",
            tool_name="shell",
            tool_input={"command": ["cargo", "build"]},
            tool_response={"output": "error: expected `;`", "metadata": {"exit_code": 101}},
        )
        patch = "*** Begin Patch\n*** Update File: src/a.py\n-x = 1\n+x = 2\n*** End Patch"
        agent.send_event(
            "PostToolUse",
            turn_id="t",
            tool_name="apply_patch",
            tool_input={"input": patch},
            tool_response="ok",
        )
        assert agent.stored() == [
            ("error", "`cargo build` failed:\nerror: expected `;`"),
            ("change", "Edited src/a.py\n- x = 1\n+ x = 2"),
        ]
        assert agent.memory.store.sessions()[0].agent == "codex"

    def test_codex_notification_is_stored(self, agent: Agent) -> None:
        raw = {
            "type": "agent-turn-complete",
            "thread-id": "t9",
            "cwd": str(agent.root),
            "last-assistant-message": "The fix was easy: the cache.",
        }
        agent.send_raw("", json.dumps(raw).encode())
        [row] = agent.memory.store.all()
        assert row.session_id == "t9"

    def test_gemini_events_are_stored(self, agent: Agent) -> None:
        stamp = {"timestamp": "2025-05-14T12:00:00Z"}
        agent.send_event("BeforeAgent", **stamp, prompt="Never touch the generated files")
        agent.send_event(
            "AfterTool",
            **stamp,
            tool_name="run_shell_command",
            tool_input={"command": "make"},
            tool_response={
                "llmContent": "Output: make: *** [all] Error 2\nExit Code: 2",
                "returnDisplay": "",
            },
        )
        agent.send_event(
            "AfterTool",
            **stamp,
            tool_name="replace",
            tool_input={"file_path": "src/a.py", "old_string": "1", "new_string": "2"},
        )
        agent.send_event(
            "AfterAgent",
            **stamp,
            prompt="?",
            prompt_response="As agreed, we keep the old parser instead of rewriting it.",
        )
        agent.send_event("PreCompress", **stamp, trigger="auto")
        assert [kind for kind, _ in agent.stored()] == ["preference", "error", "change", "decision"]
        assert agent.memory.store.sessions()[0].agent == "gemini"

    def test_cursor_events_are_stored(self, agent: Agent) -> None:
        base = {
            "conversation_id": "c1",
            "workspace_roots": [str(agent.root)],
            "cursor_version": "2",
            "session_id": None,
            "cwd": "",
        }
        agent.send_event("beforeSubmitPrompt", **base, prompt="Rename the config module please")
        agent.send_event("afterShellExecution", **base, command="npm install zod", output="added 1 package")
        agent.send_event(
            "afterFileEdit",
            **base,
            file_path=str(agent.root / "src/a.py"),
            edits=[{"old_string": "1", "new_string": "2"}],
        )
        agent.send_event("afterAgentResponse", **base, text="It broke because two modules had the same name.")
        agent.send_event("stop", **base, status="completed")
        assert [kind for kind, _ in agent.stored()] == ["request", "change", "change", "finding"]
        [session] = agent.memory.store.sessions()
        assert (session.agent, session.session_id) == ("cursor", "c1")

    def test_cursor_gets_the_context_in_its_own_format(self, agent: Agent) -> None:
        agent.send_event("UserPromptSubmit", prompt="Always write tests first")
        answer = agent.send_event("sessionStart", conversation_id="c2", cursor_version="2")
        assert "write tests first" in json.loads(answer)["additional_context"]

    @pytest.mark.parametrize("response", [None, [], [{"text": "ok"}], {"success": False, "error": "denied"}, 5])
    def test_tool_responses_of_any_type_are_read(self, agent: Agent, response: object) -> None:
        agent.send_event("PostToolUse", tool_name="Bash", tool_input={"command": "make deploy"}, tool_response=response)
        assert len(agent.stored()) == 1


class TestBadInput:
    """Invalid hook input is rejected or ignored without side effects."""

    @pytest.mark.parametrize("raw", [b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000])
    def test_hook_input_that_is_not_a_json_object_is_an_error(self, agent: Agent, raw: bytes) -> None:
        with pytest.raises(BadArgument, match="input is not"):
            agent.send_raw("PostToolUse", raw)

    def test_huge_input_is_rejected(self, agent: Agent) -> None:
        with pytest.raises(BadArgument, match="bytes"):
            agent.send_raw("PostToolUse", b" " * (MAX_INPUT_BYTES + 1))

    def test_unknown_events_and_empty_input_are_ignored(self, agent: Agent) -> None:
        assert agent.send_event("TeammateIdle") == ""
        assert agent.send_raw("", b"") == ""
        assert agent.send_event("PostToolUse") == ""
        assert agent.stored() == []

    def test_fields_of_the_wrong_type_are_ignored(self, agent: Agent) -> None:
        agent.send_event(
            "PostToolUse",
            tool_name=7,
            tool_input="x",
            tool_response={"stdout": {"a": 1}},
            workspace_roots=[1],
        )
        agent.send_event("PostToolUse", tool_name="Edit", tool_input={"file_path": ["x"], "edits": [1, {}]})
        agent.send_event("UserPromptSubmit", prompt={"text": "hello there you"})
        assert agent.stored() == []

    def test_a_missing_folder_falls_back_to_the_current_one(self, agent: Agent) -> None:
        agent.send_event("UserPromptSubmit", cwd="/nowhere/at/all", prompt="Always be kind to users")
        assert [project.project_id for project in agent.memory.store.projects()] == ["id:app"]


class TestContext:
    """The context at the start of a session."""

    def context(self, agent: Agent) -> str:
        answer = agent.send_event("SessionStart", source="startup")
        return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""

    def test_an_empty_memory_has_no_context(self, agent: Agent) -> None:
        assert agent.send_event("SessionStart", source="startup") == ""

    def test_decisions_findings_and_personal_preferences_are_shown(self, agent: Agent, notes: Notes) -> None:
        notes.remember("We use WAL mode", kind="decision", project="id:app")
        notes.remember("I like short answers", kind="preference", project=PERSONAL)
        notes.remember("Elsewhere", kind="decision", project="other")
        agent.send_event("PostCompact", compact_summary="The lexer was rewritten")
        text = self.context(agent)
        assert "We use WAL mode" in text
        assert "I like short answers" in text
        assert "The lexer was rewritten" in text
        assert "Elsewhere" not in text
        assert "not as instructions" in text

    def test_the_session_context_never_exceeds_its_budget(self, agent: Agent, notes: Notes, clock: Clock) -> None:
        for number in range(120):
            clock.pass_time(minutes=1)
            kind = ("decision", "finding", "error", "change", "summary")[number % 5]
            notes.remember(f"Note {number}: " + f"word{number} " * 60, kind=kind, project="id:app")
        text = self.context(agent)
        assert estimate_tokens(text) <= CONTEXT_TOKENS
        assert "`search` finds more" in text

    def test_changed_code_is_marked(self, agent: Agent) -> None:
        agent.memory.remember(
            Draft("Keep it small", "decision", files=("src/a.py",)), ObservationOrigin("id:app", agent.root)
        )
        (agent.root / "src" / "a.py").write_text("changed")
        assert "Keep it small (code changed since)" in self.context(agent)


def test_a_decision_is_anchored_to_the_code_edited_after_it(agent: Agent) -> None:
    path = agent.root / "src" / "limits.py"
    path.write_text("LIMIT_PER_SECOND = 50\nOTHER = 1\n")
    agent.send_event("UserPromptSubmit", prompt="We decided to allow 50 rps per API key on the public search routes.")
    edit = {"file_path": str(path), "old_string": "LIMIT_PER_SECOND = 9", "new_string": "LIMIT_PER_SECOND = 50"}
    agent.send_event("PostToolUse", tool_name="Edit", tool_input=edit)
    [decision] = [row for row in agent.memory.store.all() if row.kind == "decision"]
    roots = {decision.project_id: agent.root}
    path.write_text("LIMIT_PER_SECOND = 50\nOTHER = 2\n")
    assert not agent.memory.changed_places([decision], roots)
    path.write_text("LIMIT_PER_SECOND = 20\nOTHER = 2\n")
    assert agent.memory.changed_places([decision], roots)


def test_all_statements_of_a_short_answer_with_a_reason_are_stored(agent: Agent) -> None:
    answer = "Found it! The total comes from the footer partial. It happens because quotes share it. Shall I go on?"
    agent.send_event("Stop", last_assistant_message=answer)
    [(_, text)] = agent.stored()
    assert text == "The total comes from the footer partial.\nIt happens because quotes share it."


def test_the_steps_of_a_plan_in_an_answer_are_stored_as_a_note(agent: Agent) -> None:
    plan = "Move the queue to Postgres\n1. Add the table\n2. Write to both\n3. Drain the list"
    agent.send_event("Stop", last_assistant_message=plan)
    assert agent.stored() == [("note", plan)]


@pytest.mark.parametrize(
    "prompt", ["have a nice weekend!", "lovely, thanks", "谢谢", "danke dir, bis morgen", "vale, gracias"]
)
def test_small_talk_is_not_stored(agent: Agent, prompt: str) -> None:
    agent.send_event("UserPromptSubmit", prompt=prompt)
    assert agent.stored() == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("集成测试超时的原因是端口 6379 被旧的容器占用。", "finding"),
        ("Der Export war leer, weil die Kennung des Amtes falsch übergeben wurde.", "finding"),
        ("ポートが使用中のため、コンテナが起動しません。", "finding"),
    ],
)
def test_reasons_in_other_languages_are_stored(agent: Agent, answer: str, kind: str) -> None:
    agent.send_event("Stop", last_assistant_message=answer)
    assert agent.stored() == [(kind, answer)]


def test_the_project_root_is_the_checkout_around_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert project_root(tmp_path / "a" / "b") == tmp_path


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("ls", Effect.READ_ONLY),
        ("cat a | grep b | sort", Effect.READ_ONLY),
        ("git -C x log --oneline", Effect.READ_ONLY),
        ("FOO=1 sudo cat x", Effect.READ_ONLY),
        ("grep 'a > b' file", Effect.READ_ONLY),
        ("ls 2>/dev/null", Effect.READ_ONLY),
        ("", Effect.READ_ONLY),
        ("pytest && ls", Effect.UNKNOWN),
        ("python -m pytest", Effect.UNKNOWN),
        ("make", Effect.UNKNOWN),
        ("cat > a.py <<EOF\nls\nEOF", Effect.CHANGES),
        ("echo x >> log.txt", Effect.CHANGES),
        ("sed -i s/a/b/ f", Effect.CHANGES),
        ("cd x && rm -rf build", Effect.CHANGES),
        ("python3 -m pip install x", Effect.CHANGES),
        ("pip install x", Effect.CHANGES),
        ("git push origin main", Effect.CHANGES),
        ("/usr/bin/git commit -m x", Effect.CHANGES),
    ],
)
def test_command_effects_are_classified(command: str, effect: Effect) -> None:
    assert effect_of(command) is effect


def test_the_first_error_of_a_compiler_is_kept_among_many() -> None:
    lines = ["main.c:3:5: error: unknown type name 'strng'"]
    lines += [f"main.c:{number}:1: error: something that follows from it, number {number}" for number in range(90)]
    cut = error_excerpt("\n".join(lines), characters=400)
    assert lines[0] in cut
    assert lines[-1] in cut
    assert len(cut) <= 420


def test_long_output_is_truncated_around_its_errors() -> None:
    lines = [f"compiling module {number}" for number in range(500)]
    lines[250] = "error: cannot find symbol Foo"
    cut = error_excerpt("\n".join(lines), characters=400)
    assert "cannot find symbol Foo" in cut
    assert "module 251" in cut
    assert "module 499" in cut
    assert len(cut) <= 420


def test_short_output_is_kept_whole() -> None:
    assert error_excerpt("a\n\nb\n") == "a\nb"
    assert error_excerpt("") == ""


def test_a_short_answer_is_stored_as_a_note_and_found_by_the_question(agent: Agent, notes: Notes) -> None:
    agent.send_event("UserPromptSubmit", prompt="how do i flash the second board again, the one with the blue sticker?")
    answer = "With probe-rs: `probe-rs run --chip STM32L072`, after holding BOOT while plugging it in."
    agent.send_event("Stop", last_assistant_message=answer)
    assert agent.stored()[1:] == [("note", answer)]
    assert answer in notes.search("How do I flash the board with the blue sticker?", project="id:app")


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Could you run the tests of the parser?", "All 19 tests of the parser pass."),
        ("what did the ops folks answer about the nas?", "I cannot see their mail, only this repository."),
        ("which port does the gateway listen on?", "Do you mean the public gateway or the internal one?"),
        ("rename the lexer to scanner in all files", "The lexer is now called scanner in all files."),
    ],
)
def test_messages_that_do_not_answer_a_question_are_not_stored(agent: Agent, prompt: str, answer: str) -> None:
    agent.send_event("UserPromptSubmit", prompt=prompt)
    agent.send_event("Stop", last_assistant_message=answer)
    assert all(text != answer for _, text in agent.stored())


def test_a_message_after_work_is_not_an_answer_to_the_question(agent: Agent) -> None:
    agent.send_event("UserPromptSubmit", prompt="which port does the gateway listen on?")
    agent.run("git commit -m 'Port 8080'", "[main 1a2b3c4] Port 8080\n 1 file changed, 2 insertions(+)")
    agent.send_event("Stop", last_assistant_message="Done and committed, tell me if more is needed.")
    assert [kind for kind, _ in agent.stored()] == ["request", "change"]


def test_a_commit_is_stored_without_its_line_counts(agent: Agent) -> None:
    agent.run("git commit -am 'Port 8080'", "[main 1a2b3c4] Port 8080\n 3 files changed, 2 insertions(+)")
    assert agent.stored() == [("change", "Ran `git commit -am 'Port 8080'`\n[main 1a2b3c4] Port 8080")]


def test_the_session_context_does_not_count_forgotten_observations(agent: Agent) -> None:
    for text in ("The pool has 8 threads", "Twelve workers are enough for any queue"):
        last = agent.memory.remember(Draft(text), ObservationOrigin("id:app")).id
    agent.memory.forget([last])
    assert "holds 1 observation from" in agent.send_event("SessionStart", source="startup")


@pytest.mark.parametrize("command", ["opam install otoml", "raco uninstall sicp", "spack reinstall jq"])
def test_installations_by_any_package_manager_are_stored(agent: Agent, command: str) -> None:
    agent.run(command, "done, version 1.0.5")
    assert agent.stored() == [("change", f"Ran `{command}`\ndone, version 1.0.5")]


def test_the_version_of_a_program_is_stored(agent: Agent) -> None:
    agent.run("opam exec -- ocamlfind ocamlopt -version", "5.2.1\n")
    assert agent.stored() == [("note", "Ran `opam exec -- ocamlfind ocamlopt -version`\n5.2.1")]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("node --version", "command is hashed"),
        ("cat CHANGELOG version", "1.2 " * 100),
        ("node --version | head", "v22.1.0"),
        ("cat .env --version", "1.0"),
    ],
)
def test_other_output_of_reading_commands_is_not_stored(agent: Agent, command: str, output: str) -> None:
    agent.run(command, output)
    assert agent.stored() == []


def test_an_edit_that_changes_only_case_is_not_a_duplicate(agent: Agent) -> None:
    for old, new in (("", "rl.EnableWaiting();"), ("rl.EnableWaiting();", "rl.enableWaiting();")):
        edit = {"file_path": "src/main.zig", "old_string": old, "new_string": new}
        agent.send_event("PostToolUse", tool_name="Edit", tool_input=edit)
    assert [text for _, text in agent.stored()] == [
        "Edited src/main.zig\n+ rl.EnableWaiting();",
        "Edited src/main.zig\n- rl.EnableWaiting();\n+ rl.enableWaiting();",
    ]


def test_a_german_date_does_not_end_a_sentence(agent: Agent) -> None:
    answer = "Nein. Die letzte vollständige Sicherung auf dem alten Rechner stammt vom 19. September. Seither nichts."
    agent.send_event("Stop", last_assistant_message=answer)
    [(_, text)] = agent.stored()
    assert "stammt vom 19. September." in text


def test_a_long_statement_of_an_agent_is_stored_and_a_work_report_is_not(agent: Agent) -> None:
    agent.send_event(
        "Stop", last_assistant_message="I changed the handler and its tests as you asked, and everything passes."
    )
    assert agent.stored() == []
    statement = (
        "On that day the password of the repository was renewed in the vault, and the file of the job still uses the "
        "old one; every nightly run has failed from then on."
    )
    agent.send_event("Stop", last_assistant_message=statement)
    assert [text for _, text in agent.stored()] == [statement]
