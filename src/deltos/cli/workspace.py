"""`deltos workspace`: manage named sets of projects."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_command_group, add_verb, print_json
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.files import given_path
from deltos.open_stores import open_projects, open_tokens, open_workspaces
from deltos.server.access import is_valid
from deltos.store.tokens import is_for_workspace
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from deltos.cli.command import Subparsers
    from deltos.store.project import KnownIndex
    from deltos.store.workspaces import StoredWorkspace, WorkspaceRecords

MAX_NAME_CHARACTERS = 100
_FORBIDDEN_NAME_CHARACTERS = frozenset("/\\,:*?!~[]\"'")
# Values of `project_id` that select all observations, or observations without a project.
_RESERVED_NAMES = ("all", "personal")


def add_commands(subparsers: Subparsers) -> None:
    """Add the command `workspace` with the subcommands `add`, `remove`, `rename`, `list` and `show`."""
    verbs = add_command_group(subparsers, "workspace")
    add = add_verb(verbs, "add", _add, "add projects to a workspace; creates the workspace if necessary")
    _add_name(add)
    add.add_argument("paths", nargs="+", metavar="PATH", help="folders of projects")
    remove = add_verb(verbs, "remove", _remove, "remove projects from a workspace, or delete the workspace")
    _add_name(remove)
    remove.add_argument("paths", nargs="*", metavar="PATH", help="folders of projects; default: all")
    rename = add_verb(verbs, "rename", _rename, "rename a workspace and update its tokens")
    _add_name(rename)
    rename.add_argument("new_name", help="new name of the workspace")
    add_verb(verbs, "list", _list, "list all workspaces")
    show = add_verb(verbs, "show", _show, "show the projects of a workspace and the state of their indexes")
    _add_name(show)


def _add_name(verb: argparse.ArgumentParser) -> None:
    action = verb.add_argument("name", help="name of the workspace")
    action.offered = _list_workspace_names  # type: ignore[attr-defined]  # for `deltos completion`


def _list_workspace_names() -> list[str]:
    with _open_records() as records:
        return [workspace.name for workspace in records.all()]


def _add(arguments: argparse.Namespace) -> int:
    from deltos.workspace.identity import find_root  # deferred import: not needed for `--help`

    roots = [find_root(given_path(path)) for path in arguments.paths]
    for root in roots:
        if root in (Path(root.anchor), Path.home()):
            raise BadArgument(f"{root} is not a project", hint="Give the folder of a repository.")
    with _open_records() as records:
        if records.get(arguments.name) is None:
            _check_name(arguments.name)
            _check_tokens(arguments.name)
        added = records.add(arguments.name, [str(root) for root in roots])
        workspace = _require_workspace(records, arguments.name)
    if arguments.json:
        print_json({**_as_data(workspace, _indexes_by_root(workspace)), "added": added})
        return 0
    print(f"{workspace.name}: {counted(len(added), 'project')} added, {len(workspace.roots)} in total")
    print(f'Search it with project_id="{workspace.name}", or with --project {workspace.name} in the shell.')
    return 0


def _check_name(name: str) -> None:
    """Raise BadArgument for a name that could be confused with a project, path or reserved word."""
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or name != name.strip() or not name.isprintable():
        raise BadArgument("Invalid workspace name", hint="Choose a name such as shop.")
    if name.lower() in _RESERVED_NAMES:
        raise BadArgument(f"'{name}' is reserved for memory searches", hint="Choose another name.")
    if _FORBIDDEN_NAME_CHARACTERS.intersection(name) or name.startswith((".", "-")):
        raise BadArgument(
            f"Invalid workspace name '{name}'", hint="Choose a name without / \\ , : * and quotes, such as shop."
        )
    taken = [index.root for index in _list_indexes() if index.root.name.lower() == name.lower()]
    if taken:
        raise BadArgument(f"A project is already called '{name}': {taken[0]}", hint="Choose another name.")


def _check_tokens(name: str) -> None:
    """Raise BadArgument if valid tokens still refer to a deleted workspace with this name."""
    # These tokens would give access to the new workspace.
    config = Config.from_environment()
    with closing(open_tokens(config.home, config.database)) as tokens:
        held = [each for each in tokens.all() if is_valid(each, time.time()) and is_for_workspace(each, name)]
    if held:
        named = ", ".join(f"{each.id} ({each.name})" for each in held)
        raise BadArgument(
            f"Tokens of a deleted workspace '{name}' would give access to the new one: {named}",
            hint="Revoke each with `deltos token revoke ID`, or choose another name.",
        )


def _remove(arguments: argparse.Namespace) -> int:
    with _open_records() as records:
        workspace = _require_workspace(records, arguments.name)
        wanted = [str(_resolve_folder(path)) for path in arguments.paths] or list(workspace.roots)
        if missing := [root for root in wanted if root not in workspace.roots]:
            hint = f"See `deltos workspace show {workspace.name}`."
            raise NotFound(f"{missing[0]} is not in {workspace.name}", hint=hint)
        if arguments.paths and {*wanted} == {*workspace.roots}:
            raise BadArgument(
                f"{workspace.name} would be empty, and its tokens would lose their projects",
                hint=f"Add other folders first, or delete it with `deltos workspace remove {workspace.name}`.",
            )
        removed = records.remove(workspace.name, wanted)
        remaining = records.get(workspace.name)
    if arguments.json:
        print_json({"name": workspace.name, "removed": removed, "projects": list(remaining.roots) if remaining else []})
    else:
        rest = f"{len(remaining.roots)} left" if remaining else "the workspace is deleted"
        print(f"{workspace.name}: {counted(len(removed), 'project')} removed, {rest}; indexes are kept")
    return 0


def _rename(arguments: argparse.Namespace) -> int:
    with _open_records() as records:
        name, new_name = _require_workspace(records, arguments.name).name, arguments.new_name
        if new_name.lower() != name.lower():
            _check_name(new_name)
            if records.get(new_name) is None:
                _check_tokens(new_name)
        tokens = records.rename(name, new_name)
        workspace = _require_workspace(records, new_name)
    if arguments.json:
        print_json({"name": workspace.name, "before": name, "tokens": tokens, "projects": list(workspace.roots)})
    else:
        updated = f"; {counted(tokens, 'token')} updated" if tokens else ""
        print(f"Renamed {name} to {workspace.name}: {counted(len(workspace.roots), 'project')}{updated}")
    return 0


def _resolve_folder(path: str) -> Path:
    """Return the resolved folder, even if it does not exist."""
    folder = given_path(path)
    try:
        return folder.resolve()
    except (OSError, RuntimeError, ValueError):
        return folder


def _list(arguments: argparse.Namespace) -> int:
    with _open_records() as records:
        every = records.all()
    for workspace in every:
        if arguments.json:
            print_json(_as_data(workspace, _indexes_by_root(workspace)))
        else:
            names = ", ".join(Path(root).name for root in workspace.roots)
            print(f"{workspace.name}  {counted(len(workspace.roots), 'project')}: {names}")
    if not every and not arguments.json:
        print("No workspaces yet. `deltos workspace add NAME PATH …` creates one.")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    with _open_records() as records:
        workspace = _require_workspace(records, arguments.name)
    indexed = _indexes_by_root(workspace)
    if arguments.json:
        print_json(_as_data(workspace, indexed))
        return 0
    print(f"{workspace.name}: {counted(len(workspace.roots), 'project')}")
    for root in workspace.roots:
        print(f"  {root}  {_index_state(root, indexed)}")
    return 0


def _index_state(root: str, indexed: dict[str, KnownIndex]) -> str:
    if not Path(root).is_dir():
        return "folder not found"
    index = indexed.get(root)
    if index is None:
        return "not indexed yet; the first search indexes it"
    return f"{counted(index.files, 'file')}, {index.project_id}"


def _as_data(workspace: StoredWorkspace, indexed: dict[str, KnownIndex]) -> dict[str, object]:
    return {
        "name": workspace.name,
        "projects": [
            {
                "path": root,
                "project_id": indexed[root].project_id if root in indexed else None,
                "files": indexed[root].files if root in indexed else 0,
                "exists": Path(root).is_dir(),
            }
            for root in workspace.roots
        ],
    }


def _indexes_by_root(workspace: StoredWorkspace) -> dict[str, KnownIndex]:
    return {str(index.root): index for index in _list_indexes() if str(index.root) in workspace.roots}


def _list_indexes() -> Sequence[KnownIndex]:
    config = Config.from_environment()
    return open_projects(config.home, config.database).indexed_projects()


def _require_workspace(records: WorkspaceRecords, name: str) -> StoredWorkspace:
    workspace = records.get(name)
    if workspace is None:
        names = ", ".join(each.name for each in records.all()[:10])
        raise NotFound(
            f"There is no workspace '{name[:MAX_NAME_CHARACTERS]}'",
            hint=f"Known: {names}." if names else "`deltos workspace add NAME PATH …` creates one.",
        )
    return workspace


@contextmanager
def _open_records() -> Iterator[WorkspaceRecords]:
    config = Config.from_environment()
    records = open_workspaces(config.home, config.database)
    try:
        yield records
    finally:
        records.close()
