"""What other domains know about a symbol: sections and observations that mention it, and packages that define it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from deltos.budget import cut
from deltos.confinement import shown_path
from deltos.domains.code.scan import LinePattern, Literal, ScanReport, scan
from deltos.domains.docs.model import PACKAGE_ADDRESSES
from deltos.domains.docs.python_package import find_definition
from deltos.domains.docs.search import DocsRequest
from deltos.domains.graph.search import GraphSearch
from deltos.domains.history.lines import LineRange, commits_of_lines
from deltos.domains.history.show import SHORT_HASH, headline
from deltos.domains.history.state import limits_of
from deltos.domains.memory.model import shown_id, title_of
from deltos.domains.memory.render import CHANGED_MARK
from deltos.domains.memory.search import snippet
from deltos.errors import BadRequest, NotFound, StoreError
from deltos.federation.belonging import Belonging
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
    from deltos.domains.history.lines import LineCommits
    from deltos.federation.model import Domains
    from deltos.store.history import ChangedTogether
    from deltos.store.observations import Observation
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_index import ProjectIndex

_ASKED_FOR = 20  # search finds words; of these only those stay that really mention the symbol
_SHOWN = 5
_FILES_SHOWN = 20
_COMMITS_SHOWN = 5
_WAIT_SECONDS = 0.3
_TOGETHER_SHOWN = 8
_LEAST_SHARE = 4  # files change together usually when every fourth commit of one touches the other
_LINE_CHARACTERS = 120
_SIGNATURE_CHARACTERS = 1_500


@dataclass(frozen=True, slots=True)
class Links:
    """Links from the graph to the domains that are enabled; those that are not give nothing."""

    domains: Domains
    toolsets: Collection[str]
    environments: tuple[Path, ...] = ()

    def mentions(self, name: str, root: Path) -> list[str]:
        """Sections for `get_context`: documentation and observations that mention a symbol."""
        try:
            pages, rows = self.passages(name, root), self.observations(name, root)
            return [*_documentation_section(pages, name, root), *self._memory_section(rows, root)]
        except StoreError as problem:  # theirs, not the graph's: the answer goes without
            return [f"--- documentation and memory could not be read: {problem} ---"]

    def past(self, symbol: Symbol, root: Path) -> list[str]:
        """A section for `get_context`: the last commits of a symbol's lines."""
        store = self._with_history(root).store
        lines = LineRange(symbol.line, symbol.end_line)
        found = commits_of_lines(store.history, root, symbol.path, lines, limit=_COMMITS_SHOWN)
        if not found.commits:
            return []
        of = f"the file{_why_of_file(found)}" if found.of_file else "these lines"
        rows = [f"commit:{row.hash[:SHORT_HASH]} {headline(row)}" for row in found.commits]
        note = [f"({limits})"] if (limits := limits_of(store)) else []
        return ["\n".join([f"--- last commits of {of} ({len(rows)}, quoted) ---", *rows, *note])]

    def uses(self, index: ProjectIndex, path: str, line: int) -> str:
        """How often what is defined on a line is used, and in how many files; empty where no use is known."""
        search = GraphSearch(index.store, index.project.root)
        try:
            found = search.uses(search.at(f"{path}:{line}"))
        except NotFound:
            return ""
        rows = {(row.path, row.line) for row in (*found.certain, *found.aliased)}
        perhaps = {(row.path, row.line) for row in found.possible} - rows
        if not rows and not perhaps:
            return ""
        files = len({path for path, _ in rows})
        certain = f"used in {counted(len(rows), 'place')} of {counted(files, 'file')}" if rows else "no certain use"
        more = f", perhaps in {len(perhaps)} more" if perhaps else ""
        told = " (find_references lists them)" if "graph" in self.toolsets else ""
        return f"{certain}{more}{told}"

    def alias(self, index: ProjectIndex, name: str) -> str:
        """What a name means that nothing is defined by and that imports give to something; else empty."""
        try:
            return GraphSearch(index.store, index.project.root).alias_note(name)
        except BadRequest:  # too long for a name
            return ""

    def changed_with(self, path: str, root: Path) -> list[ChangedTogether]:
        """The files that change in at least every fourth commit of a file, most often first."""
        found = self._with_history(root).store.history.changed_with(path, limit=_FILES_SHOWN)
        return [each for each in found if each.together * _LEAST_SHARE >= each.changes][:_TOGETHER_SHOWN]

    def _with_history(self, root: Path) -> ProjectIndex:
        """The project, its history brought up to date where that is quickly done."""
        index = self.domains.projects.at(root)
        index.catch_up(wait_seconds=_WAIT_SECONDS)
        return index

    def passages(self, name: str, root: Path) -> list[Passage]:
        """Passages of documentation that mention a symbol, best first; what lies in other projects is not asked."""
        if "docs" not in self.toolsets:
            return []
        without = frozenset(source.id for source in Belonging(self.domains, (root,)).foreign_sources())
        asked = DocsRequest(name, limit=_ASKED_FOR, with_apis=False, without=without)
        found = self.domains.docs.search.search(asked)
        return [each for each in found.passages if mentions(each.text, name)][:_SHOWN]

    def observations(self, name: str, root: Path) -> list[Observation]:
        """Observations of the project that mention a symbol, best first."""
        if "memory" not in self.toolsets:
            return []
        found = self.domains.memory.search(name, self.domains.remembered_project(root).project_id, limit=_ASKED_FOR)
        rows = [hit.observation for hit in found.hits]
        return [row for row in rows if name in row.symbols or mentions(row.text, name)][:_SHOWN]

    def observation_lines(self, rows: Sequence[Observation], root: Path) -> list[str]:
        """Observations, a line each, with whether their code has changed."""
        if "memory" not in self.toolsets:
            return []
        project = self.domains.remembered_project(root)
        changed = self.domains.memory.changed_places(list(rows), {project.project_id: project.root})
        return [
            f"{shown_id(row.id)} {day(row.created_at)} {row.kind}: "
            + title_of(" ".join(row.text.split()), characters=_LINE_CHARACTERS)
            + (f" {CHANGED_MARK}" if row.place in changed else "")
            for row in rows
        ]

    def outside(self, symbol: str, root: Path) -> list[str]:
        """Sections about a symbol of an installed package: its documented signature, and where its name is used."""
        name = dotted(symbol.strip().removesuffix("()"))
        try:
            origin, text = self._documented(name, root)
        except StoreError:  # then nothing is known of it, and the symbol stays unknown
            return []
        if not text:
            return []
        quoted = fenced(cut(text, characters=_SIGNATURE_CHARACTERS))
        signature = f"--- documented in {origin} (quoted) ---\n{quoted}"
        return [signature, *self._uses(name, root)]

    def _documented(self, name: str, root: Path) -> tuple[str, str]:
        """Where a name of a package is documented and what is said there: in the index, else in the package itself."""
        for passage in self._package_passages(name, root):
            if any(anchor == name or anchor.endswith(f".{name}") for anchor in passage.anchors):
                return shown_path(passage.url, root), self._section(passage)
        found = find_definition(name, root, self.environments, parser=self.domains.parser)
        return (found.origin, found.text) if found else ("", "")

    def _section(self, passage: Passage) -> str:
        """A passage with how its section goes on, as far as a signature may be long."""
        text, at = passage.text, passage
        while at.goes_on_in and len(text) <= _SIGNATURE_CHARACTERS:
            following = self.domains.docs.search.passage(int(at.goes_on_in.removeprefix(docs_provider.PREFIX)))
            if following is None:
                break
            text, at = f"{text}\n\n{following.text}", following
        return text

    def _package_passages(self, name: str, root: Path) -> list[Passage]:
        """What the packages of the project say of a name; those of other projects are none of its."""
        if "docs" not in self.toolsets:
            return []
        without = frozenset(source.id for source in Belonging(self.domains, (root,)).foreign_sources())
        found = self.domains.docs.search.search(DocsRequest(name, limit=_ASKED_FOR, with_apis=False, without=without))
        return [each for each in found.passages if each.url.startswith(PACKAGE_ADDRESSES)]

    def _uses(self, name: str, root: Path) -> list[str]:
        """Files that name both the package and the symbol: the graph follows no reference out of the project."""
        package, _, last = name.partition(".")[0], "", name.rpartition(".")[2]
        index = self.domains.projects.at(root)
        paths = [path for _, path in index.store.code.paths(FileScope())]
        naming = [found.path for found in scan(index.project.root, paths, Literal(package), ScanReport(), index.store)]
        places = scan(index.project.root, naming, LinePattern(rf"\b{re.escape(last)}\b"), ScanReport(), index.store)
        lines = [f"{found.path}: {','.join(map(str, found.lines[:12]))}" for found in islice(places, _FILES_SHOWN)]
        return ["\n".join(["--- possible uses, by name ---", *lines])] if lines else []

    def _memory_section(self, rows: Sequence[Observation], root: Path) -> Iterator[str]:
        if rows:
            yield "\n".join([f"--- memory ({len(rows)}, quoted) ---", *self.observation_lines(rows, root)])


def passage_lines(passages: Sequence[Passage], root: Path) -> list[str]:
    """Passages, a line each: id, heading and address."""
    return [
        f"{each.id} {docs_provider.title_of(each)[:_LINE_CHARACTERS]} ({shown_path(each.citation, root)})"
        for each in passages
    ]


def _why_of_file(found: LineCommits) -> str:
    """Why commits of the whole file stand for those of some lines."""
    if not found.read:  # no git, or lines that were never committed
        return "; which of them changed these lines is not known"
    return f"; none of its last {found.read} changed these lines"


def _documentation_section(passages: Sequence[Passage], name: str, root: Path) -> Iterator[str]:
    if not passages:
        return
    lines = [f"--- documentation ({len(passages)}, quoted) ---"]
    for passage, line in zip(passages, passage_lines(passages, root), strict=True):
        lines += [line, f"  {snippet(passage.text, [(name.lower(),)])}"]
    yield "\n".join(lines)
