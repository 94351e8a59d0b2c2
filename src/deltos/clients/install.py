"""Add Deltos to client configurations, and remove it. All edits are planned before the first is written."""

from __future__ import annotations

import difflib
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.clients import config_files
from deltos.clients.formats import JSON, Change, Format, Put, Remove, change_text, read_table
from deltos.clients.guidance import (
    has_section,
    has_unmodified_section,
    is_unchanged,
    may_replace,
    rules_text,
    subagent_text,
    with_section,
    without_section,
)
from deltos.clients.table import SERVER_NAME, SUGGESTING
from deltos.errors import BadArgument, BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.clients.jsonc import Json
    from deltos.clients.table import Client, HookEvent, Hooks, Launch, Machine, Plugin

    Table = dict[str, Json]
    Plan = Callable[[Table], list[Change]]

_REMOTE_SERVER_KEYS = {"url", "httpUrl", "serverUrl"}  # keys that occur only in entries of remote servers
_OWN_HOOK_COMMAND = re.compile(r"\bdeltos(?:\.exe)?[\"']?\s+hook\b")


@dataclass(frozen=True, slots=True)
class Edit:
    """A planned change of one file."""

    original: config_files.Original
    content: bytes
    is_removal: bool = False  # whether to delete the file
    is_unchanged: bool = False  # whether no user text is lost, so that no backup is needed
    below: Path | None = None  # empty folders below this one are deleted with the file
    obsolete_backups: tuple[Path, ...] = ()  # backups to delete, because they are no longer needed

    @property
    def path(self) -> Path:
        """Path of the file, with symbolic links resolved."""
        return self.original.path

    @property
    def is_change(self) -> bool:
        """Whether the edit changes the file."""
        return self.is_removal or self.content != (self.original.content or b"")

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before = self.original.text.splitlines(keepends=True)
        after = self.content.decode("utf-8").removeprefix("\ufeff").splitlines(keepends=True)
        name = str(self.path)
        lines = difflib.unified_diff(before, after, name if self.original.content is not None else "/dev/null", name)
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Presence:
    """Deltos features in a client's configuration. `trouble` is the reason why a file is unreadable."""

    has_file: bool
    has_server: bool = False
    has_hooks: bool = False  # whether hooks record the agent's sessions as observations
    suggests: bool = False  # whether a hook recommends `search_code`
    trouble: str = ""

    @property
    def has_anything(self) -> bool:
        """Whether `uninstall` has anything to remove or report."""
        return self.has_server or self.has_hooks or self.suggests or bool(self.trouble)


def install(
    client: Client, machine: Machine, launch: Launch, *, with_hooks: bool = True, suggests: bool = False
) -> list[Edit]:
    """Return the edits that add Deltos. With `suggests`, add a hook that recommends `search_code` over grep."""
    plans = [(client.path(machine), client.format, lambda table: _server_changes(client, launch, table))]
    hooks = client.hooks
    if hooks is not None:
        events = (*(hooks.events if with_hooks else ()), *((SUGGESTING,) if suggests else ()))
        hooks = replace(hooks, events=events) if events else None
    if hooks is not None:
        plans.append((hooks.path(machine), JSON, lambda table: _hook_changes(hooks, launch, machine.platform, table)))
    plugin = [_plugin_edit(client.plugin, machine, launch)] if client.plugin is not None and with_hooks else []
    return [*_plan_edits(plans, client.project), *plugin]


def uninstall(client: Client, machine: Machine) -> list[Edit]:
    """Return the edits that remove Deltos."""
    plans = [(client.path(machine), client.format, lambda table: _server_removals(client, table))]
    if client.hooks is not None:
        plans.append((client.hooks.path(machine), JSON, _hook_removals))
    edits = [
        _plan_complete_removal(edit, plans, _folder_above(edit.path, client, machine))
        for edit in _plan_edits(plans, client.project)
    ]
    return [*edits, *_plugin_removals(client, machine)]


def _folder_above(path: Path, client: Client, machine: Machine) -> Path | None:
    """Return the closest parent folder that uninstalling must keep.

    It is the project, the home folder, or a folder named by an environment variable.
    """
    named = {Path(value).resolve() for value in machine.environ.values() if Path(value).is_absolute()}
    theirs = {machine.home.resolve(), machine.app_folder().resolve(), *named}
    if client.project is not None:
        theirs.add(client.project.resolve())
    return next((folder for folder in path.parents if folder in theirs), None)


