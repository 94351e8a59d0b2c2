"""Parse addresses of documentation sources, and open sources of every kind."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from deltos.clones.address import local_path_of, parse_repository
from deltos.clones.commit_files import find_local
from deltos.confinement import visible_location
from deltos.domains.docs.folder import Folder
from deltos.domains.docs.installed_packages import normalised_name
from deltos.domains.docs.node_package import NpmPackage
from deltos.domains.docs.python_package import PythonPackage
from deltos.domains.docs.repository import CloneAccess, GitRepository
from deltos.domains.docs.website import Website
from deltos.errors import BadArgument, SourceError
from deltos.fetch.address import require_web_address
from deltos.fetch.files import allowed_path
from deltos.fetch.url import normalise
from deltos.files import given_path
from deltos.logins import NO_LOGINS, Logins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deltos.clones.fetching import Reference
    from deltos.clones.storage import Clones
    from deltos.domains.docs.model import ApiCatalog, Origin
    from deltos.fetch.http import HttpClient
    from deltos.isolated_parser import Parser
    from deltos.logins import Login
    from deltos.store.documents import SourceRow

SourceKind = Literal["website", "folder", "git", "pypi", "npm"]

_URL_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+):")
_PACKAGE_ADDRESS = re.compile(r"^(pypi|npm):(@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)$")


@dataclass(frozen=True, slots=True)
class SourceAddress:
    """A parsed source address: the kind of source and the canonical URL or path."""

    kind: SourceKind
    url: str
    version: str = ""  # branch or tag in the URL of a repository
    folder: str = ""  # folder in the URL of a repository


def parse_address(text: str, *, project_root: Path, roots: Sequence[Path]) -> SourceAddress:
    """Parse a source address.

    Raises BadArgument if the address is invalid, and AddressRefused if it is a local path outside `roots`.
    """
    text = text.strip()
    if package := package_address(text):
        return package
    if repository := parse_repository(text):
        require_web_address(repository.url)
        return SourceAddress("git", repository.url, repository.reference, repository.folder)
    if (written := local_path_of(text)) is not None:
        return _local_repository(allowed_path(project_root / given_path(written), roots))
    scheme = _URL_SCHEME.match(text)
    if scheme and scheme.group(1).lower() in ("http", "https"):
        require_web_address(text)
        return SourceAddress("website", normalise(text))
    if scheme and len(scheme.group(1)) > 1:  # a single letter before the colon is a Windows drive
        raise BadArgument(
            f"'{scheme.group(1)}:' addresses are not supported",
            hint="Give an http(s) URL, a git repository, a local path, pypi:NAME, npm:NAME or deps:.",
        )
    if not text:
        raise BadArgument("The address is empty", hint="Give an http(s) URL, a local path, pypi:NAME or npm:NAME.")
    path = allowed_path(project_root / given_path(text), roots)
    if not (path / ".git").exists() and path.is_dir() and find_local(path):  # the path itself is a bare repository
        return SourceAddress("git", path.as_posix())
    return SourceAddress("folder", path.as_posix())


def package_address(text: str) -> SourceAddress | None:
    """Return the parsed address of an installed package, or None if `text` is not a package address."""
    package = _PACKAGE_ADDRESS.match(text.strip())
    if package is None:
        return None
    kind, name = package.groups()
    return (
        SourceAddress("npm", f"npm:{name}") if kind == "npm" else SourceAddress("pypi", f"pypi:{normalised_name(name)}")
    )


def _local_repository(path: Path) -> SourceAddress:
    """Return the address of a local git repository; raise BadArgument if there is none at `path`."""
    if not path.is_dir() or find_local(path) is None:
        raise BadArgument(
            f"{visible_location(str(path))} is not a git repository",
            hint="Specify a folder by its path, without file:.",
        )
    return SourceAddress("git", path.as_posix())


@dataclass(frozen=True, slots=True)
class SourceOpener:
    """Opens documentation sources of every kind."""

    client: Callable[[Login | None], HttpClient]  # creates an HTTP client for a login
    apis: ApiCatalog
    parser: Callable[[], Parser]  # creates a parser for one crawl
    clones: Clones
    environments: tuple[Path, ...] = ()
    logins: Logins = NO_LOGINS
    monotonic: Callable[[], float] = time.monotonic

    def open(self, source: SourceRow, parser: Parser) -> Origin:
        """Return an opened source, from which a crawl can read pages."""
        match source.kind:
            case "website":
                client = self.client(self.logins.find(source.auth, source.url))
                return Website(source, client, self.apis, parser=parser, clock=self.monotonic)
            case "git":
                return self._repository(source)
            case "pypi":
                return PythonPackage(source, self.environments, parser)
            case "npm":
                return NpmPackage(source, parser)
            case "import":
                raise SourceError(
                    f"{source.name} was imported from a file", hint="Import a newer file with `deltos docs import`."
                )
            case _:
                return Folder(source, self.apis)

    def _repository(self, source: SourceRow) -> GitRepository:
        """Return the repository of a git source."""
        login = partial(self.logins.find, source.auth, source.url)
        return GitRepository(source, self.apis, CloneAccess(self.clones, login))

    def version_of(self, source: SourceRow) -> str:
        """Return the current version of a package or repository; for other sources, the version given by the user."""
        # Each crawl reads the same branch or tag as the first crawl.
        is_known = source.kind == "git" and source.generation
        if source.kind not in ("pypi", "npm", "git") or is_known:
            return source.version
        if source.kind == "git":
            return self.reference_of(source).version
        origin = self.open(source, self.parser())
        return origin.version if isinstance(origin, PythonPackage | NpmPackage) else source.version

    def reference_of(self, source: SourceRow) -> Reference:
        """Return the branch or tag of a repository source; this may send a request to the remote repository."""
        return self._repository(source).reference
