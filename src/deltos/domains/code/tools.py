"""The MCP tools for code search: index_repository, search_code and set_working_directory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from deltos.confinement import visible_location
from deltos.domains.code.model import MAX_RESULTS
from deltos.domains.code.present.render import render_hits
from deltos.domains.code.project_search import scope_for_projects, search_projects
from deltos.errors import Cancelled, DeltosError
from deltos.files import given_path
from deltos.store.jobs import SET_ASIDE
from deltos.text.counts import counted
from deltos.tool import ANY_OBJECT, Answer, Call, JsonObject, Parameter, Tool, compact_json
from deltos.workspace.project_selection import (
    WORKSPACE_PREFIX,
    SelectedProject,
    Selection,
    is_readable_folder,
    select,
    unavailable_notes,
    visible_workspace,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deltos.domains.code.model import CodeAnswer
    from deltos.store.jobs import JobRow
    from deltos.store.project import ProjectTotals
    from deltos.workspace.project_index import ProjectIndex
    from deltos.workspace.projects import Projects
    from deltos.workspace.sync import SyncReport

_MAX_ERRORS = 20
_CONCISE_KEYS = ("project_id", "status", "files_indexed", "files_skipped", "chunks_created", "duration_ms")


CountUses = Callable[["ProjectIndex", str, int], str]
DescribeAlias = Callable[["ProjectIndex", str], str]


def _no_use_count(_index: ProjectIndex, _path: str, _line: int) -> str:
    return ""


def _no_alias_note(_index: ProjectIndex, _name: str) -> str:
    return ""


def code_tools(
    projects: Projects,
    *,
    token_budget: int,
    by_meaning: bool = True,
    uses: CountUses = _no_use_count,
    alias: DescribeAlias = _no_alias_note,
) -> tuple[Tool, ...]:
    """Return the code tools.

    `uses` returns a text with the number of uses of a definition. `alias` returns a text about a name that is defined
    only by an import.
    """
    tools = _CodeTools(projects, token_budget, by_meaning=by_meaning, uses=uses, alias=alias)
    return (
        _index_repository_tool(tools.index_repository),
        _search_code_tool(tools.search_code),
        _set_working_directory_tool(tools.set_working_directory),
    )


def _index_repository_tool(run: Callable[[Call], Answer]) -> Tool:
    return Tool(
        "index_repository",
        "code",
        "Index",
        "Index a project; searches do so themselves.",
        (
            Parameter("repo_path", "string", "Default: the session's project", default=""),
            Parameter("project_id", "string", "Or indexed projects, or a workspace", default=""),
            Parameter("force_reindex", "boolean", "Parse every file again", default=False),
            Parameter("concise", "boolean", "Counts only", default=False),
        ),
        run,
        read_only=False,
        output_schema=ANY_OBJECT,
    )


def _search_code_tool(run: Callable[[Call], Answer]) -> Tool:
    return Tool(
        "search_code",
        "code",
        "Search code",
        "Find code by meaning, by name, or exactly: a question, Class.method, an issue or trace, "
        '"a string", /regex/. For one known string, grep is as good.',
        (
            Parameter("query", "string", "What to find"),
            Parameter("limit", "integer", f"1-{MAX_RESULTS}", default=10, minimum=1, maximum=MAX_RESULTS),
            Parameter("concise", "boolean", "A line per hit", default=False),
            Parameter("directory", "string", "Only below this folder", default=""),
            Parameter("file_type", "array", "Such as py, or ts and tsx", default=[], takes_text=True),
            Parameter("project_id", "string", "Several: comma-separated, a workspace or *", default=""),
        ),
        run,
        output_schema=ANY_OBJECT,
        always_loaded=True,
    )


def _set_working_directory_tool(run: Callable[[Call], Answer]) -> Tool:
    return Tool(
        "set_working_directory",
        "code",
        "Set project",
        "Choose this session's project.",
        (Parameter("directory", "string", "Folder"),),
        run,
        read_only=False,
    )


class _CodeTools:
    """Implementations of the code tools."""

    def __init__(
        self, projects: Projects, token_budget: int, *, by_meaning: bool, uses: CountUses, alias: DescribeAlias
    ) -> None:
        self._projects = projects
        self._uses = uses
        self._alias = alias
        self._by_meaning = by_meaning
        self._token_budget = token_budget

    def index_repository(self, call: Call) -> Answer:
        """Index the selected projects, and report progress."""
        selection = self._select(call)
        if index := selection.single_index:
            data = self._index(index, call)
            return Answer(compact_json(data), data)
        results: list[JsonObject] = []
        for repository in selection.repositories:
            try:
                results.append({"repository": repository.name, **self._index(repository.index, call)})
            except Cancelled:
                raise
            except DeltosError as problem:
                results.append({"repository": repository.name, "status": "failed", "errors": [str(problem)]})
        data = {"repositories": results}
        if selection.unavailable:
            data["notes"] = list(unavailable_notes(selection.unavailable))
        return Answer(compact_json(data), data)

    def _index(self, index: ProjectIndex, call: Call) -> JsonObject:
        started = time.monotonic()
        if job := index.queue(force=call.flag("force_reindex")):
            return _queued_data(index, job)
        report = index.index(progress=call.progress, force=call.flag("force_reindex"))
        totals = index.store.totals()
        data = _index_data(index, report, totals, duration_ms=int((time.monotonic() - started) * 1000))
        if call.flag("concise"):
            data = {key: data[key] for key in _CONCISE_KEYS}
        if notes := [*report.notes, *_skip_notes(report)]:
            data = {"notes": notes, **data}
        return data

    def search_code(self, call: Call) -> Answer:
        """Update the index, then search it."""
        started = time.monotonic()
        selection = select(self._projects, call.text("project_id"), call.session.project_roots())
        alone = selection.single_index
        selection, scope = scope_for_projects(selection, call.text("directory"), ",".join(call.texts("file_type")))
        found = search_projects(
            selection,
            call.progress,
            lambda search: search.search(call.text("query"), scope, limit=call.number("limit")),
            by_meaning=self._by_meaning,
        )
        answer, ready = found.answer, {each.name: each.index for each in found.fresh.ready}
        first = answer.hits[0].repository if answer.hits else next(iter(ready))
        if ready[first].store.facts().is_complete:  # with an incomplete index, the number of uses would be too low
            answer = self._add_graph_note(ready[first], answer, project_name=first)
        return render_hits(
            answer.with_notes(found.fresh.notes_about("code")),
            query=call.text("query"),
            project_id=selection.name or ",".join(index.project.project_id for index in ready.values()),
            database_name=alone.store.name if alone is not None else "",
            latency_ms=int((time.monotonic() - started) * 1000),
            concise=call.flag("concise"),
            token_budget=self._token_budget,
            shown_before=call.excerpts.answering(call.text("query")),
            roots={name: index.project.root for name, index in ready.items()} if alone is None else None,
        )

    def _add_graph_note(self, index: ProjectIndex, answer: CodeAnswer, *, project_name: str = "") -> CodeAnswer:
        """Add a note with the number of uses of the definition, or with the definition to which an alias refers.

        `project_name` is set if several projects were searched.
        """
        first = answer.hits[0] if answer.hits else None
        is_name = answer.query.kind == "symbol"
        if is_name and (alias := self._alias(index, answer.query.text)):
            return answer.with_notes((f"{alias}.",))
        if first is None or not answer.is_definition or not first.head_line:
            return answer
        used = self._uses(index, first.path, first.head_line)
        within = f" in {project_name} alone" if project_name else ""
        return answer.with_notes((f"{first.symbol}{within}: {used}",)) if used else answer

    def set_working_directory(self, call: Call) -> Answer:
        """Set the session's default project to a folder, or its default projects to the folders of a workspace."""
        directory, base = call.text("directory"), call.session.project_root()
        if not is_readable_folder(base, directory) and visible_workspace(self._projects, directory):
            return self._set_workspace(directory, call)
        index = self._projects.index_of(_resolve_folder(directory, base))
        call.session.set_project_root(index.project.root)
        state = "indexed" if index.store.facts().is_complete else "not indexed yet; the first search indexes it"
        directory = visible_location(str(index.project.root))
        return Answer(f"Working directory: {directory} (project {index.project.project_id}, {state})")

    def _set_workspace(self, name: str, call: Call) -> Answer:
        selection = select(self._projects, f"{WORKSPACE_PREFIX}{name}", call.session.project_roots())
        call.session.set_project_roots([each.index.project.root for each in selection.repositories])
        lines = [f"Workspace {name}: {counted(len(selection.repositories), 'project')}"]
        for each in selection.repositories:
            state = "indexed" if each.index.is_complete else "not indexed yet; the first search indexes it"
            lines.append(f"- {each.name} {visible_location(str(each.index.project.root))}: {state}")
        return Answer("\n".join([*lines, *unavailable_notes(selection.unavailable)]))

    def _select(self, call: Call) -> Selection:
        if path := call.text("repo_path"):
            return Selection(
                (SelectedProject(self._projects.index_of(_resolve_folder(path, call.session.project_root()))),)
            )
        return select(self._projects, call.text("project_id"), call.session.project_roots())


