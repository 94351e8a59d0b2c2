"""The results of `make package` are valid for Claude Code, the MCP registry and bundle hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from hatchling.builders.sdist import SdistBuilder

from deltos import __version__
from deltos.clients.table import client_named

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


def build(folder: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, ROOT / "scripts" / "package.py", folder], check=True, env=environ, cwd=folder)


def load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_the_registry_entry_conforms_to_the_published_schema(dist: Path) -> None:
    server = load(dist / "server.json")
    assert set(server) == {"$schema", "name", "title", "description", "version", "packages"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 3 <= len(server["name"]) <= 200
    assert 1 <= len(server["title"]) <= 100
    assert 1 <= len(server["description"]) <= 100
    assert server["version"] == __version__
    (package,) = server["packages"]
    assert (package["registryType"], package["identifier"], package["version"]) == ("pypi", "deltos", __version__)
    assert package["transport"] == {"type": "stdio"}
    assert package["packageArguments"] == [{"type": "positional", "value": "mcp"}]
    assert all(set(variable) == {"name", "description"} for variable in package["environmentVariables"])


def test_links_of_the_long_description_work_outside_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    # without hatchling, which is not required to read the text
    backend = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", cast("ModuleType", backend))
    monkeypatch.syspath_prepend(ROOT)
    text = import_module("hatch_build").long_description((ROOT / "README.md").read_text("utf-8"))
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    bases = ("https://github.com/deltos/deltos/blob/main/", "https://raw.githubusercontent.com/deltos/deltos/main/")
    paths = [link.removeprefix(base) for link in links for base in bases if link.startswith(base)]
    missing = [path for path in paths if not (ROOT / path.partition("#")[0]).exists()]
    assert missing == []


def test_the_source_package_has_no_benchmarks_tests_or_sources_of_the_page() -> None:
    paths = {Path(file.path).relative_to(ROOT).as_posix() for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    alone = {path for path in paths if not path.startswith("src/deltos/")}
    assert alone == {"README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "hatch_build.py"}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src" / "deltos").rglob("*") if path.is_file()}
    assert paths - alone == {path for path in sources if "/__pycache__/" not in path}


def test_the_readme_contains_the_server_name_that_proves_ownership(dist: Path) -> None:
    assert f"mcp-name: {load(dist / 'server.json')['name']} " in (ROOT / "README.md").read_text("utf-8")


def test_the_plugin_has_the_server_and_the_hooks_of_the_client_table(dist: Path) -> None:
    plugin = dist / "claude-code-plugin"
    manifest = load(plugin / ".claude-plugin" / "plugin.json")
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", manifest["name"])
    assert manifest["version"] == __version__
    server = load(plugin / ".mcp.json")["mcpServers"]["deltos"]
    assert (server["command"], server["args"]) == ("deltos", ["mcp"])
    hooks = client_named("claude-code").hooks
    assert hooks is not None
    held = load(plugin / "hooks" / "hooks.json")["hooks"]
    assert {event: groups[0]["hooks"][0]["command"] for event, groups in held.items()} == {
        event.name: f"deltos hook {event.name}" for event in hooks.events
    }


def test_the_bundle_describes_itself_and_starts(dist: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(dist / f"deltos-{__version__}.mcpb") as bundle:
        bundle.extractall(tmp_path)
    manifest = load(tmp_path / "manifest.json")
    assert {"manifest_version", "name", "version", "description", "author", "server"} <= set(manifest)
    assert manifest["server"]["type"] == "uv"
    assert [tool["name"] for tool in manifest["tools"]].count("search_code") == 1
    assert set(manifest["user_config"]) == set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert (tmp_path / "pyproject.toml").exists()
    # The copy in the bundle must not count as a second Deltos in the coverage report.
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    started = subprocess.run(
        [sys.executable, manifest["server"]["entry_point"], "--help"],
        cwd=tmp_path,
        env=unmeasured | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert started.stdout.startswith("usage: deltos mcp")


def test_equal_sources_give_equal_bundles(dist: Path, tmp_path: Path) -> None:
    build(tmp_path)
    name = f"deltos-{__version__}.mcpb"
    assert (tmp_path / name).read_bytes() == (dist / name).read_bytes()
