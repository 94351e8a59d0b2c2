"""Handlers and client calls in the answers of `get_api_endpoints` and of graph tools called with `METHOD /path`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.budget import characters_for, truncate
from deltos.domains.apis.endpoints import MAX_FULL_OPERATIONS, Filter, select
from deltos.domains.graph.search import GraphSearch
from deltos.errors import DeltosError, NotFound
from deltos.federation.contracts.links import parse_key
from deltos.federation.contracts.render import contract_lines
from deltos.text.counts import counted
from deltos.text.similar_names import similar_names
from deltos.tool import Answer
from deltos.workspace.project_names import shortest_names
from deltos.workspace.project_selection import answer_on_fresh, related_projects
from deltos.workspace.project_selection import select as select_projects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.apis.domain import Apis
    from deltos.federation.contracts.links import ContractMap
    from deltos.federation.contracts.model import CodeEndpoint, Contract
    from deltos.federation.contracts.workspace import WorkspaceContracts
    from deltos.tool import Call, Tool
    from deltos.workspace.project_index import ProjectIndex
    from deltos.workspace.projects import Projects

_MAX_CALLS_SHOWN = 5  # maximum number of client calls shown per operation
_MAX_CALLERS = 20  # maximum number of client calls whose dependants are listed
_MAX_DEPENDANTS = 15
_MAX_SUGGESTIONS = 3
_HOW_TO_FIND_HANDLERS = 'Handlers and client calls: find_references with symbol="METHOD /path".'
_TOOLS_FOR_ENDPOINTS = frozenset({"find_references", "get_impact", "get_context"})
_TOOLS_FOR_OPERATIONS = frozenset({"get_impact", "get_context"})


@dataclass(frozen=True, slots=True)
class ContractTools:
    """Extends tools, so that their answers also show handlers and client calls of API endpoints."""

    projects: Projects
    contracts: WorkspaceContracts
    apis: Callable[[], Apis]
    token_budget: int

    def extend(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """Return all tools; the answers of some also show handlers and client calls."""
        return tuple(self._extended(tool) for tool in tools)

    def _extended(self, tool: Tool) -> Tool:
        if tool.name in _TOOLS_FOR_ENDPOINTS:
            return replace(tool, run=self._with_endpoint(tool))
        return replace(tool, run=self._with_links(tool)) if tool.name == "get_api_endpoints" else tool

    def _with_endpoint(self, tool: Tool) -> Callable[[Call], Answer]:
        def run(call: Call) -> Answer:
            key = parse_key(call.text("symbol"))
            if key is None:
                answer = tool.run(call)
                return self._with_operations(call, answer) if tool.name in _TOOLS_FOR_OPERATIONS else answer
            return self._answer(call, *key, with_dependants=tool.name == "get_impact")

        return run

    def _answer(self, call: Call, method: str, path: str, *, with_dependants: bool) -> Answer:
        """Return the handlers and client calls of an endpoint in the selected projects and their workspaces."""
        opened = self._opened(call)
        found = self.contracts.contracts([(name, index) for name, index in opened])
        matching = found.matching(method, path)
        if not matching:
            raise _not_found(found, method, path)
        lines = []
        for each in matching:
            apis = ", ".join(dict.fromkeys(one.api for one in each.operations))
            lines += [
                f"{each.key}{f' — described by {apis}' if apis else ''}",
                *(f"  {one}" for one in contract_lines(each)),
            ]
            if not each.handlers:
                lines.append("  No handler was found in the code of these projects.")
            lines += self._dependants(opened, each) if with_dependants else []
        text = "\n".join(lines)
        shown = truncate(text, characters=characters_for(self.token_budget))
        return Answer(shown, truncated=len(shown) < len(text), original_characters=len(text))

    def _with_operations(self, call: Call, answer: Answer) -> Answer:
        """Append the API operations that a symbol handles or calls, unless this requires a long scan."""
        name = call.text("symbol").rpartition(".")[2]
        opened = self._opened(call) if name.isidentifier() else []
        if not opened or not self.contracts.is_quick([index for _, index in opened]):
            return answer
        lines = []
        for each in self.contracts.contracts(opened).contracts:
            own = [
                link for link in (*each.handlers, *each.calls)
                if link.endpoint.function.rpartition(".")[2] == name and _is_in(answer.text, link.endpoint)
            ]  # fmt: skip
            lines += [each.key, *(f"  {one}" for one in contract_lines(each, calls=_MAX_CALLS_SHOWN))] if own else []
        if not lines:
            return answer
        text = "\n".join((answer.text, "--- API operations ---", *lines))
        added = len(text) - len(answer.text)
        return replace(answer, text=text, original_characters=answer.original_characters + added)

    def _opened(self, call: Call) -> list[tuple[str, ProjectIndex]]:
        """Return the updated indexes and the names of the requested projects and of projects in the same workspaces."""
        roots = call.session.project_roots()
        selection = select_projects(self.projects, call.text("project_path"), roots, folders_first=True)
        fresh = answer_on_fresh(selection, call.progress, lambda fresh: fresh)
        own = [each.index for each in fresh.ready]
        related = related_projects(self.projects, {index.project.root for index in own}, roots)
        indexes = [*own, *(each.index for each in related)]
        names = shortest_names([index.project.root for index in indexes])
        return [(names[index.project.root] if len(indexes) > 1 else "", index) for index in indexes]

    def _dependants(self, opened: Sequence[tuple[str, ProjectIndex]], contract: Contract) -> list[str]:
        """Return lines that list the functions affected through the client calls of a contract."""
        indexes = dict(opened)
        lines: list[str] = []
        for link in contract.calls[:_MAX_CALLERS]:
            rows = _dependants_of(indexes[link.endpoint.place.project], link.endpoint)
            label = f"{link.endpoint.place.project}/" if link.endpoint.place.project else ""
            lines += [f"    {label}{row}" for row in rows]
        return ["  affected through these calls:", *dict.fromkeys(lines)] if lines else []

    def _with_links(self, tool: Tool) -> Callable[[Call], Answer]:
        def run(call: Call) -> Answer:
            answer = tool.run(call)
            try:
                lines = self._operation_lines(call)
            except DeltosError:  # the code of the project cannot be read, but the API description is still valid
                return answer
            if not lines:
                return answer
            text = "\n".join((answer.text, *lines))
            return replace(
                answer, text=text, original_characters=answer.original_characters + len(text) - len(answer.text)
            )

        return run

    def _operation_lines(self, call: Call) -> list[str]:
        """Return lines with the handlers and client calls of the operations that an answer shows in full."""
        roots = [
            root for root in call.session.project_roots() if self.projects.stores.roots_with_store([root.resolve()])
        ]
        indexes = [index for root in roots if (index := self.projects.index_of(root)).is_complete]
        requested = {index.project.root for index in indexes}
        indexes += [each.index for each in related_projects(self.projects, requested, roots)] if indexes else []
        keys = self._shown_operations(call) if indexes else set()
        if not keys:
            return []
        if not self.contracts.is_quick(indexes):
            return [_HOW_TO_FIND_HANDLERS]
        names = shortest_names([index.project.root for index in indexes])
        named = [(names[index.project.root] if len(indexes) > 1 else "", index) for index in indexes]
        found = self.contracts.contracts(named, call.text("api_name"))
        lines = []
        for each in found.contracts:
            if any((one.method, one.path) in keys for one in each.operations) and (each.handlers or each.calls):
                lines += [f"{each.key} in code:", *contract_lines(each, calls=_MAX_CALLS_SHOWN)]
        return lines

    def _shown_operations(self, call: Call) -> set[tuple[str, str]]:
        wanted = Filter(call.text("tag"), call.text("path"), call.text("method"))
        library = self.apis().library
        units = [
            unit for row in library.group(call.text("api_name"))
            for unit in select(library.store.units(row.id, ("operation",)), wanted)
        ]  # fmt: skip
        return {(unit.method, unit.path) for unit in units} if len(units) <= MAX_FULL_OPERATIONS else set()


def _dependants_of(index: ProjectIndex, endpoint: CodeEndpoint) -> list[str]:
    """Return the definitions that depend on the function that contains a client call, nearest first."""
    search = GraphSearch(index.store, index.project.root)
    place = endpoint.place
    around = [row for row in search.reader.symbols_in(place.path) if row.line <= place.line <= row.end_line]
    if not around:
        return []
    impact = search.impact(search.target_of(min(around, key=lambda row: row.end_line - row.line)))
    rows = [row for level in impact.levels for row in level]
    return [f"{row.path}:{row.line} {row.label}" for row in rows[:_MAX_DEPENDANTS]]


def _is_in(text: str, endpoint: CodeEndpoint) -> bool:
    """Whether the text of an answer lists the function of an endpoint as a definition."""
    name = endpoint.function.rpartition(".")[2]
    return any(
        f"{endpoint.place.path}:" in line and name in line for line in text.splitlines() if line.startswith("def ")
    )


def _not_found(found: ContractMap, method: str, path: str) -> NotFound:
    """Return an error for an unknown endpoint, which suggests similar endpoints."""
    every = [each.key for each in found.contracts]
    near = similar_names(f"{method} {path}", every, limit=_MAX_SUGGESTIONS)
    hint = f"Did you mean: {', '.join(near)}?" if near else "Use `deltos api links` to list the endpoints."
    unknown = [each for each in found.unknown_calls if each.path == path]
    calls = f" (but {counted(len(unknown), 'client call')})" if unknown else ""
    return NotFound(f"No operation or handler '{method} {path}'{calls}", hint=hint)