def _plan_complete_removal(edit: Edit, plans: list[tuple[Path, Format, Plan]], below: Path | None) -> Edit:
    """Extend an edit that removes Deltos: also delete the file if Deltos created it, and obsolete backups."""
    if not edit.is_change:
        return edit
    own = [(form, plan) for path, form, plan in plans if path.resolve() == edit.path]
    form = own[0][0]
    rest = _drop_empty_values(read_table(form, edit.content.decode("utf-8").removeprefix("\ufeff")))
    backups = config_files.backups_of(edit.path)
    befores = [_clean_backup(backup, own) for backup in backups]
    was_there = any(before is None or not before.had_entries for before in befores)
    obsolete_backups = tuple(
        backup for backup, before in zip(backups, befores, strict=True) if before is not None and before.rest == rest
    )
    is_bare = not rest.keys() - {"version"} and not _has_comments(form, edit.content)
    if is_bare and not was_there:
        return replace(
            edit, content=b"", is_removal=True, is_unchanged=True, below=below, obsolete_backups=obsolete_backups
        )
    return replace(edit, is_unchanged=True, obsolete_backups=obsolete_backups)


@dataclass(frozen=True, slots=True)
class _CleanedBackup:
    """Content of a backup without Deltos entries, and whether the backup had such entries."""

    rest: Table
    had_entries: bool


def _clean_backup(backup: Path, plans_of_file: list[tuple[Format, Plan]]) -> _CleanedBackup | None:
    """Return the content of a backup without Deltos entries, or None if the backup is unreadable."""
    try:
        text = config_files.read(backup).text
        had = False
        for form, plan in plans_of_file:
            if changes := plan(read_table(form, text)):
                text, had = change_text(form, text, changes), True
        return _CleanedBackup(_drop_empty_values(read_table(plans_of_file[0][0], text)), had)
    except BadConfiguration:
        return None


def _drop_empty_values(table: Table) -> Table:
    """Return the table without empty values, which clients treat like missing keys."""
    return {key: value for key, value in table.items() if value not in ({}, [])}


def _has_comments(form: Format, content: bytes) -> bool:
    text = content.decode("utf-8").removeprefix("\ufeff")
    return ("//" in text or "/*" in text) if form is JSON else "#" in text


def _plugin_edit(plugin: Plugin, machine: Machine, launch: Launch) -> Edit:
    """Return the edit that writes the plugin file. Raise BadConfiguration if another program wrote the file."""
    original = config_files.read(plugin.path(machine))
    if original.content is not None and not plugin.is_own(original.text):
        raise BadConfiguration(
            f"{original.path} was not written by `deltos install`",
            hint="Move it elsewhere, or install with --no-hooks.",
        )
    return Edit(original, plugin.text(launch).encode("utf-8"))


def _plugin_removals(client: Client, machine: Machine) -> list[Edit]:
    """Return the edit that deletes the plugin file if Deltos wrote it."""
    plugin = client.plugin
    if plugin is None:
        return []
    original = config_files.read(plugin.path(machine))
    is_there = original.content is not None and plugin.is_own(original.text)
    if not is_there:
        return []
    return [_deletion_edit(original, plugin.is_unchanged, below=_folder_above(original.path, client, machine))]


def presence(client: Client, machine: Machine) -> Presence:
    """Return the Deltos features that a client's configuration contains."""
    try:
        original = config_files.read(client.path(machine), project=client.project)
        server = bool(_server_removals(client, read_table(client.format, original.text)))
        events = _own_events(client, machine)
        hooks = bool(events - {SUGGESTING.name}) or bool(_plugin_removals(client, machine))
    except BadConfiguration as exc:
        return Presence(has_file=True, trouble=str(exc))
    return Presence(original.content is not None, server, hooks, SUGGESTING.name in events)


def _own_events(client: Client, machine: Machine) -> set[str]:
    """Return the names of the client events that run `deltos hook`."""
    if client.hooks is None:
        return set()
    held = _table_at(read_table(JSON, config_files.read(client.hooks.path(machine)).text), "hooks") or {}
    return {event for event, entries in held.items() if any(_find_own_handlers(event, entries))}


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """A client's server entry: the command line and its environment variables."""

    words: tuple[str, ...]
    variables: dict[str, str]

    @property
    def options(self) -> tuple[str, ...]:
        """Command-line options of the server, such as `--profile`."""
        return self.words[self.words.index("mcp") + 1 :] if "mcp" in self.words else ()


def configured(client: Client, machine: Machine) -> ServerEntry | None:
    """Return the Deltos server entry in a client's configuration, or None if it is missing or has no command."""
    table = _table_at(
        read_table(client.format, config_files.read(client.path(machine), project=client.project).text),
        *client.entry_path,
    )
    if table is None:
        return None
    command, arguments = table.get("command"), table.get("args")
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not words:
        return None
    variables = next((held for key in ("env", "environment") if isinstance(held := table.get(key), dict)), {})
    named = {name: value for name, value in variables.items() if isinstance(value, str)}
    return ServerEntry((*map(str, words), *map(str, arguments if isinstance(arguments, list) else ())), named)


