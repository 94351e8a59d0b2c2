"""Table of supported clients, with the location and format of their server entries and hooks."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.clients.formats import JSON, TOML, Format
from deltos.clients.opencode_plugin import is_own, is_unchanged, plugin_text
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.clients.jsonc import Json

SERVER_NAME = "deltos"


@dataclass(frozen=True, slots=True)
class Machine:
    """A user's machine: home folder, environment variables, and platform as in `sys.platform`."""

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    platform: str = "linux"

    def folder(self, variable: str, *fallback: str) -> Path:
        """Return the folder named by an environment variable, or the fallback below the home folder."""
        named = self.environ.get(variable, "")
        return Path(named).expanduser() if named else self.home.joinpath(*fallback)

    def app_folder(self) -> Path:
        """Return the folder that contains the settings of desktop applications."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming")
        return self.folder("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that starts Deltos, and the options of its server."""

    program: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def server_arguments(self) -> list[str]:
        """Arguments that start the server, without the program name."""
        return [*self.arguments, "mcp", *self.options]


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A client event that runs a hook. `matcher` is a pattern of tool names."""

    name: str
    matcher: str = ""


# Added by --suggest: the hook recommends search_code once per session.
SUGGESTING = HookEvent("PreToolUse", "Grep|Bash")


@dataclass(frozen=True, slots=True)
class Hooks:
    """Location and format of a client's hooks. If `grouped`, each entry contains a matcher and a list of commands."""

    path: Callable[[Machine], Path]
    events: tuple[HookEvent, ...]
    options: Mapping[str, Json]
    grouped: bool = True
    version: int | None = None
    next_step: str = ""  # what the user must do before the hooks run


@dataclass(frozen=True, slots=True)
class Plugin:
    """Plugin file that sends events to memory, for clients with plugins instead of command hooks."""

    path: Callable[[Machine], Path]
    text: Callable[[Launch], str]
    is_own: Callable[[str], bool]
    is_unchanged: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Client:
    """An agent or editor. `servers` is the key of the server table, and `entry` returns the server entry."""

    name: str
    title: str
    path: Callable[[Machine], Path]
    servers: str
    entry: Callable[[Launch], dict[str, Json]]
    format: Format = JSON
    hooks: Hooks | None = None
    plugin: Plugin | None = None
    next_step: str = "Restart it to connect."
    project_path: str = ""  # path of the client's configuration inside a project, if it supports one
    project: Path | None = None  # project folder, if Deltos is configured for one project only
    programs: tuple[str, ...] = ()  # names of the client's executable on the PATH
    rules: Callable[[Machine], Path] | None = None  # path of the client's rules file
    subagent: Callable[[Machine], Path] | None = None  # path of the definition of a subagent

    @property
    def entry_path(self) -> tuple[str, str]:
        """Keys that lead to the server entry in the configuration file."""
        return (self.servers, SERVER_NAME)


def client_named(name: str) -> Client:
    """Return the client called `name`, ignoring case and punctuation. Raise BadArgument if it is unknown."""
    wanted = "".join(filter(str.isalnum, name.lower()))
    for client in CLIENTS:
        if wanted == "jetbrains":
            wanted = "junie"
        if wanted in {"".join(filter(str.isalnum, text.lower())) for text in (client.name, client.title)}:
            return client
    names = [client.name for client in CLIENTS]
    near = difflib.get_close_matches(name.lower(), names, n=1)
    suggestion = f"Did you mean {near[0]}? " if near else ""
    raise BadArgument(f"Unknown client: {name}", hint=f"{suggestion}Choose from {', '.join(names)}.")


def _plain_entry(launch: Launch) -> dict[str, Json]:
    return {"command": launch.program, "args": launch.server_arguments}


def _typed_entry(launch: Launch) -> dict[str, Json]:
    return {"type": "stdio", **_plain_entry(launch)}


def _claude_code_entry(launch: Launch) -> dict[str, Json]:
    """Return an entry that loads the tools when a session starts, not on demand."""
    return {**_typed_entry(launch), "alwaysLoad": True}


def _copilot_entry(launch: Launch) -> dict[str, Json]:
    return {"type": "local", **_plain_entry(launch), "tools": ["*"]}


