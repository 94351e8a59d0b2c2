"""Links from a code symbol to other domains: documentation, memory, commits and installed packages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from deltos.budget import truncate
from deltos.confinement import display_path
from deltos.domains.code.retrieve.line_scan import LiteralFinder, PatternFinder, ScanReport, scan
from deltos.domains.docs.model import PACKAGE_ADDRESSES
from deltos.domains.docs.search import DocsRequest
from deltos.domains.graph.model import Surroundings
from deltos.domains.graph.search import GraphSearch
from deltos.domains.history.commit_text import SHORT_HASH_CHARACTERS, headline
from deltos.domains.history.line_history import LineRange, commits_of_lines
from deltos.domains.history.state import limits_of
from deltos.domains.memory.core.model import format_id, title_of
from deltos.domains.memory.render import CHANGED_MARK
from deltos.domains.memory.search.search import snippet
from deltos.errors import BadRequest, NotFound, StoreError
from deltos.federation.providers import docs as docs_provider
from deltos.markup.text import fenced
from deltos.store.code import FileScope
from deltos.text.counts import counted
from deltos.text.identifiers import dotted
from deltos.text.mentions import mentions
from deltos.text.times import day

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from deltos.domains.docs.model import Passage
    from deltos.domains.history.line_history import LineCommits
    from deltos.federation.model import Domains
    from deltos.store.history import ChangedTogether
    from deltos.store.observations import Observation
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import ProjectIndex

_MAX_CANDIDATES = 20  # maximum number of search results to check for mentions of the symbol
_MAX_MENTIONS = 5  # maximum number of shown passages, and of shown observations
_MAX_FILES = 20
_MAX_COMMITS = 5
_MAX_RELATED = 2  # maximum number of related lines of each kind: commits, observations and passages
_MAX_WAIT_SECONDS = 0.3  # maximum time to wait for the indexing of commits
_MAX_CHANGED_TOGETHER = 8  # maximum number of listed files that often change together with a file
# A file is listed as changed together with another file if it is in at least one of four commits of that file.
_MIN_SHARE_DIVISOR = 4
_MAX_LINE_CHARACTERS = 120
_MAX_SIGNATURE_CHARACTERS = 1_500


@dataclass(frozen=True, slots=True)
class DomainLinks(Surroundings):
    """Finder of documentation, observations and commits about a code symbol, in the enabled toolsets."""

    domains: Domains
    toolsets: Collection[str]

    def mention_sections(self, name: str, root: Path) -> list[str]:
        """Return sections for `get_context` with documentation and observations that mention a symbol."""
        try:
            pages, rows = self.passages(name, root), self.observations(name, root)
            return [*_documentation_section(pages, name, root), *self._memory_section(rows, root)]
        except StoreError as problem:  # another domain's failure must not fail the graph's answer
            return [f"--- documentation and memory could not be read: {problem} ---"]

    def recent_commits(self, symbol: Symbol, root: Path) -> list[str]:
        """Return a section for `get_context` with the last commits that changed the lines of a symbol."""
        store = self._with_history(root).store
        lines = LineRange(symbol.line, symbol.end_line)
        found = commits_of_lines(store.history, root, symbol.path, lines, limit=_MAX_COMMITS)
        if not found.commits:
            return []
        of = f"the file{_whole_file_reason(found)}" if found.is_whole_file else "these lines"
        rows = [f"commit:{row.hash[:SHORT_HASH_CHARACTERS]} {headline(row)}" for row in found.commits]
        note = [f"({limits})"] if (limits := limits_of(store)) else []
        return ["\n".join([f"--- last commits of {of} ({len(rows)}, quoted) ---", *rows, *note])]

    def related_lines(self, symbol: Symbol, root: Path) -> list[str]:
        """Return one line for each recent commit, observation and documentation passage about a symbol."""
        lines = LineRange(symbol.line, symbol.end_line)
        try:
            history = self._with_history(root).store.history
            commits = commits_of_lines(history, root, symbol.path, lines, limit=_MAX_RELATED)
            rows, pages = self.observations(symbol.name, root), self.passages(symbol.name, root)
        except StoreError:  # another domain's failure must not fail the answer about code
            return []
        recent = () if commits.is_whole_file else commits.commits
        return [
            *(f"commit:{row.hash[:SHORT_HASH_CHARACTERS]} {headline(row)}" for row in recent),
            *self.observation_lines(rows[:_MAX_RELATED], root),
            *passage_lines(pages[:_MAX_RELATED], root),
        ]

    def usage_note(self, index: ProjectIndex, path: str, line: int) -> str:
        """Return a phrase with the number of references to the definition on a line, or an empty string."""
        search = GraphSearch(index.store, index.project.root)
        try:
            found = search.uses(search.target_on_line(f"{path}:{line}"))
        except NotFound:
            return ""
        rows = {(row.path, row.line) for row in (*found.certain, *found.aliased)}
        perhaps = {(row.path, row.line) for row in found.possible} - rows
        if not rows and not perhaps:
            return ""
        files = len({path for path, _ in rows})
        certain = (
            f"used in {counted(len(rows), 'place')} of {counted(files, 'file')}" if rows else "no certain references"
        )
        more = f", possibly in {len(perhaps)} more" if perhaps else ""
        hint = " (find_references lists them)" if "graph" in self.toolsets else ""
        return f"{certain}{more}{hint}"

    def alias_note(self, index: ProjectIndex, name: str) -> str:
        """Return a note about an import alias called `name`, or an empty string if there is none."""
        try:
            return GraphSearch(index.store, index.project.root).import_alias_note(name)
        except BadRequest:  # the text is too long for a name
            return ""

    def files_changed_with(self, path: str, root: Path) -> list[ChangedTogether]:
        """Return the files that were changed in at least a quarter of the commits of `path`, most frequent first."""
        found = self._with_history(root).store.history.files_changed_with(path, limit=_MAX_FILES)
        return [each for each in found if each.together * _MIN_SHARE_DIVISOR >= each.changes][:_MAX_CHANGED_TOGETHER]

    def _with_history(self, root: Path) -> ProjectIndex:
        """Wait briefly for the update of a project's commit history, and return the project's index."""
        index = self.domains.projects.index_of(root)
        index.catch_up(wait_seconds=_MAX_WAIT_SECONDS)
        return index

    def passages(self, name: str, root: Path) -> list[Passage]:
        """Return documentation passages that mention a symbol, best first, excluding those of other projects."""
        if "docs" not in self.toolsets:
            return []
        asked = DocsRequest(name, limit=_MAX_CANDIDATES, with_apis=False, roots=(root,))
        found = self.domains.docs.search.search(asked)
        return [each for each in found.passages if mentions(each.text, name)][:_MAX_MENTIONS]

    def observations(self, name: str, root: Path) -> list[Observation]:
        """Return observations of the project that mention a symbol, best first."""
        if "memory" not in self.toolsets:
            return []
        found = self.domains.memory.search(
            name, self.domains.project_with_stored_identity(root).project_id, limit=_MAX_CANDIDATES
        )
        rows = [hit.observation for hit in found.hits]
        return [row for row in rows if name in row.symbols or mentions(row.text, name)][:_MAX_MENTIONS]

    def observation_lines(self, rows: Sequence[Observation], root: Path) -> list[str]:
        """Return one line for each observation, with a mark if the described code has changed since."""
        if "memory" not in self.toolsets:
            return []
        project = self.domains.project_with_stored_identity(root)
        changed = self.domains.memory.changed_places(list(rows), {project.project_id: project.root})
        return [
            f"{format_id(row.id)} {day(row.created_at)} {row.kind}: "
            + title_of(" ".join(row.text.split()), characters=_MAX_LINE_CHARACTERS)
            + (f" {CHANGED_MARK}" if row.place in changed else "")
            for row in rows
        ]

    def observation_texts(self, name: str, root: Path) -> list[str]:
        """Return one line for each observation that mentions a symbol, or an empty list if memory cannot be read."""
        try:
            return self.observation_lines(self.observations(name, root), root)
        except StoreError:  # another domain's failure must not fail the answer about code
            return []

    def package_sections(self, symbol: str, root: Path) -> list[str]:
        """Return sections with the documentation of an installed package's symbol and the files that may use it."""
        name = dotted(symbol.strip().removesuffix("()"))
        try:
            origin, text = self._find_documentation(name, root)
        except StoreError:  # without documentation, the caller reports an unknown symbol
            return []
        if not text:
            return []
        quoted = fenced(truncate(text, characters=_MAX_SIGNATURE_CHARACTERS))
        signature = f"--- documented in {origin} (quoted) ---\n{quoted}"
        return [signature, *self._name_matches(name, root)]

    def _find_documentation(self, name: str, root: Path) -> tuple[str, str]:
        """Return the location and text of a package symbol's documentation in the index, or empty strings."""
        for passage in self._package_passages(name, root):
            if any(anchor == name or anchor.endswith(f".{name}") for anchor in passage.anchors):
                return display_path(passage.url, root), self._full_section(passage)
        return "", ""

    def _full_section(self, passage: Passage) -> str:
        """Return the text of a passage and of the passages that continue it, up to the length limit."""
        text, at = passage.text, passage
        while at.next_passage_id and len(text) <= _MAX_SIGNATURE_CHARACTERS:
            following = self.domains.docs.search.passage(int(at.next_passage_id.removeprefix(docs_provider.PREFIX)))
            if following is None:
                break
            text, at = f"{text}\n\n{following.text}", following
        return text

    def _package_passages(self, name: str, root: Path) -> list[Passage]:
        """Return passages about a name from the documentation of the project's packages."""
        if "docs" not in self.toolsets:
            return []
        found = self.domains.docs.search.search(
            DocsRequest(name, limit=_MAX_CANDIDATES, with_apis=False, roots=(root,))
        )
        return [each for each in found.passages if each.url.startswith(PACKAGE_ADDRESSES)]

    def _name_matches(self, name: str, root: Path) -> list[str]:
        """Return a section with the files that contain both the package name and the symbol."""
        # References to packages are found by name, because the code graph does not resolve references to packages.
        package, _, last = name.partition(".")[0], "", name.rpartition(".")[2]
        index = self.domains.projects.index_of(root)
        paths = [path for _, path in index.store.code.paths(FileScope())]
        naming = [
            found.path for found in scan(index.project.root, paths, LiteralFinder(package), ScanReport(), index.store)
        ]
        places = scan(index.project.root, naming, PatternFinder(rf"\b{re.escape(last)}\b"), ScanReport(), index.store)
        lines = [f"{found.path}: {','.join(map(str, found.lines[:12]))}" for found in islice(places, _MAX_FILES)]
        return ["\n".join(["--- possible uses, by name ---", *lines])] if lines else []

    def _memory_section(self, rows: Sequence[Observation], root: Path) -> Iterator[str]:
        if rows:
            yield "\n".join([f"--- memory ({len(rows)}, quoted) ---", *self.observation_lines(rows, root)])


def passage_lines(passages: Sequence[Passage], root: Path) -> list[str]:
    """Return one line for each passage: id, heading and URL."""
    return [
        f"{each.id} {docs_provider.title_of(each)[:_MAX_LINE_CHARACTERS]} ({display_path(each.citation, root)})"
        for each in passages
    ]


def _whole_file_reason(found: LineCommits) -> str:
    """Return the reason for listing all commits of a file instead of only the commits that changed a symbol."""
    if not found.commits_read:  # git is not installed, or the lines were never committed
        return "; commits of these lines could not be determined"
    return f"; none of its last {found.commits_read} changed these lines"


def _documentation_section(passages: Sequence[Passage], name: str, root: Path) -> Iterator[str]:
    if not passages:
        return
    lines = [f"--- documentation ({len(passages)}, quoted) ---"]
    for passage, line in zip(passages, passage_lines(passages, root), strict=True):
        lines += [line, f"  {snippet(passage.text, [(name.lower(),)])}"]
    yield "\n".join(lines)
