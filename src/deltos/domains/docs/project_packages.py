"""Determine which packages a project uses: packages that are installed, locked or required."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.domains.docs.dependencies import direct_dependencies
from deltos.domains.docs.installed_packages import find_npm_package, python_versions
from deltos.domains.docs.lock_files import locked_versions
from deltos.domains.docs.model import PACKAGE_KINDS
from deltos.domains.docs.versions import same_version
from deltos.errors import BadRequest, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.isolated_parser import Parser
    from deltos.store.documents import SourceRow

_COMPARE_INTERVAL_SECONDS = 5.0


@dataclass
class ProjectPackages:
    """The packages used by one project, cached for the duration of a search."""

    root: Path
    environments: Sequence[Path]
    parser: Callable[[], Parser]
    _python_versions: dict[str, str] | None = None
    _npm_versions: dict[str, str] = field(default_factory=dict)

    def uses(self, source: SourceRow) -> bool:
        """Whether a source documents a dependency of this project, in the version that the project uses.

        The source's version is compared with the installed version. If the package is not installed, it is compared
        with the locked versions. If these are unknown, any version of a required package matches.
        """
        if source.kind in PACKAGE_KINDS and (installed := self.installed_version(source)):
            return not source.version or same_version(installed, source.version)
        if source.kind == "website":
            locked_pages = (address for address in self._locked_versions if source.url.startswith(f"{address}/"))
            return any(
                (source.version or source.url.removeprefix(address).split("/")[1]) in self._locked_versions[address]
                for address in locked_pages
            )
        if locked := self._locked_versions.get(source.url.removesuffix(".git")):
            return not source.version or any(same_version(version, source.version) for version in locked)
        return source.url in self._required_addresses

    def installed_version(self, source: SourceRow) -> str:
        """Return the version of the package that is installed in the project; empty if the package is not installed."""
        name = source.url.partition(":")[2]
        if source.kind == "pypi":
            if self._python_versions is None:
                self._python_versions = python_versions(self.root, self.environments)
            return self._python_versions.get(name, "")
        if name not in self._npm_versions:
            try:
                self._npm_versions[name] = find_npm_package(name, self.root).version
            except (SourceError, BadRequest):
                self._npm_versions[name] = ""
        return self._npm_versions[name]

    @cached_property
    def _locked_versions(self) -> dict[str, set[str]]:
        """The locked versions of each dependency, by package address."""
        return locked_versions(self.root)

    @cached_property
    def _required_addresses(self) -> frozenset[str]:
        """The addresses of the direct dependencies."""
        try:
            return frozenset(direct_dependencies(self.root, self.parser()).addresses)
        except (SourceError, BadRequest):  # an unreadable file is treated as a file without dependencies
            return frozenset()


class UpgradeDetector:
    """Detects packages whose installed version differs from the indexed version.

    Each package is compared at most once per `_COMPARE_INTERVAL_SECONDS`.
    """

    def __init__(self, environments: Sequence[Path], parser: Callable[[], Parser]) -> None:
        self._environments = environments
        self._parser = parser
        self._compared: dict[str, float] = {}

    def find_upgraded(self, packages: Sequence[SourceRow]) -> list[tuple[SourceRow, str]]:
        """Return the package sources whose installed version is not the indexed version, with the installed version."""
        now = time.monotonic()
        projects: dict[str, ProjectPackages] = {}
        found = []
        for source in packages:
            root = Path(source.project_root)
            if now - self._compared.get(
                source.id, -_COMPARE_INTERVAL_SECONDS
            ) < _COMPARE_INTERVAL_SECONDS or not may_read(root):
                continue
            self._compared[source.id] = now
            project = projects.setdefault(source.project_root, ProjectPackages(root, self._environments, self._parser))
            installed = project.installed_version(source) if root.is_dir() else ""
            if installed and source.version and not same_version(installed, source.version):
                found.append((source, installed))
        return found
