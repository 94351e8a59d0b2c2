"""Deltos is added to every client's configuration and removed again, and nothing else in it changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltos.clients.install import hook_command, install, presence, uninstall, write
from deltos.clients.jsonc import data, parse
from deltos.clients.opencode_plugin import plugin_text
from deltos.clients.table import CLIENTS, Client, Launch, Machine, client_named
from deltos.domains.memory.capture.hook_events import read_event
from deltos.domains.memory.capture.payload import Payload
from deltos.errors import BadArgument, BadConfiguration
from tests.clients.jsonc_texts import comments, jsonc_objects
from tests.node import environment

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = Launch("/opt/my tools/deltos")
WITH_HOOKS = [client for client in CLIENTS if client.hooks]
every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
every_client_with_hooks = pytest.mark.parametrize("client", WITH_HOOKS, ids=lambda client: client.name)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def load_file(path: Path) -> Any:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else data(parse(text))


def test_each_client_gets_the_entry_that_its_documentation_specifies(machine: Machine) -> None:
    plain = {"command": LAUNCH.program, "args": ["mcp"]}
    entries = {}
    for client in CLIENTS:
        write(install(client, machine, LAUNCH))
        path = client.path(machine)
        place = path.relative_to(machine.home).as_posix()
        entries[client.name] = (place, client.servers, load_file(path)[client.servers]["deltos"])
    assert entries == {
        "claude-code": (".claude.json", "mcpServers", {"type": "stdio", **plain, "alwaysLoad": True}),
        "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers", plain),
        "codex": (".codex/config.toml", "mcp_servers", plain),
        "cursor": (".cursor/mcp.json", "mcpServers", plain),
        "vscode": (".config/Code/User/mcp.json", "servers", {"type": "stdio", **plain}),
        "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers", plain),
        "gemini-cli": (".gemini/settings.json", "mcpServers", plain),
        "copilot-cli": (".copilot/mcp-config.json", "mcpServers", {"type": "local", **plain, "tools": ["*"]}),
        "opencode": (
            ".config/opencode/opencode.json",
            "mcp",
            {"type": "local", "command": [LAUNCH.program, "mcp"], "enabled": True},
        ),
        "zed": (".config/zed/settings.json", "context_servers", {"source": "custom", **plain, "env": {}}),
        "cline": (".cline/data/settings/cline_mcp_settings.json", "mcpServers", plain),
        "qwen-code": (".qwen/settings.json", "mcpServers", plain),
        "continue": (".continue/mcpServers/deltos.json", "mcpServers", plain),
        "amp": (".config/amp/settings.json", "amp.mcpServers", plain),
        "kiro": (".kiro/settings/mcp.json", "mcpServers", plain),
        "junie": (".junie/mcp/mcp.json", "mcpServers", plain),
        "crush": (".config/crush/crush.json", "mcp", {"type": "stdio", **plain}),
    }


@pytest.mark.parametrize(
    ("platform", "environ", "expected_paths"),
    [
        (
            "darwin",
            {},
            {
                "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
                "vscode": "Library/Application Support/Code/User/mcp.json",
                "zed": ".config/zed/settings.json",
            },
        ),
        (
            "win32",
            {"APPDATA": "HOME/Roaming"},
            {
                "claude-desktop": "Roaming/Claude/claude_desktop_config.json",
                "vscode": "Roaming/Code/User/mcp.json",
                "zed": "Roaming/Zed/settings.json",
                "crush": ".config/crush/crush.json",
            },
        ),
        ("win32", {}, {"vscode": "AppData/Roaming/Code/User/mcp.json"}),
        (
            "linux",
            {
                "XDG_CONFIG_HOME": "HOME/xdg",
                "CODEX_HOME": "HOME/cx",
                "CLAUDE_CONFIG_DIR": "HOME/cc",
                "CLINE_DATA_DIR": "HOME/cl",
                "CRUSH_GLOBAL_CONFIG": "HOME/cr",
            },
            {
                "cline": "cl/settings/cline_mcp_settings.json",
                "crush": "cr/crush.json",
                "zed": "xdg/zed/settings.json",
                "opencode": "xdg/opencode/opencode.json",
                "codex": "cx/config.toml",
                "claude-code": "cc/.claude.json",
            },
        ),
    ],
)
def test_configuration_paths_depend_on_platform_and_environment(
    tmp_path: Path, platform: str, environ: dict[str, str], expected_paths: dict[str, str]
) -> None:
    environ = {name: value.replace("HOME", str(tmp_path)) for name, value in environ.items()}
    machine = Machine(tmp_path, environ, platform)
    found = {name: client_named(name).path(machine).relative_to(tmp_path).as_posix() for name in expected_paths}
    assert found == expected_paths


def test_opencode_is_configured_in_its_existing_file(machine: Machine) -> None:
    path = machine.home / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text("{} // mine\n")
    write(install(client_named("opencode"), machine, LAUNCH))
    assert "deltos" in load_file(path)["mcp"]
    assert not path.with_suffix(".json").exists()


def test_opencode_gets_a_plugin_and_uninstalling_removes_only_the_plugin(machine: Machine) -> None:
    client, plugins = client_named("opencode"), machine.home / ".config" / "opencode" / "plugin"
    write(install(client, machine, LAUNCH))
    plugin = plugins / "deltos.js"
    assert 'const COMMAND = ["/opt/my tools/deltos"]' in plugin.read_text("utf-8")
    (plugins / "other.js").write_text("export const Other = async () => ({})\n")
    assert presence(client, machine).has_hooks
    write(uninstall(client, machine))
    assert [file.name for file in plugins.iterdir()] == ["other.js"]
    plugin.write_text("// mine\n")
    with pytest.raises(BadConfiguration, match=r"deltos\.js was not written by `deltos install`"):
        install(client, machine, LAUNCH)
    write(uninstall(client, machine))
    assert plugin.read_text() == "// mine\n"
    write(install(client, machine, LAUNCH, with_hooks=False))
    assert not presence(client, machine).has_hooks


def test_opencodes_plugin_sends_events_to_memory(machine: Machine) -> None:
    record = machine.home / "events.jsonl"
    recorder = f"const s = require('fs').readFileSync(0, 'utf8'); require('fs').appendFileSync({json.dumps(str(record))}, process.argv.slice(1).join(' ') + ' ' + s + '\\n'); console.log(JSON.stringify({{additionalContext: 'known'}}))"
    node = shutil.which("node", path=environment()["PATH"])
    assert node is not None, "Node.js is missing: run `make node` to install it"
    plugin = machine.home / "deltos.mjs"
    plugin.write_text(plugin_text(Launch(node, ("-e", recorder, "--"))))
    script = f"""
      const hooks = await (await import({json.dumps(plugin.as_uri())})).Deltos({{ directory: "/app" }})
      const parts = [{{ type: "text", text: "Why?" }}, {{ type: "text", text: "file", synthetic: true }}]
      await hooks["chat.message"]({{ sessionID: "s" }}, {{ parts }})
      await hooks["tool.execute.after"]({{ tool: "bash", sessionID: "s", callID: "c", args: {{}} }}, {{ output: "x" }})
      const system = []
      await hooks["experimental.chat.system.transform"]({{ sessionID: "s" }}, {{ system }})
      console.log(JSON.stringify(system))
    """
    ran = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == ["known"]
    assert record.read_text().splitlines() == [
        'hook session.created {"directory":"/app","sessionID":"s"}',
        'hook chat.message {"directory":"/app","sessionID":"s","prompt":"Why?"}',
        'hook tool.execute.after {"directory":"/app","tool":"bash","sessionID":"s","callID":"c","args":{},"output":{"output":"x"}}',
    ]


@every_client
def test_installing_twice_changes_nothing_the_second_time(client: Client, machine: Machine) -> None:
    assert write(install(client, machine, LAUNCH)) == []
    again = install(client, machine, LAUNCH)
    assert [edit for edit in again if edit.is_change] == []
    assert write(again) == []
    assert presence(client, machine).has_server


@every_client
def test_a_moved_program_is_updated_and_additions_of_the_user_are_kept(client: Client, machine: Machine) -> None:
    write(install(client, machine, Launch("/old/deltos")))
    path = client.path(machine)
    if path.suffix == ".toml":
        path.write_text(path.read_text() + 'env = { A = "b" }\n')
    else:
        entry = load_file(path)
        entry[client.servers]["deltos"]["env"] = {"A": "b"}
        path.write_text(json.dumps(entry))
    write(install(client, machine, LAUNCH))
    assert load_file(path)[client.servers]["deltos"]["env"] == {"A": "b"}
    everything = " ".join(file.read_text() for file in {path, client.hooks.path(machine) if client.hooks else path})
    assert "/old/deltos" not in everything
    assert "/opt/my tools/deltos" in everything


@every_client
def test_uninstalling_leaves_no_trace(client: Client, machine: Machine) -> None:
    write(install(client, machine, LAUNCH))
    write(install(client, machine, Launch("/moved/deltos")))
    write(uninstall(client, machine))
    left = [path for path in machine.home.rglob("*") if path != machine.home / ".config"]
    assert left == [], "uninstalling must leave no files, folders or backups"


@every_client
def test_uninstalling_keeps_an_earlier_file_and_deletes_its_backups(client: Client, machine: Machine) -> None:
    path = client.path(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("" if path.suffix == ".toml" else json.dumps({client.servers: {}}))
    write(install(client, machine, LAUNCH))
    write(uninstall(client, machine))
    assert load_file(path) == {}
    assert [file for file in machine.home.rglob("*") if file.is_file()] == [path]


def test_a_backup_with_settings_that_the_file_no_longer_has_is_kept(machine: Machine) -> None:
    client = client_named("cursor")
    path = client.path(machine)
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": {"mine": {"command": "x"}}}')
    write(install(client, machine, LAUNCH, with_hooks=False))
    path.write_text(json.dumps({"mcpServers": {"deltos": client.entry(LAUNCH)}}))
    write(uninstall(client, machine))
    assert load_file(path) == {}
    [backup] = [file for file in path.parent.iterdir() if file != path]
    assert "mine" in backup.read_text()


def test_a_link_with_the_name_of_a_backup_is_neither_read_nor_removed(machine: Machine) -> None:
    client = client_named("cursor")
    write(install(client, machine, LAUNCH, with_hooks=False))
    other = machine.home / "other.json"
    other.write_text("{}")
    link = client.path(machine).with_name("mcp.json.deltos-1.bak")
    link.symlink_to(other)
    write(uninstall(client, machine))
    assert (other.read_text(), link.is_symlink()) == ("{}", True)


@every_client
def test_uninstalling_without_an_installation_writes_nothing(client: Client, machine: Machine) -> None:
    assert write(uninstall(client, machine)) == []
    assert [*machine.home.iterdir()] == []
    assert not presence(client, machine).has_file


@every_client_with_hooks
def test_memory_accepts_the_events_of_every_hook(client: Client, machine: Machine) -> None:
    write(install(client, machine, LAUNCH))
    assert client.hooks is not None
    held = load_file(client.hooks.path(machine))["hooks"]
    assert [*held] == [event.name for event in client.hooks.events]
    for event, entries in held.items():
        assert f"deltos' hook {event}" in json.dumps(entries)
        assert read_event(event, Payload({"tool_name": "Bash"})) is not None


@every_client_with_hooks
def test_other_hooks_are_kept_even_in_the_same_entry(client: Client, machine: Machine) -> None:
    assert client.hooks is not None
    path = client.hooks.path(machine)
    event = client.hooks.events[0].name
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = {"command": "mine"} if not client.hooks.grouped else {"hooks": [{"type": "command", "command": "mine"}]}
    before = {"version": 1, "hooks": {event: [mine], "Other": [{"command": "x"}, 1], "Odd": {}}}
    path.write_text(json.dumps(before, indent=1))
    write(install(client, machine, LAUNCH))
    assert load_file(path)["hooks"][event][0] == mine
    if client.hooks.grouped:  # users may add entries to our group of hooks
        held = load_file(path)
        held["hooks"][event][1]["hooks"].insert(0, {"type": "command", "command": "also mine"})
        path.write_text(json.dumps(held, indent=1))
    write(uninstall(client, machine))
    after = load_file(path)
    extra = [{"hooks": [{"type": "command", "command": "also mine"}]}] if client.hooks.grouped else []
    assert after["hooks"] == {**before["hooks"], event: [mine, *extra]}  # type: ignore[dict-item]


def test_without_hooks_only_the_server_is_added(machine: Machine) -> None:
    client = client_named("Claude Code")
    write(install(client, machine, LAUNCH, with_hooks=False))
    found = presence(client, machine)
    assert (found.has_server, found.has_hooks) == (True, False)
    assert not (machine.home / ".claude").exists()


@every_client
@pytest.mark.parametrize("broken", ['{"a": 1,, }', "[table", "\xff\xfe", "[]", "1 = = 2", '{"mcpServers'])
def test_a_file_with_errors_is_left_untouched_and_named(client: Client, broken: str, machine: Machine) -> None:
    path = client.path(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(broken.encode("latin-1"))
    with pytest.raises(BadConfiguration) as installing:
        install(client, machine, LAUNCH)
    with pytest.raises(BadConfiguration) as uninstalling:
        uninstall(client, machine)
    for caught in (installing, uninstalling):
        assert str(path) in str(caught.value)
        assert "No file was changed" in str(caught.value)
    assert path.read_bytes() == broken.encode("latin-1")
    assert presence(client, machine).trouble


def test_a_broken_hooks_file_keeps_the_server_file_from_being_written(machine: Machine) -> None:
    client = client_named("cursor")
    hooks = machine.home / ".cursor" / "hooks.json"
    hooks.parent.mkdir()
    hooks.write_text("{")
    with pytest.raises(BadConfiguration, match=r"hooks\.json cannot be edited: line 1"):
        install(client, machine, LAUNCH)
    assert not (machine.home / ".cursor" / "mcp.json").exists()


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": {"deltos": 1}, "hooks": {"SessionStart": {}}}'])
def test_values_of_an_unexpected_type_are_not_overwritten(text: str, machine: Machine) -> None:
    client = client_named("gemini-cli")
    path = client.path(machine)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(BadConfiguration, match="No file was changed"):
        install(client, machine, LAUNCH)
    assert path.read_text() == text


def test_an_entry_for_a_remote_server_is_replaced_by_the_command(machine: Machine) -> None:
    client = client_named("cursor")
    client.path(machine).parent.mkdir()
    client.path(machine).write_text('{"mcpServers": {"deltos": {"url": "http://127.0.0.1:8000/mcp"}}}')
    write(install(client, machine, LAUNCH))
    assert load_file(client.path(machine)) == {"mcpServers": {"deltos": client.entry(LAUNCH)}}


def test_an_empty_file_counts_as_an_empty_object(machine: Machine) -> None:
    client = client_named("zed")
    path = client.path(machine)
    path.parent.mkdir(parents=True)
    path.write_text("\n")
    write(install(client, machine, LAUNCH))
    assert "deltos" in load_file(path)["context_servers"]


def test_the_diff_shows_what_would_change(machine: Machine) -> None:
    client = client_named("claude-desktop")
    path = client.path(machine)
    path.parent.mkdir(parents=True)
    path.write_text('{\n  "a": 1\n}')
    (edit,) = install(client, machine, LAUNCH)
    assert edit.diff().startswith(f'--- {path}\n+++ {path}\n@@ -1,3 +1,11 @@\n {{\n-  "a": 1\n+  "a": 1,\n')
    assert edit.diff().endswith(" }\n\\ No newline at end of file\n")


def test_clients_are_found_by_any_spelling_and_unknown_ones_are_errors() -> None:
    assert client_named("VS Code") is client_named("vscode") is client_named("VS-CODE")
    with pytest.raises(BadArgument, match=r"Unknown client: emacs\. Choose from claude-code"):
        client_named("emacs")
    with pytest.raises(BadArgument, match=r"Did you mean claude-code\?"):
        client_named("claud-code")


def test_hook_commands_are_quoted_for_the_shell_of_the_platform() -> None:
    assert hook_command(LAUNCH, "Stop", "linux") == "'/opt/my tools/deltos' hook Stop"
    launch = Launch(r"C:\My Tools\python.exe", ("-P", "-m", "deltos"))
    assert hook_command(launch, "Stop", "win32") == '"C:/My Tools/python.exe" -P -m deltos hook Stop'


@pytest.mark.parametrize("program", ["deltos", r"C:\x y\deltos.exe", "/a b/deltos"])
@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_own_hooks_are_recognised_for_every_way_of_starting_deltos(tmp_path: Path, program: str, platform: str) -> None:
    machine = Machine(tmp_path, {}, platform)
    client = client_named("cursor")
    write(install(client, machine, Launch(program)))
    assert presence(client, machine).has_hooks
    write(uninstall(client, machine))
    assert not presence(client, machine).has_hooks


@given(jsonc_objects(), st.sampled_from(["claude-code", "gemini-cli", "zed", "opencode"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_installing_and_uninstalling_restores_any_file_with_its_comments(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    machine = Machine(tmp_path_factory.mktemp("home"))
    client = client_named(name)
    path = client.path(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    before = data(parse(text))
    try:
        write(install(client, machine, LAUNCH))
    except BadConfiguration:  # a value of an unexpected type is at the path
        assert path.read_bytes() == text.encode()
        return
    installed = path.read_bytes().decode()
    if "deltos" not in text:
        assert comments(installed) == comments(text)
    assert _without_deltos(data(parse(installed)), client) == _without_deltos(before, client)
    write(uninstall(client, machine))
    if not path.exists():  # the file contained only an entry for Deltos
        assert ("deltos" in text, _without_deltos(before, client)) == (True, {})
        return
    after = path.read_bytes().decode()
    if "deltos" not in text:
        assert comments(after) == comments(text)
    assert _without_deltos(data(parse(after)), client) == _without_deltos(before, client)


def _without_deltos(value: Any, client: Client) -> Any:
    """Return the data without Deltos and without empty values, which clients treat like absent ones."""
    rest = dict(value)
    if isinstance(servers := rest.get(client.servers), dict):
        rest[client.servers] = {name: entry for name, entry in servers.items() if name != "deltos"}
    if isinstance(hooks := rest.get("hooks"), dict) and client.hooks:
        foreign = {event: _other_entries(entries) for event, entries in hooks.items()}
        rest["hooks"] = {event: entries for event, entries in foreign.items() if entries != []}
    return {key: entry for key, entry in rest.items() if entry != {}}


def _other_entries(entries: Any) -> Any:
    return [entry for entry in entries if " hook " not in json.dumps(entry)] if isinstance(entries, list) else entries
