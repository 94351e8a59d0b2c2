"""The table of clients: where each keeps its servers and hooks, and in which form. Editing is left to install.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.clients.formats import JSON, TOML, Format
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.clients.jsonc import Json

SERVER_NAME = "deltos"


@dataclass(frozen=True, slots=True)
class Machine:
    """Whose configuration is meant: a home folder, an environment and a platform as `sys.platform` names it."""

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    platform: str = "linux"

    def folder(self, variable: str, *fallback: str) -> Path:
        """The folder that a variable names, or one under the home folder."""
        named = self.environ.get(variable, "")
        return Path(named).expanduser() if named else self.home.joinpath(*fallback)

    def app_folder(self) -> Path:
        """Where desktop applications keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming")
        return self.folder("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that starts Deltos."""

    program: str
    arguments: tuple[str, ...] = ()
    profile: str = ""

    @property
    def server_arguments(self) -> list[str]:
        """What follows the program to start the server."""
        return [*self.arguments, "mcp", *(("--profile", self.profile) if self.profile else ())]


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event that memory listens to; `matcher` narrows it to tools."""

    name: str
    matcher: str = ""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where a client keeps its hooks. `grouped`: an entry is a matcher with its commands, else a plain command."""

    path: Callable[[Machine], Path]
    events: tuple[HookEvent, ...]
    options: Mapping[str, Json]
    grouped: bool = True
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """One agent or editor. `servers` is the key that holds its servers; `entry` is what it wants to know of one."""

    name: str
    title: str
    path: Callable[[Machine], Path]
    servers: str
    entry: Callable[[Launch], dict[str, Json]]
    format: Format = JSON
    hooks: Hooks | None = None
    afterwards: str = "Restart it to connect."

    @property
    def place(self) -> tuple[str, str]:
        """Where the entry stands in the file."""
        return (self.servers, SERVER_NAME)


def client_named(name: str) -> Client:
    """The client of that name, however it is spelled; raises BadArgument with all names."""
    wanted = "".join(filter(str.isalnum, name.lower()))
    for client in CLIENTS:
        if wanted in {"".join(filter(str.isalnum, text.lower())) for text in (client.name, client.title)}:
            return client
    raise BadArgument(f"Unknown client: {name}", hint=f"Choose from {', '.join(client.name for client in CLIENTS)}.")


def _plain_entry(launch: Launch) -> dict[str, Json]:
    return {"command": launch.program, "args": launch.server_arguments}


def _typed_entry(launch: Launch) -> dict[str, Json]:
    return {"type": "stdio", **_plain_entry(launch)}


def _copilot_entry(launch: Launch) -> dict[str, Json]:
    return {"type": "local", **_plain_entry(launch), "tools": ["*"]}


def _zed_entry(launch: Launch) -> dict[str, Json]:
    return {"source": "custom", **_plain_entry(launch), "env": {}}


def _opencode_entry(launch: Launch) -> dict[str, Json]:
    return {"type": "local", "command": [launch.program, *launch.server_arguments], "enabled": True}


def _claude_code_servers(machine: Machine) -> Path:
    return machine.folder("CLAUDE_CONFIG_DIR") / ".claude.json"


def _opencode_path(machine: Machine) -> Path:
    folder = machine.folder("XDG_CONFIG_HOME", ".config") / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _zed_path(machine: Machine) -> Path:
    if machine.platform == "win32":
        return machine.app_folder() / "Zed" / "settings.json"
    if machine.platform == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.folder("XDG_CONFIG_HOME", ".config") / "zed" / "settings.json"


_CLAUDE_HOOKS = Hooks(
    lambda machine: machine.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
    (
        HookEvent("SessionStart"),
        HookEvent("UserPromptSubmit"),
        HookEvent(
            "PostToolUse",
            "Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell|WebFetch|WebSearch|AskUserQuestion|ExitPlanMode"
            "|mcp__.*_pull_request",
        ),
        HookEvent("PostToolUseFailure", "Bash|PowerShell"),
        HookEvent("Stop"),
        HookEvent("PreCompact"),
        HookEvent("PostCompact"),
        HookEvent("SessionEnd"),
    ),
    {"timeout": 10},
)
_CODEX_HOOKS = Hooks(
    lambda machine: machine.folder("CODEX_HOME", ".codex") / "hooks.json",
    (
        HookEvent("SessionStart"),
        HookEvent("UserPromptSubmit"),
        HookEvent("PostToolUse"),
        HookEvent("Stop"),
        HookEvent("SessionEnd"),
    ),
    {"timeout": 10},
)
_GEMINI_HOOKS = Hooks(
    lambda machine: machine.home / ".gemini" / "settings.json",
    (
        HookEvent("SessionStart"),
        HookEvent("BeforeAgent"),
        HookEvent(
            "AfterTool",
            "write_file|replace|run_shell_command|web_fetch|google_web_search|ask_user|exit_plan_mode"
            "|mcp_.*_pull_request",
        ),
        HookEvent("AfterAgent"),
        HookEvent("SessionEnd"),
    ),
    {"timeout": 10_000},  # milliseconds, where the others count seconds
)
_CURSOR_HOOKS = Hooks(
    lambda machine: machine.home / ".cursor" / "hooks.json",
    (
        HookEvent("sessionStart"),
        HookEvent("beforeSubmitPrompt"),
        HookEvent("afterFileEdit"),
        HookEvent("afterShellExecution"),
        HookEvent("afterMCPExecution"),
        HookEvent("afterAgentResponse"),
        HookEvent("sessionEnd"),
    ),
    {"timeout": 10},
    grouped=False,
    version=1,
)
_COPILOT_HOOKS = Hooks(
    lambda machine: machine.folder("COPILOT_HOME", ".copilot") / "hooks" / "deltos.json",
    (
        HookEvent("sessionStart"),
        HookEvent("userPromptSubmitted"),
        HookEvent("postToolUse"),
        HookEvent("postToolUseFailure"),
        HookEvent("subagentStop"),
        HookEvent("preCompact"),
        HookEvent("sessionEnd"),
    ),
    {"type": "command", "timeoutSec": 10},
    grouped=False,
    version=1,
)
_WINDSURF_HOOKS = Hooks(
    lambda machine: machine.home / ".codeium" / "windsurf" / "hooks.json",
    (
        HookEvent("pre_user_prompt"),
        HookEvent("post_write_code"),
        HookEvent("post_run_command"),
        HookEvent("post_cascade_response"),
    ),
    {"show_output": False},
    grouped=False,
)

CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        _claude_code_servers,
        "mcpServers",
        _typed_entry,
        hooks=_CLAUDE_HOOKS,
        afterwards="Start a new session to connect; /mcp shows it.",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        lambda machine: machine.app_folder() / "Claude" / "claude_desktop_config.json",
        "mcpServers",
        _plain_entry,
    ),
    Client(
        "codex",
        "Codex",
        lambda machine: machine.folder("CODEX_HOME", ".codex") / "config.toml",
        "mcp_servers",
        _plain_entry,
        format=TOML,
        hooks=_CODEX_HOOKS,
        afterwards="Start a new session to connect; Codex runs the hooks once you trust them in /hooks.",
    ),
    Client(
        "cursor",
        "Cursor",
        lambda machine: machine.home / ".cursor" / "mcp.json",
        "mcpServers",
        _plain_entry,
        hooks=_CURSOR_HOOKS,
    ),
    Client(
        "vscode",
        "VS Code",
        lambda machine: machine.app_folder() / "Code" / "User" / "mcp.json",
        "servers",
        _typed_entry,
        afterwards="Start it from MCP: List Servers.",
    ),
    Client(
        "windsurf",
        "Windsurf",
        lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json",
        "mcpServers",
        _plain_entry,
        hooks=_WINDSURF_HOOKS,
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        lambda machine: machine.home / ".gemini" / "settings.json",
        "mcpServers",
        _plain_entry,
        hooks=_GEMINI_HOOKS,
        afterwards="Start a new session to connect; /mcp shows it.",
    ),
    Client(
        "copilot-cli",
        "Copilot CLI",
        lambda machine: machine.folder("COPILOT_HOME", ".copilot") / "mcp-config.json",
        "mcpServers",
        _copilot_entry,
        hooks=_COPILOT_HOOKS,
        afterwards="Start a new session to connect; /mcp shows it.",
    ),
    Client("opencode", "OpenCode", _opencode_path, "mcp", _opencode_entry),
    Client("zed", "Zed", _zed_path, "context_servers", _zed_entry, afterwards="It connects by itself."),
)
