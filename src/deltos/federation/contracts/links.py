"""Links from operations in API descriptions to their handlers and client calls in one or several projects."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.federation.contracts.model import ANY_METHOD, Contract, ContractLink
from deltos.federation.contracts.paths import PARAMETER, is_public_host, match_paths, shape, template

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.federation.contracts.model import CodeEndpoint, DescribedOperation

_HTTP_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", ANY_METHOD})
# Methods whose path may lack the leading slash.
_NAMED_METHODS = frozenset({"QUERY", "MUTATION", "SUBSCRIPTION", "RPC", "MESSAGE"})


@dataclass(frozen=True, slots=True)
class ContractMap:
    """All contracts of the given projects, and the client calls that match no operation or handler."""

    contracts: tuple[Contract, ...]
    unknown_calls: tuple[CodeEndpoint, ...] = ()
    has_operations: bool = False
    external_calls: int = 0  # number of client calls to public hosts that no API description lists

    @property
    def without_handler(self) -> list[Contract]:
        """Operations in API descriptions that no route in the code implements."""
        return [each for each in self.contracts if each.operations and not each.handlers]

    @property
    def without_operation(self) -> list[Contract]:
        """Routes in the code that no API description contains. Empty if there are no API descriptions."""
        return [each for each in self.contracts if self.has_operations and not each.operations and each.handlers]

    def matching(self, method: str, path: str) -> list[Contract]:
        """Return the contracts that match a method and path. An empty method matches all methods."""
        wanted = shape(path)
        same = [each for each in self.contracts if is_same_method(method or ANY_METHOD, each.method)]
        exact = [each for each in same if shape(each.path) == wanted]
        return exact or [each for each in same if match_paths(each.path, path)]


def parse_key(text: str) -> tuple[str, str] | None:
    """Split a text such as `POST /orders/{id}` into method and path, or return None if the format differs."""
    method, _, path = text.strip().partition(" ")
    path = path.strip()
    method = method.upper()
    is_path = path.startswith("/") if method in _HTTP_METHODS else bool(path) and method in _NAMED_METHODS
    if is_path and " " not in path:
        return method, template(path)
    return None


def is_same_method(one: str, other: str) -> bool:
    """Whether two HTTP methods match. ANY matches all methods."""
    return ANY_METHOD in (one, other) or one == other


def link_contracts(operations: Sequence[DescribedOperation], endpoints: Iterable[CodeEndpoint]) -> ContractMap:
    """Connect operations, routes and client calls by method and path."""
    linker = _Linker(operations)
    calls = []
    for each in endpoints:
        linker.add_route(each) if each.side == "server" else calls.append(each)
    hosts = {host for each in operations for host in each.hosts}
    own = [each for each in calls if not is_public_host(each.host) or each.host in hosts]
    unknown = [each for each in own if not linker.add_call(each)]
    return ContractMap(tuple(linker.contracts()), tuple(unknown), bool(operations), len(calls) - len(own))


class _Entry:
    """A contract under construction, to which operations, handlers and client calls are added."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.operations: list[DescribedOperation] = []
        self.handlers: list[ContractLink] = []
        self.calls: list[ContractLink] = []

    @property
    def bases(self) -> tuple[str, ...]:
        """Base paths of the servers in the API descriptions."""
        return tuple(dict.fromkeys(base for each in self.operations for base in each.bases))


class _Linker:
    """Matches endpoints with contracts. Few are compared, because both are grouped by the last word of the path."""

    def __init__(self, operations: Sequence[DescribedOperation]) -> None:
        self._entries: list[_Entry] = []
        self._by_word: dict[str, list[_Entry]] = defaultdict(list)
        for each in operations:
            path = template(each.path)
            entry = next(
                (one for one in self._candidates(path) if one.method == each.method and shape(one.path) == shape(path)),
                None,
            )
            entry = entry or self._add(each.method, path)
            entry.operations.append(each)

    def _add(self, method: str, path: str) -> _Entry:
        entry = _Entry(method, path)
        self._entries.append(entry)
        for word in _words(path):
            self._by_word[word].append(entry)
        return entry

    def _candidates(self, path: str) -> list[_Entry]:
        found: dict[int, _Entry] = {}
        for word in _words(path):
            found |= {id(each): each for each in self._by_word[word]}
        return list(found.values())

    def add_route(self, endpoint: CodeEndpoint) -> None:
        """Link a route to the operations that it implements, or add a contract for an undescribed route."""
        matches = self._matches(endpoint)
        for entry, rule, certain in matches:
            link = ContractLink(endpoint, f"{endpoint.framework} route, {rule}", certain and endpoint.certain)
            entry.handlers.append(link)
        if not matches:
            entry = self._add(endpoint.method, endpoint.path)
            entry.handlers.append(ContractLink(endpoint, f"{endpoint.framework} route", endpoint.certain))

    def add_call(self, endpoint: CodeEndpoint) -> bool:
        """Link a client call to the operations or routes that it calls, and return whether there are any."""
        matches = self._matches(endpoint)
        for entry, rule, certain in matches:
            link = ContractLink(
                endpoint, f"{endpoint.framework} call, {rule}", certain and endpoint.certain and len(matches) == 1
            )
            entry.calls.append(link)
        return bool(matches)

    def _matches(self, endpoint: CodeEndpoint) -> list[tuple[_Entry, str, bool]]:
        """Return the contracts that match an endpoint: only exact matches if there are any."""
        found = []
        for entry in self._candidates(endpoint.path):
            if not is_same_method(entry.method, endpoint.method) or (entry.method == ANY_METHOD and entry.operations):
                continue
            if match := match_paths(entry.path, endpoint.path, entry.bases):
                is_same = not (endpoint.side == "server" and entry.handlers and not entry.operations) or match.certain
                if is_same and (endpoint.side == "client" or match.rule != "a value matches a parameter"):
                    found.append((entry, match.rule, match.certain))
        exact = [row for row in found if row[2]]
        if exact:
            return exact
        extended = [row for row in found if row[1].startswith("same path")]
        return extended if len({shape(row[0].path) for row in extended}) == 1 else [] if extended else found[:3]

    def contracts(self) -> list[Contract]:
        """Return all contracts, sorted by path and method."""
        rows = [
            Contract(
                each.method,
                each.path,
                tuple(each.operations),
                tuple(dict.fromkeys(each.handlers)),
                tuple(dict.fromkeys(each.calls)),
            )
            for each in self._entries
        ]
        return sorted(rows, key=lambda each: (each.path, each.method))


def _words(path: str) -> list[str]:
    """Return the literal segments of a path, or a placeholder if it has none."""
    return [each for each in shape(path) if "{" not in each] or [PARAMETER]