def write(edits: list[Edit]) -> list[Path]:
    """Write the changed files, and return the paths of the backups."""
    backups = [_write(edit) for edit in edits if edit.is_change]
    return [backup for backup in backups if backup is not None]


def _write(edit: Edit) -> Path | None:
    if edit.is_removal:
        return config_files.remove(
            edit.original, keeps_backup=not edit.is_unchanged, obsolete_backups=edit.obsolete_backups, below=edit.below
        )
    return config_files.replace(
        edit.original, edit.content, keeps_backup=not edit.is_unchanged, obsolete_backups=edit.obsolete_backups
    )


def rules(client: Client, machine: Machine, *, profile: str = "", remove: bool = False) -> list[Edit]:
    """Return the edits that write or remove the client's rules file, and its subagent if it supports one.

    Raise BadConfiguration rather than replace a file that Deltos did not write.
    """
    texts = ((client.rules, rules_text), (client.subagent, subagent_text))
    files = [(path(machine), text(profile)) for path, text in texts if path is not None]
    if not files and not remove:
        raise BadArgument(
            f"{client.title} has no rules file of its own", hint="Use --agents-md to write AGENTS.md in a project."
        )
    return [edit for path, text in files for edit in _rules_edit(client, machine, path, "" if remove else text)]


def _rules_edit(client: Client, machine: Machine, path: Path, text: str) -> list[Edit]:
    """Return the edit that writes a rules file, or removes it if `text` is empty."""
    original = config_files.read(path)
    if not may_replace(original):
        if not text:
            return []
        raise BadConfiguration(f"{original.path} was not written by deltos", hint="It was left untouched.")
    if text:
        return [Edit(original, text.encode())]
    if original.content is None:
        return []
    return [_deletion_edit(original, is_unchanged, below=_folder_above(original.path, client, machine))]


def _deletion_edit(
    original: config_files.Original, is_as_written: Callable[[str], bool], *, below: Path | None = None
) -> Edit:
    """Return the edit that deletes a file written by Deltos, and the backups that contain only Deltos text."""
    unchanged = is_as_written(original.text)
    obsolete_backups = tuple(
        backup for backup in config_files.backups_of(original.path) if _has_only_own_text(backup, is_as_written)
    )
    return Edit(original, b"", is_removal=True, is_unchanged=unchanged, below=below, obsolete_backups=obsolete_backups)


def _has_only_own_text(backup: Path, is_as_written: Callable[[str], bool]) -> bool:
    try:
        return is_as_written(config_files.read(backup).text)
    except BadConfiguration:
        return False


def agents_section_edits(folder: Path, *, remove: bool = False) -> list[Edit]:
    """Return the edits that add or remove the Deltos section in a project's AGENTS.md."""
    original = config_files.read(folder / "AGENTS.md", project=folder)
    if not remove:
        return [Edit(original, original.encode(with_section(original.text)))]
    if not has_section(original.text):
        return [] if original.content is None else [Edit(original, original.content)]
    backups = [
        (path, text) for path in config_files.backups_of(original.path) if (text := _read_backup(path)) is not None
    ]
    rest = _restore_without_section(original.text, [text for _, text in backups])
    if not rest.strip() and rest not in (text for _, text in backups):
        return [_deletion_edit(original, is_unchanged)]
    bare = without_section(with_section(rest))
    obsolete_backups = tuple(
        path for path, text in backups if text == rest or (has_section(text) and without_section(text) == bare)
    )
    unchanged = has_unmodified_section(original.text)
    return [Edit(original, original.encode(rest), is_unchanged=unchanged, obsolete_backups=obsolete_backups)]


def _restore_without_section(text: str, earlier: list[str]) -> str:
    """Return the original text from a backup, or the text without the Deltos section."""
    was = (before for before in earlier if not has_section(before) and with_section(before) == text)
    return next(was, without_section(text))


def _read_backup(path: Path) -> str | None:
    """Return the text of a backup, or None if it is unreadable or malformed."""
    try:
        text = config_files.read(path).text
        without_section(text)
    except BadConfiguration:
        return None
    return text


def has_agents_section(folder: Path) -> bool:
    """Whether a project's AGENTS.md has the Deltos section. Symbolic links are never edited and return False."""
    try:
        return has_section(config_files.read(folder / "AGENTS.md", project=folder).text)
    except BadConfiguration:
        return False


