"""What a user points at: which kind of source an address is, and how each kind is opened."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deltos.domains.docs.folder import Folder
from deltos.domains.docs.installed import same_name
from deltos.domains.docs.node_package import NpmPackage
from deltos.domains.docs.python_package import PythonPackage
from deltos.domains.docs.website import Website
from deltos.errors import BadArgument
from deltos.fetch.address import require_web_address
from deltos.fetch.files import allowed_path
from deltos.fetch.url import normalise
from deltos.files import given_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deltos.domains.docs.model import ApiCatalog, Origin
    from deltos.fetch.http import HttpClient
    from deltos.guarded import Parser
    from deltos.store.documents import SourceRow

Kind = Literal["website", "folder", "pypi", "npm"]

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+):")
_PACKAGE = re.compile(r"^(pypi|npm):(@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)$")


@dataclass(frozen=True, slots=True)
class Address:
    """An understood address: the kind of source and its one form."""

    kind: Kind
    url: str


def parse_address(text: str, *, project_root: Path, roots: Sequence[Path]) -> Address:
    """What `text` points at; refuses what cannot be a source, and local paths outside of `roots`."""
    text = text.strip()
    if package := package_address(text):
        return package
    scheme = _SCHEME.match(text)
    if scheme and scheme.group(1).lower() in ("http", "https"):
        require_web_address(text)
        return Address("website", normalise(text))
    if scheme and len(scheme.group(1)) > 1:  # one letter is a drive
        raise BadArgument(
            f"'{scheme.group(1)}:' addresses are not read",
            hint="Give an http(s) address, a local path, pypi:NAME, npm:NAME or deps:.",
        )
    if not text:
        raise BadArgument("The address is empty", hint="Give an http(s) address, a local path, pypi:NAME or npm:NAME.")
    path = allowed_path(project_root / given_path(text), roots)
    return Address("folder", path.as_posix())


def package_address(text: str) -> Address | None:
    """The installed package that `text` names; None when it names something else."""
    package = _PACKAGE.match(text.strip())
    if package is None:
        return None
    kind, name = package.groups()
    return Address("npm", f"npm:{name}") if kind == "npm" else Address("pypi", f"pypi:{same_name(name)}")


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens sources of every kind."""

    client: Callable[[], HttpClient]
    apis: ApiCatalog
    parser: Callable[[], Parser]  # one for each crawl
    environments: tuple[Path, ...] = ()
    monotonic: Callable[[], float] = time.monotonic

    def open(self, source: SourceRow, parser: Parser) -> Origin:
        """The origin that reads `source`."""
        match source.kind:
            case "website":
                return Website(source, self.client(), self.apis, parser=parser, clock=self.monotonic)
            case "pypi":
                return PythonPackage(source, self.environments, parser)
            case "npm":
                return NpmPackage(source, parser)
            case _:
                return Folder(source, self.apis)

    def version_of(self, source: SourceRow) -> str:
        """The version that an installed package has now; what the user said for everything else."""
        if source.kind not in ("pypi", "npm"):
            return source.version
        origin = self.open(source, self.parser())
        return origin.version if isinstance(origin, PythonPackage | NpmPackage) else source.version
