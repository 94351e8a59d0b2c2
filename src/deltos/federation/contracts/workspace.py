"""API contracts of the selected projects, built from endpoints in code and from visible API descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.domains.apis.library import api_of, location_of
from deltos.federation.contracts.links import ContractMap, link_contracts
from deltos.federation.contracts.model import DescribedOperation
from deltos.federation.contracts.paths import url_host
from deltos.federation.contracts.scan import EndpointScanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from deltos.domains.apis.domain import Apis
    from deltos.domains.apis.library import ApiLibrary
    from deltos.workspace.project_index import ProjectIndex

_MAX_OPERATIONS = 50_000
_MESSAGE_METHODS = frozenset({"SEND", "RECEIVE", "PUBLISH", "SUBSCRIBE"})


class WorkspaceContracts:
    """Links between the code of projects and API descriptions. Endpoints are cached until an index changes."""

    def __init__(self, apis: Callable[[], Apis | None]) -> None:
        self._apis = apis
        self._scanner = EndpointScanner()

    def contracts(self, projects: Sequence[tuple[str, ProjectIndex]], api_name: str = "") -> ContractMap:
        """Return the contracts of named projects, with the operations of one API or of all visible APIs."""
        endpoints = [
            each.in_project(name) for name, index in projects for each in self._scanner.endpoints(index).endpoints
        ]
        apis = self._apis()
        roots = [index.project.root for _, index in projects]
        operations = describe_operations(apis.library, roots, api_name) if apis is not None else []
        return link_contracts(operations, endpoints)

    def is_quick(self, projects: Iterable[ProjectIndex]) -> bool:
        """Whether the contracts of all projects are available without a long scan."""
        return all(self._scanner.is_quick(index) for index in projects)

    def unparsed_files(self, projects: Iterable[ProjectIndex]) -> int:
        """Return the number of candidate files that could not be parsed."""
        return sum(self._scanner.endpoints(index).unparsed_files for index in projects)


def describe_operations(library: ApiLibrary, roots: Sequence[Path], api_name: str = "") -> list[DescribedOperation]:
    """Return the operations of the APIs that are visible to the projects at `roots`."""
    found: list[DescribedOperation] = []
    with library.store.snapshot():
        elsewhere = library.apis_of_other_projects(roots)
        rows = library.group(api_name) if api_name else [row for row in library.rows() if row.id not in elsewhere]
        for row in rows:
            api = api_of(row)
            bases = tuple(dict.fromkeys(_base_path(each) for each in api.overview.servers))
            hosts = tuple(dict.fromkeys(filter(None, map(url_host, api.overview.servers))))
            citation = location_of(api)
            for unit in library.store.units(row.id, ("operation",))[: _MAX_OPERATIONS - len(found)]:
                method, path = _as_in_code(unit.method, unit.path)
                found.append(DescribedOperation(row.name, method, path, bases, citation, hosts))
    return found


def _as_in_code(method: str, path: str) -> tuple[str, str]:
    """Convert an operation to the form of routes in code: gRPC without package, and one method for all messages."""
    if method == "RPC":
        service, _, name = path.rpartition("/")
        return method, f"/{service.rpartition('.')[2]}/{name}"
    return ("MESSAGE" if method in _MESSAGE_METHODS else method), path if path.startswith("/") else f"/{path}"


def _base_path(server: str) -> str:
    """Return the path of a server URL."""
    try:
        return urlsplit(server).path.rstrip("/") if "://" in server or server.startswith("/") else ""
    except ValueError:
        return ""