def _resolve_folder(text: str, base: Path) -> Path:
    return base / given_path(text)


def _index_data(index: ProjectIndex, report: SyncReport, totals: ProjectTotals, *, duration_ms: int) -> JsonObject:
    return {
        "repository_id": index.store.name.removesuffix(".db"),
        "project_id": index.project.project_id,
        "status": "indexed" if report.written or report.removed else "up_to_date",
        "files_indexed": report.files_written,
        "files_skipped": report.files_skipped,
        "chunks_created": report.units_written["code"],
        "languages": totals.languages,
        "errors": report.errors[:_MAX_ERRORS],
        "duration_ms": duration_ms,
        "database_name": index.store.name,
    }


def _queued_data(index: ProjectIndex, job: JobRow) -> JsonObject:
    """Return the structured data for a project that is queued for a worker."""
    data: JsonObject = {"project_id": index.project.project_id, "status": "queued", "job": job.id}
    if job.state == SET_ASIDE:
        data |= {
            "status": "set aside",
            "errors": [job.reason],
            "notes": [f"Run `deltos jobs retry {job.id}` to try again."],
        }
    return data


def _skip_notes(report: SyncReport) -> list[str]:
    """Return notes with the number of skipped files by reason, and with the number of errors that are not listed."""
    skipped = report.skipped_by_reason
    notes = [f"skipped: {_format_counts(skipped)}"] if skipped else []
    more = len(report.errors) - _MAX_ERRORS
    return [*notes, f"and {more} more errors"] if more > 0 else notes


def _format_counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in numbers.items())