def _plan_edits(plans: list[tuple[Path, Format, Plan]], project: Path | None) -> list[Edit]:
    """Return one edit for each file, which combines all plans for the file."""
    edits: dict[Path, Edit] = {}
    for path, form, plan in plans:
        original = config_files.read(path, project=project)
        earlier = edits.get(original.path)
        try:
            text = original.text if earlier is None else earlier.content.decode("utf-8").removeprefix("\ufeff")
            changes = plan(read_table(form, text))
            content = original.encode(change_text(form, text, changes)) if changes else original.content or b""
        except BadConfiguration as exc:
            raise BadConfiguration(f"{path} cannot be edited: {exc.message}", hint="No file was changed.") from None
        if changes or earlier is None:
            edits[original.path] = Edit(original, content)
    return list(edits.values())


def _server_changes(client: Client, launch: Launch, table: Table) -> list[Change]:
    """Return the changes that update the server entry. Values that the user added are kept."""
    path = (client.servers, SERVER_NAME)
    wanted = client.entry(launch)
    present = _table_at(table, *path)
    if present is None or present.keys() & _REMOTE_SERVER_KEYS:
        return [Put(path, wanted)]
    # An empty table is only a default and does not replace a value of the user.
    wrong = [key for key, value in wanted.items() if key not in present or present[key] != value != {}]
    return [Put((*path, key), wanted[key]) for key in wrong]


def _server_removals(client: Client, table: Table) -> list[Change]:
    servers = _table_at(table, client.servers)
    return [Remove((client.servers, SERVER_NAME))] if servers is not None and SERVER_NAME in servers else []


def _hook_changes(hooks: Hooks, launch: Launch, platform: str, table: Table) -> list[Change]:
    changes: list[Change] = []
    if hooks.version is not None and "version" not in table:
        changes.append(Put(("version",), hooks.version))
    held = _table_at(table, "hooks") or {}
    for event in hooks.events:
        command = hook_command(launch, event.name, platform)
        entries = held.get(event.name)
        own = next(_find_own_handlers(event.name, entries), None)
        if own is None:
            index = len(entries) if isinstance(entries, list) else 0
            changes.append(Put(("hooks", event.name, index), hook_entry(hooks, event, command)))
        elif own.command != command:
            changes.append(Put((*own.path, "command"), command))
    return changes


def _hook_removals(table: Table) -> list[Change]:
    held = _table_at(table, "hooks") or {}
    own = [handler for event, entries in held.items() for handler in _find_own_handlers(event, entries)]
    # Entries are removed in reverse order, so that the remaining indexes stay valid.
    return [Remove(handler.group if handler.is_only_command else handler.path) for handler in reversed(own)]


@dataclass(frozen=True, slots=True)
class _OwnHook:
    """A Deltos command in the hooks of a client.

    `group` is the path of the entry that contains it, and `is_only_command` whether the entry has no other command.
    """

    path: tuple[str | int, ...]
    group: tuple[str | int, ...]
    command: str
    is_only_command: bool


def _find_own_handlers(event: str, entries: Json) -> Iterator[_OwnHook]:
    for entry_index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        group = ("hooks", event, entry_index)
        if command := _parse_own_command(entry):
            yield _OwnHook(group, group, command, is_only_command=True)
        inner = entry.get("hooks")
        for index, handler in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(inner, list) and isinstance(handler, dict) and (command := _parse_own_command(handler)):
                yield _OwnHook((*group, "hooks", index), group, command, is_only_command=len(inner) == 1)


def _parse_own_command(handler: Table) -> str:
    command = handler.get("command")
    return command if isinstance(command, str) and _OWN_HOOK_COMMAND.search(command) else ""


def hook_command(launch: Launch, event: str, platform: str) -> str:
    """Return the shell command of a hook."""
    words = [launch.program, *launch.arguments, "hook", event]
    if platform != "win32":
        return shlex.join(words)
    # On Windows, hooks run in cmd, PowerShell or Git Bash, which all accept slashes and double quotes.
    return " ".join(f'"{word}"' if " " in word else word for word in (word.replace("\\", "/") for word in words))


def hook_entry(hooks: Hooks, event: HookEvent, command: str) -> Table:
    """Return the settings of one hook in the client's format."""
    if not hooks.grouped:
        return {"command": command, **hooks.options}
    matcher: Table = {"matcher": event.matcher} if event.matcher else {}
    return {**matcher, "hooks": [{"type": "command", "command": command, **hooks.options}]}


def _table_at(table: Table, *path: str) -> Table | None:
    for key in path:
        inner = table.get(key)
        if not isinstance(inner, dict):
            return None
        table = inner
    return table
