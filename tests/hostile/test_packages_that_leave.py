"""Installed packages and requirements that point outside the project reveal nothing from outside."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from fuzz.inline_parser import InlineParser

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined
from deltos.domains.docs.dependencies import MAX_DEPENDENCIES, direct_dependencies
from deltos.domains.docs.installed_packages import find_npm_package, find_python_distribution, site_packages
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.search import DocsRequest
from deltos.errors import DeltosError, NotFound, ParserStopped, SourceError
from deltos.isolated.process_pool import ProcessPool
from deltos.isolated.wire import TaskLimits
from deltos.isolated_parser import IsolatedParser
from deltos.open_stores import open_library
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "xyzzy-secret"
SITE_PACKAGES = ".venv/lib/python3.11/site-packages"
DIST_INFO = f"{SITE_PACKAGES}/kit-1.0.dist-info"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(
        tmp_path / "outside",
        {
            "secret.md": f"# Secret\n\n{SECRET}\n",
            "secret.py": f'"""{SECRET}"""\n\n\ndef leak():\n    """{SECRET}"""\n',
            "package.json": json.dumps({"name": "x", "version": "1", "types": "index.d.ts"}),
            "index.d.ts": f"/** {SECRET} */\nexport declare function leak(): void;\n",
            "requirements.txt": f"{SECRET}\n",
        },
    )
    root = tmp_path / "served" / "project"
    root.mkdir(parents=True)
    return root


@pytest.fixture
def app(tmp_path: Path, workers: ProcessPool) -> Iterator[App]:
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        yield app


def add_source(app: App, root: Path, url: str) -> str:
    """Add a source and crawl it; return all answers about it."""
    library = app.domains.docs.library
    try:
        added = library.add(NewSource(url, "", root, (root,)))
    except DeltosError as exc:
        return str(exc)
    for source in added.sources:
        library.crawls.run(source.id)
    statuses = [library.status(source.id) for source in added.sources]
    passages = [passage.text for passage in app.domains.docs.search.search(DocsRequest(SECRET)).passages]
    return "\n".join([*added.failures, *map(str, statuses), *passages])


def install_package(root: Path, record: str, files: dict[str, str]) -> None:
    write_files(
        root,
        {
            f"{SITE_PACKAGES}/kit/__init__.py": '"""Kit."""\nfrom .linked import leak\n',
            f"{DIST_INFO}/METADATA": "Metadata-Version: 2.1\nName: kit\nVersion: 1.0\n\n# Kit\n\nA readme.\n",
            f"{DIST_INFO}/RECORD": f"kit/__init__.py,,\n{record}",
            **files,
        },
    )


def test_links_in_a_python_package_are_not_followed(root: Path, app: App) -> None:
    install_package(root, "kit/link.md,,\nkit/linked.py,,\nkit/folder/secret.md,,\nkit/pipe.md,,\n", {})
    outside = root.parent.parent / "outside"
    (root / SITE_PACKAGES / "kit" / "link.md").symlink_to(outside / "secret.md")
    (root / SITE_PACKAGES / "kit" / "linked.py").symlink_to(outside / "secret.py")
    (root / SITE_PACKAGES / "kit" / "folder").symlink_to(outside)
    os.mkfifo(root / SITE_PACKAGES / "kit" / "pipe.md")
    shown = add_source(app, root, "pypi:kit")
    assert "pages=2" in shown  # only README and __init__ were read
    assert "pages_skipped=4" in shown
    assert SECRET not in shown


@pytest.mark.parametrize(
    "path",
    [
        "kit/../../../../../../../outside/secret.md",
        "../../../../../../outside/secret.md",
        "/etc/passwd",
        '"kit/../../../../../../../outside/secret.md"',
    ],
)
def test_a_record_file_cannot_refer_to_files_outside_the_package(root: Path, app: App, path: str) -> None:
    install_package(root, f"{path},,\n", {})
    assert (root / SITE_PACKAGES / "kit/../../../../../../../outside/secret.md").exists()
    shown = add_source(app, root, "pypi:kit")
    assert "pages=2" in shown
    assert SECRET not in shown


def test_an_environment_that_is_a_link_to_another_folder_is_ignored(root: Path, tmp_path: Path) -> None:
    elsewhere = write_files(tmp_path / "elsewhere", {})
    install_package(elsewhere, "", {})
    (root / ".venv").symlink_to(elsewhere / ".venv")
    with pytest.raises(NotFound, match="No Python environment"):
        find_python_distribution("kit", root)
    assert (
        find_python_distribution("kit", root, (elsewhere / ".venv",)).name == "kit"
    )  # an environment activated by the user
    with confined(Confinement((root,))), pytest.raises(NotFound):
        find_python_distribution("kit", root, (elsewhere / ".venv",))


@pytest.mark.parametrize(
    "link", [SITE_PACKAGES, f"{SITE_PACKAGES}/kit-1.0.dist-info", ".venv/lib", ".venv/lib/python3.11"]
)
def test_no_folder_of_an_environment_is_reached_through_a_link(root: Path, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    install_package(elsewhere, "", {})
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(elsewhere / link)
    with pytest.raises(NotFound):
        find_python_distribution("kit", root)


def test_path_files_that_add_other_folders_are_not_followed(root: Path, app: App, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    install_package(
        root,
        "kit.pth,,\nkit.egg-link,,\n",
        {f"{SITE_PACKAGES}/kit.pth": f"{outside}\n", f"{SITE_PACKAGES}/kit.egg-link": f"{outside}\n"},
    )
    assert SECRET not in add_source(app, root, "pypi:kit")


@pytest.mark.parametrize(
    "manifest",
    [
        {"types": "../../../../outside/index.d.ts"},
        {"main": "../../../../outside/index.d.ts"},
        {"exports": {".": {"types": "../../../../outside/index.d.ts"}}},
        {"types": "linked.d.ts"},
        {"types": "/etc/passwd"},
        {"types": "folder/index.d.ts"},
        {"types": "entry.d.ts"},
    ],
)
def test_an_npm_package_reads_only_its_own_files(root: Path, app: App, manifest: dict[str, object]) -> None:
    package = write_files(
        root / "node_modules" / "kit",
        {
            "package.json": json.dumps({"name": "kit", "version": "1", **manifest}),
            "README.md": "# Kit\n\nA readme.\n",
            "entry.d.ts": 'export * from "../../../../outside/index";\nexport * from "./linked";\n',
        },
    )
    outside = root.parent.parent / "outside"
    (package / "linked.d.ts").symlink_to(outside / "index.d.ts")
    (package / "folder").symlink_to(outside)
    (package / "docs").symlink_to(outside)
    shown = add_source(app, root, "npm:kit")
    assert "A readme" in shown or "pages=" in shown
    assert SECRET not in shown


def test_a_package_that_is_a_link_out_of_the_project_is_refused(root: Path, app: App, tmp_path: Path) -> None:
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x").symlink_to(tmp_path / "outside")
    shown = add_source(app, root, "npm:x")
    assert "is not in the project's node_modules" in shown
    assert SECRET not in shown
    (root / "node_modules" / "x").unlink()
    (root / "node_modules").rmdir()
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "x").symlink_to(tmp_path / "outside")
    (root / "node_modules").symlink_to(tmp_path / "modules")
    assert "is not in the project's node_modules" in add_source(app, root, "npm:x")
    assert add_source(app, root, "npm:y").replace("y is", "x is") == add_source(
        app, root, "npm:x"
    )  # the error does not reveal whether the path exists


def test_links_of_package_managers_inside_the_workspace_are_followed(root: Path, tmp_path: Path) -> None:
    workspace = write_files(
        tmp_path / "work",
        {
            "pnpm-workspace.yaml": "packages: [packages/*]\n",
            "node_modules/.pnpm/zod@4/node_modules/zod/package.json": '{"version": "4.0.0"}',
            "packages/shared/package.json": '{"version": "0.1.0"}',
            "packages/app/package.json": "{}",
        },
    )
    modules = workspace / "packages" / "app" / "node_modules"
    modules.mkdir()
    (modules / "zod").symlink_to("../../../node_modules/.pnpm/zod@4/node_modules/zod")
    (modules / "shared").symlink_to("../../shared")
    project = workspace / "packages" / "app"
    assert [find_npm_package(name, project).version for name in ("zod", "shared")] == ["4.0.0", "0.1.0"]
    with confined(Confinement((project,))), pytest.raises(NotFound):
        find_npm_package("zod", project)


def test_node_modules_of_parent_folders_need_read_permission(root: Path) -> None:
    write_files(root.parent, {"node_modules/kit/package.json": '{"version": "1.0.0"}'})
    assert find_npm_package("kit", root).version == "1.0.0"
    with confined(Confinement((root,))), pytest.raises(NotFound):
        find_npm_package("kit", root)


def test_included_requirements_are_not_read(root: Path, app: App) -> None:
    write_files(root, {"requirements.txt": "-r ../../outside/requirements.txt\nmissing\n"})
    assert direct_dependencies(root, InlineParser()).addresses == ("pypi:missing",)
    assert SECRET not in add_source(app, root, "deps:")


@pytest.mark.parametrize("name", ["package.json", "pyproject.toml", "requirements.txt"])
def test_a_project_file_that_is_a_pipe_or_a_link_is_refused_with_a_message(root: Path, app: App, name: str) -> None:
    os.mkfifo(root / name)
    assert "not a regular file" in add_source(app, root, "deps:")
    (root / name).unlink()
    (root / name).symlink_to(root.parent.parent / "outside" / "requirements.txt")
    shown = add_source(app, root, "deps:")
    assert "links are not followed" in shown
    assert SECRET not in shown


def test_endless_requirements_are_stopped_or_counted(root: Path, tmp_path: Path) -> None:
    write_files(root, {"pyproject.toml": "-." * 200_000 + "a = 1\n"})  # tomllib needs quadratic time for a dotted key
    with pytest.raises(SourceError, match="a key with more than 64 parts"):
        direct_dependencies(root, InlineParser())
    many = "".join(f"a{number} = 1\n" for number in range(200_000))
    write_files(root, {"pyproject.toml": many})
    with closing(open_library(tmp_path / "stopped")) as library, closing(ProcessPool()) as workers:
        limits = TaskLimits(cpu_seconds=0.2, wall_seconds=20.0, memory_bytes=1 << 30)
        parser = IsolatedParser(workers, library.unreadable_content, limits=lambda _: limits)
        with pytest.raises(ParserStopped, match="CPU"):
            direct_dependencies(root, parser)
    (root / "pyproject.toml").unlink()
    write_files(root, {"requirements.txt": "\n".join(f"a{n}" for n in range(MAX_DEPENDENCIES + 7))})
    found = direct_dependencies(root, InlineParser())
    assert len(found.addresses) == MAX_DEPENDENCIES
    assert found.skipped == ("7 dependencies beyond the limit of 2,000",)


def test_deep_nesting_and_odd_types_are_refused_with_a_message(root: Path) -> None:
    deep = 100_000
    for name, text in {
        "package.json": '{"exports":' * deep + "1" + "}" * deep,
        "pyproject.toml": "a = " + "[" * deep + "]" * deep,
    }.items():
        write_files(root, {name: text})
        with pytest.raises(SourceError, match="nested too deeply"):
            direct_dependencies(root, InlineParser())
        (root / name).unlink()
    write_files(root, {"pyproject.toml": "project = 3\ntool = [1]\ndependency-groups = {a = 1}\n"})
    assert direct_dependencies(root, InlineParser()).addresses == ()
    nested: dict[str, object] = {"types": "deep.d.ts"}
    for _ in range(400):
        nested = {"import": nested}
    write_files(root, {"node_modules/kit/package.json": json.dumps({"exports": nested})})
    assert [path for _, path in find_npm_package("kit", root).entries] == ["deep.d.ts", "index.d.ts", "index.js"]


@pytest.mark.parametrize("name", ["a/..", "x" * 5_000, "a/" + "b" * 5_000])
def test_packages_with_odd_names_are_not_found(root: Path, app: App, name: str) -> None:
    assert "is not in the project's node_modules" in add_source(app, root, f"npm:{name}")
    assert site_packages(root) == []
