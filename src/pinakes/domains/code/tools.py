"""The code toolset: index_repository, search_code, set_working_directory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pinakes.domains.code.render import render_hits
from pinakes.domains.code.scope import scope_of
from pinakes.domains.code.search import CodeSearch
from pinakes.errors import BadArgument
from pinakes.store.code import CodeStore
from pinakes.tool import Answer, Call, JsonObject, Parameter, Tool

if TYPE_CHECKING:
    from pinakes.workspace.project_index import ProjectIndex
    from pinakes.workspace.projects import Projects

_PROJECT_ID = Parameter("project_id", "string", "Project to use; default: the session's.", default="")
_CONCISE = Parameter("concise", "boolean", "Answer at least 50 % shorter.", default=False)


def code_tools(projects: Projects, *, token_budget: int) -> tuple[Tool, ...]:
    """The tools of the code toolset, bound to the projects they work on."""
    tools = _CodeTools(projects, token_budget)
    return (
        Tool(
            "index_repository",
            "code",
            "Index a repository",
            "Index a repository, or bring its index up to date; only changed files are parsed. "
            "search_code does this by itself on first use.",
            (
                Parameter(
                    "repo_path", "string", "Folder to index; default: the session's project.", default=""
                ),
                Parameter(
                    "project_id", "string", "Id of an already indexed project instead of a path.", default=""
                ),
                Parameter("force_reindex", "boolean", "Parse every file again.", default=False),
                Parameter("concise", "boolean", "Answer with the counts only.", default=False),
            ),
            tools.index_repository,
            read_only=False,
        ),
        Tool(
            "search_code",
            "code",
            "Search code",
            'Find code by meaning, by name or exactly: plain words, a symbol, a "quoted string" or a /regex/. '
            "Answers with the best chunks as path:start-end symbol and code.",
            (
                Parameter(
                    "query",
                    "string",
                    'What the code does, a name, a "quoted text" or a /regular expression/.',
                ),
                _PROJECT_ID,
                Parameter(
                    "file_type",
                    "string",
                    "Only such files: 'py', '.ts', 'python', or several: 'ts,tsx'.",
                    default="",
                ),
                Parameter("directory", "string", "Only below this folder of the project.", default=""),
                Parameter("limit", "integer", "How many results (1-50).", default=10, minimum=1, maximum=50),
                _CONCISE,
            ),
            tools.search_code,
        ),
        Tool(
            "set_working_directory",
            "code",
            "Set the working directory",
            "Make a folder this session's default project for all tools.",
            (Parameter("directory", "string", "Folder of the project."),),
            tools.set_working_directory,
            read_only=False,
        ),
    )


class _CodeTools:
    def __init__(self, projects: Projects, token_budget: int) -> None:
        self._projects = projects
        self._token_budget = token_budget

    def index_repository(self, call: Call) -> Answer:
        """Index now, however long it takes, reporting progress."""
        started = time.monotonic()
        index = self._chosen(call)
        before = CodeStore(index.database).chunk_count()
        report = index.index(progress=call.progress, force=call.flag("force_reindex"))
        totals = index.store.totals()
        chunks = CodeStore(index.database).chunk_count()
        created = chunks if report.files_written == totals.files else max(0, chunks - before)
        answer: JsonObject = {
            "repository_id": index.database.path.stem,
            "project_id": index.project.project_id,
            "status": "indexed" if report.written or report.removed else "up_to_date",
            "files_indexed": report.files_written,
            "files_skipped": report.files_skipped,
            "chunks_created": created,
            "languages": totals.languages,
            "errors": report.errors[:20],
            "duration_ms": int((time.monotonic() - started) * 1000),
            "database_name": index.database.path.name,
        }
        text = _index_text(
            answer, totals.files, chunks, report.skipped_by_reason, concise=call.flag("concise")
        )
        if call.flag("concise"):
            answer = {key: answer[key] for key in _CONCISE_KEYS}
        if index.database.set_aside:
            text = (
                f"Note: the old index was damaged and was moved to {index.database.set_aside.name}.\n{text}"
            )
        return Answer(text, answer)

    def search_code(self, call: Call) -> Answer:
        """Bring the index up to date, then search it."""
        started = time.monotonic()
        index = self._projects.find(call.text("project_id"), call.session.project_root())
        scope = scope_of(index.project.root, call.text("directory"), call.text("file_type"))
        freshness = index.freshen(progress=call.progress)
        search = CodeSearch(CodeStore(index.database), index.project.root)
        answer = search.search(call.text("query"), scope, limit=call.number("limit"))
        return render_hits(
            answer.with_notes(freshness.notes),
            query=call.text("query"),
            project_id=index.project.project_id,
            database_name=index.database.path.name,
            latency_ms=int((time.monotonic() - started) * 1000),
            concise=call.flag("concise"),
            token_budget=self._token_budget,
        )

    def set_working_directory(self, call: Call) -> Answer:
        """Check the folder, then remember it for the session."""
        index = self._projects.at(_folder(call.text("directory"), call.session.project_root()))
        call.session.set_project_root(index.project.root)
        state = "indexed" if index.store.meta("complete") else "not indexed yet; the first search does it"
        text = f"Working directory: {index.project.root} (project {index.project.project_id}, {state})"
        return Answer(text, {"directory": str(index.project.root), "project_id": index.project.project_id})

    def _chosen(self, call: Call) -> ProjectIndex:
        if path := call.text("repo_path"):
            return self._projects.at(_folder(path, call.session.project_root()))
        return self._projects.find(call.text("project_id"), call.session.project_root())


_CONCISE_KEYS = ("project_id", "status", "files_indexed", "files_skipped", "chunks_created", "duration_ms")


def _folder(text: str, base: Path) -> Path:
    if not text.strip() or "\0" in text:
        raise BadArgument("The path is empty or invalid", hint="Give the path of a folder.")
    return base / Path(text).expanduser()


def _index_text(
    answer: JsonObject, files: int, chunks: int, skipped: dict[str, int], *, concise: bool
) -> str:
    first = (
        f"{answer['status']}: {answer['files_indexed']} files parsed in {answer['duration_ms']} ms; "
        f"the index has {files} files, {chunks} chunks"
    )
    if concise:
        return first
    lines = [first, f"project {answer['project_id']}"]
    if answer["languages"]:
        lines.append(
            "languages: " + ", ".join(f"{name} {count}" for name, count in answer["languages"].items())
        )
    if skipped:
        lines.append(
            "skipped: " + ", ".join(f"{reason} {count}" for reason, count in sorted(skipped.items()))
        )
    lines += [f"error: {error}" for error in answer["errors"]]
    return "\n".join(lines)