def _zed_entry(launch: Launch) -> dict[str, Json]:
    return {"source": "custom", **_plain_entry(launch), "env": {}}


def _opencode_entry(launch: Launch) -> dict[str, Json]:
    return {"type": "local", "command": [launch.program, *launch.server_arguments], "enabled": True}


def _crush_path(machine: Machine) -> Path:
    own = machine.environ.get("CRUSH_GLOBAL_CONFIG", "")
    return (Path(own).expanduser() if own else machine.folder("XDG_CONFIG_HOME", ".config") / "crush") / "crush.json"


def _crush_skills_parent(machine: Machine) -> Path:
    """Return the parent of Crush's skills folder, which differs from its configuration folder on Windows."""
    if machine.platform == "win32":
        return machine.folder("LOCALAPPDATA", "AppData", "Local") / "crush"
    return machine.folder("XDG_CONFIG_HOME", ".config") / "crush"


def _skill_path(folder: Callable[[Machine], Path]) -> Callable[[Machine], Path]:
    return lambda machine: folder(machine) / "skills" / SERVER_NAME / "SKILL.md"


def client_in_project(client: Client, folder: Path) -> Client:
    """Return the client with its configuration in a project folder. Raise BadArgument if it does not support this."""
    if not client.project_path:
        names = ", ".join(other.name for other in CLIENTS if other.project_path)
        raise BadArgument(
            f"{client.title} has no configuration for projects", hint=f"Clients with project configuration: {names}."
        )
    path = folder / client.project_path
    return replace(client, path=lambda _: path, project=folder, hooks=None, plugin=None, rules=None)


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
            "Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell|WebFetch|WebSearch|AskUserQuestion|ExitPlanMode|TodoWrite"
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
    next_step="Codex runs the hooks once you trust them in /hooks.",
)
_GEMINI_HOOKS = Hooks(
    lambda machine: machine.home / ".gemini" / "settings.json",
    (
        HookEvent("SessionStart"),
        HookEvent("BeforeAgent"),
        HookEvent(
            "AfterTool",
            "write_file|replace|run_shell_command|web_fetch|google_web_search|ask_user|exit_plan_mode|write_todos"
            "|mcp_.*_pull_request",
        ),
        HookEvent("AfterAgent"),
        HookEvent("SessionEnd"),
    ),
    {"timeout": 10_000},  # milliseconds (other clients use seconds)
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
        HookEvent("agentStop"),
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

_OPENCODE_PLUGIN = Plugin(
    lambda machine: machine.folder("XDG_CONFIG_HOME", ".config") / "opencode" / "plugin" / "deltos.js",
    plugin_text,
    is_own,
    is_unchanged,
)

CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        _claude_code_servers,
        "mcpServers",
        _claude_code_entry,
        hooks=_CLAUDE_HOOKS,
        next_step="Start a new session to connect; /mcp shows it.",
        project_path=".mcp.json",
        programs=("claude",),
        rules=_skill_path(lambda machine: machine.folder("CLAUDE_CONFIG_DIR", ".claude")),
        subagent=lambda machine: machine.folder("CLAUDE_CONFIG_DIR", ".claude") / "agents" / "deltos.md",
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
        project_path=".codex/config.toml",
        programs=("codex",),
        rules=_skill_path(lambda machine: machine.folder("CODEX_HOME", ".codex")),
        next_step="Start a new session to connect.",
    ),
    Client(
        "cursor",
        "Cursor",
        lambda machine: machine.home / ".cursor" / "mcp.json",
        "mcpServers",
        _plain_entry,
        hooks=_CURSOR_HOOKS,
        project_path=".cursor/mcp.json",
        programs=("cursor", "cursor-agent"),
    ),
    Client(
        "vscode",
        "VS Code",
        lambda machine: machine.app_folder() / "Code" / "User" / "mcp.json",
        "servers",
        _typed_entry,
        next_step="Start it from MCP: List Servers.",
        project_path=".vscode/mcp.json",
        programs=("code",),
    ),
    Client(
        "windsurf",
        "Windsurf",
        lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json",
        "mcpServers",
        _plain_entry,
        hooks=_WINDSURF_HOOKS,
        programs=("windsurf",),
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        lambda machine: machine.home / ".gemini" / "settings.json",
        "mcpServers",
        _plain_entry,
        hooks=_GEMINI_HOOKS,
        project_path=".gemini/settings.json",
        programs=("gemini",),
        rules=_skill_path(lambda machine: machine.home / ".gemini"),
        next_step="Start a new session to connect; /mcp shows it.",
    ),
    Client(
        "copilot-cli",
        "Copilot CLI",
        lambda machine: machine.folder("COPILOT_HOME", ".copilot") / "mcp-config.json",
        "mcpServers",
        _copilot_entry,
        hooks=_COPILOT_HOOKS,
        programs=("copilot",),
        rules=_skill_path(lambda machine: machine.folder("COPILOT_HOME", ".copilot")),
        next_step="Start a new session to connect; /mcp shows it.",
    ),
    Client(
        "opencode",
        "OpenCode",
        _opencode_path,
        "mcp",
        _opencode_entry,
        plugin=_OPENCODE_PLUGIN,
        project_path="opencode.json",
        programs=("opencode",),
        rules=_skill_path(lambda machine: machine.folder("XDG_CONFIG_HOME", ".config") / "opencode"),
        subagent=lambda machine: machine.folder("XDG_CONFIG_HOME", ".config") / "opencode" / "agent" / "deltos.md",
    ),
    Client(
        "zed",
        "Zed",
        _zed_path,
        "context_servers",
        _zed_entry,
        next_step="It connects automatically.",
        project_path=".zed/settings.json",
        programs=("zed",),
    ),
    Client(
        "cline",
        "Cline",
        lambda machine: machine.folder("CLINE_DATA_DIR", ".cline", "data") / "settings" / "cline_mcp_settings.json",
        "mcpServers",
        _plain_entry,
        programs=("cline",),
        rules=lambda machine: machine.home / ".cline" / "rules" / "deltos.md",
    ),
    Client(
        "qwen-code",
        "Qwen Code",
        lambda machine: machine.home / ".qwen" / "settings.json",
        "mcpServers",
        _plain_entry,
        next_step="Start a new session to connect; /mcp shows it.",
        project_path=".qwen/settings.json",
        programs=("qwen",),
        rules=_skill_path(lambda machine: machine.home / ".qwen"),
        subagent=lambda machine: machine.home / ".qwen" / "agents" / "deltos.md",
    ),
    Client(
        "continue",
        "Continue",
        lambda machine: machine.home / ".continue" / "mcpServers" / "deltos.json",
        "mcpServers",
        _plain_entry,
        next_step="Restart the editor to connect; the command line `cn` reads only the servers in config.yaml.",
        project_path=".continue/mcpServers/deltos.json",
        rules=lambda machine: machine.home / ".continue" / "rules" / "deltos.md",
    ),
    Client(
        "amp",
        "Amp",
        lambda machine: machine.folder("XDG_CONFIG_HOME", ".config") / "amp" / "settings.json",
        "amp.mcpServers",
        _plain_entry,
        project_path=".amp/settings.json",
        programs=("amp",),
        rules=_skill_path(lambda machine: machine.folder("XDG_CONFIG_HOME", ".config") / "agents"),
    ),
    Client(
        "kiro",
        "Kiro",
        lambda machine: machine.home / ".kiro" / "settings" / "mcp.json",
        "mcpServers",
        _plain_entry,
        project_path=".kiro/settings/mcp.json",
        programs=("kiro", "kiro-cli"),
        rules=lambda machine: machine.home / ".kiro" / "steering" / "deltos.md",
    ),
    Client(
        "junie",
        "JetBrains Junie",
        lambda machine: machine.home / ".junie" / "mcp" / "mcp.json",
        "mcpServers",
        _plain_entry,
        project_path=".junie/mcp/mcp.json",
        programs=("junie",),
        rules=_skill_path(lambda machine: machine.home / ".junie"),
    ),
    Client(
        "crush",
        "Crush",
        _crush_path,
        "mcp",
        _typed_entry,
        project_path=".crush.json",
        programs=("crush",),
        rules=_skill_path(_crush_skills_parent),
    ),
)
