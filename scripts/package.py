"""Build the files for clients and registries: a Claude Code plugin folder, `server.json` and an `.mcpb` bundle."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos import __version__
from deltos.clients.install import hook_command, hook_entry
from deltos.clients.table import SERVER_NAME, Launch, client_named
from deltos.server.manifest import MANIFEST_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.clients.jsonc import Json

ROOT = Path(__file__).parents[1]
TITLE = "Deltos"
# The registry accepts at most 100 characters.
SUMMARY = "One local index of docs, APIs, code, code graph and memory for coding agents; works offline."
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
BUNDLE_VERSION = "0.4"
BUNDLED_FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md")
ENTRY_POINT = "server.py"
ENTRY_SCRIPT = '''\
"""Entry point of the bundle: run the MCP server over stdin and stdout for the selected folder."""

import sys

from deltos.cli.main import main

sys.exit(main(["mcp", *sys.argv[1:]]))
'''
VARIABLES = {
    "DELTOS_HOME": "Folder for all data; default: your platform's data folder.",
    "DELTOS_TOOLSETS": "Enabled toolsets, separated by commas; default: all.",
    "DELTOS_TOKEN_BUDGET": "Maximum length of an answer in tokens; default: 5000.",
}


@dataclass(frozen=True, slots=True)
class Project:
    """Metadata of the project from pyproject.toml and README.md."""

    name: str
    author: str
    license: str
    python: str
    keywords: list[str]
    registry_name: str

    @classmethod
    def read(cls, root: Path) -> Project:
        """Read the metadata; the registry requires the server's name in README.md as proof of ownership."""
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        marker = re.search(r"mcp-name: (\S+)", (root / "README.md").read_text("utf-8"))
        if marker is None:
            raise SystemExit("README.md has no `mcp-name: NAMESPACE/deltos` marker")
        author = project["authors"][0]["name"]
        return cls(
            project["name"], author, project["license"], project["requires-python"], project["keywords"], marker[1]
        )


def main() -> None:
    """Build all files into the given folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the results")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    project = Project.read(ROOT)
    built = (build_plugin(project, out), build_server_json(project, out), build_bundle(project, out))
    for path in built:
        print(f"{path}  {_file_digest(path)}".rstrip())


def build_plugin(project: Project, out: Path) -> Path:
    """Build the Claude Code plugin with the server and the memory hooks. It requires `deltos` on the PATH."""
    folder = out / "claude-code-plugin"
    shutil.rmtree(folder, ignore_errors=True)
    client, launch = client_named("claude-code"), Launch("deltos")
    hooks = client.hooks
    if hooks is None:
        raise SystemExit("Claude Code has no hooks in the table of clients")
    plugin: dict[str, Json] = {
        "name": project.name,
        "version": __version__,
        "description": SUMMARY,
        "author": {"name": project.author},
        "license": project.license,
        "keywords": project.keywords,
    }
    listeners = {
        event.name: [hook_entry(hooks, event, hook_command(launch, event.name, "linux"))] for event in hooks.events
    }
    _write_json(folder / ".claude-plugin" / "plugin.json", plugin)
    _write_json(folder / ".mcp.json", {client.servers: {SERVER_NAME: client.entry(launch)}})
    _write_json(folder / "hooks" / "hooks.json", {"description": "Hooks of Deltos' memory.", "hooks": listeners})
    return folder


def build_server_json(project: Project, out: Path) -> Path:
    """Build the entry for the MCP registry."""
    package: dict[str, Json] = {
        "registryType": "pypi",
        "identifier": project.name,
        "version": __version__,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "environmentVariables": [{"name": name, "description": text} for name, text in VARIABLES.items()],
    }
    server: dict[str, Json] = {
        "$schema": SERVER_SCHEMA,
        "name": project.registry_name,
        "title": TITLE,
        "description": SUMMARY,
        "version": __version__,
        "packages": [package],
    }
    return _write_json(out / "server.json", server)


def build_bundle(project: Project, out: Path) -> Path:
    """Build the bundle for hosts such as Claude Desktop, which install Python and the dependencies with uv."""
    path = out / f"{project.name}-{__version__}.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in _bundled_files(project):
            # A fixed date makes the bundle reproducible.
            bundle.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return path


def _bundled_files(project: Project) -> Iterator[tuple[str, bytes]]:
    yield "manifest.json", _to_json(_bundle_manifest(project)).encode()
    yield ENTRY_POINT, ENTRY_SCRIPT.encode()
    for name in BUNDLED_FILES:
        yield name, (ROOT / name).read_bytes()
    for path in sorted((ROOT / "src" / "deltos").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def _bundle_manifest(project: Project) -> dict[str, Json]:
    return {
        "manifest_version": BUNDLE_VERSION,
        "name": project.name,
        "display_name": TITLE,
        "version": __version__,
        "description": SUMMARY,
        "author": {"name": project.author},
        "license": project.license,
        "keywords": project.keywords,
        "server": {
            "type": "uv",
            "entry_point": ENTRY_POINT,
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", ENTRY_POINT, "${user_config.project}"],
            },
        },
        "user_config": {
            "project": {
                "type": "directory",
                "title": "Project",
                "description": "Folder of the repository that Deltos indexes.",
                "required": True,
            }
        },
        "compatibility": {"platforms": ["darwin", "win32", "linux"], "runtimes": {"python": project.python}},
        "tools": _tool_entries(),
    }


def _tool_entries() -> list[dict[str, str]]:
    listed = json.loads(MANIFEST_PATH.read_text("utf-8"))["tools"]
    return [{"name": tool["listing"]["name"], "description": tool["listing"]["description"]} for tool in listed]


def _write_json(path: Path, value: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_to_json(value), "utf-8", newline="\n")
    return path


def _to_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _file_digest(path: Path) -> str:
    return f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else ""


if __name__ == "__main__":
    main()
