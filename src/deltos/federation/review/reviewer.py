"""Review of a change in one project, which combines all kinds of findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.search import GraphSearch
from deltos.federation.review.affected import affected_symbols, reach
from deltos.federation.review.callers import find_broken_callers
from deltos.federation.review.inherited import without_inherited_breaks
from deltos.federation.review.model import REMOVED, SIGNATURE, Mention, Review
from deltos.federation.review.related import MAX_NAMES, mentions_in_project, missing_changes
from deltos.federation.review.symbol_changes import changed_symbols
from deltos.federation.review.tests_to_run import count_recommended, rank_tests, test_files_of
from deltos.workspace.versions import compare_versions, repository_to_compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from deltos.federation.review.model import SymbolChange
    from deltos.workspace.project_index import Freshness, ProjectIndex
    from deltos.workspace.versions import VersionComparison

HISTORY_SECONDS = 5.0  # maximum time to wait for the indexing of commits
MAX_OBSERVATIONS = 5


def no_observations(_name: str, _root: Path) -> Sequence[str]:
    """Return an empty list of observations, for a review without memory."""
    return ()


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Reviewer of changes in one project.

    `observations` returns one line for each observation that mentions a symbol.
    """

    index: ProjectIndex
    observations: Callable[[str, Path], Iterable[str]] = no_observations
    history_seconds: float = HISTORY_SECONDS

    def check(self, changes: str) -> None:
        """Raise BadArgument if the project is in no git repository or `changes` is invalid.

        Called before the index is updated, which may take long.
        """
        repository_to_compare(self.index.project.root, changes)

    def review(self, changes: str, freshness: Freshness) -> Review:
        """Return the review of `changes` (see `compare_versions`). The index must be up to date."""
        root, store = self.index.project.root, self.index.store
        compared = compare_versions(root, changes, self.index.listing())
        notes = [*compared.notes, *freshness.notes_about("graph"), *_working_tree_note(compared)]
        if not compared.files:
            return Review(compared.base, compared.head, (), notes=tuple(notes))
        notes += self.index.catch_up(wait_seconds=self.history_seconds)
        search = GraphSearch(store, root)
        symbols = without_inherited_breaks(search, changed_symbols(compared.files, self.index.workers))
        files = [file.name for file in compared.files]
        affected = affected_symbols(search, reach(search, symbols))
        test_files = test_files_of(search.reader.paths(), search.reader.languages())
        sources = [path for path in files if path not in test_files]
        tests = rank_tests(test_files, files, affected, store.history)
        return Review(
            compared.base,
            compared.head,
            tuple(files),
            tuple(symbols),
            tuple(find_broken_callers(search, symbols, self.index.workers)),
            tuple(row for row in affected if row.path not in test_files),
            tuple(tests),
            count_recommended(tests, len(test_files)),
            len(test_files),
            tuple(missing_changes(store, sources)),
            (*mentions_in_project(store, root, search.source, symbols, files), *self._observations(symbols, root)),
            tuple(notes),
        )

    def _observations(self, changes: Sequence[SymbolChange], root: Path) -> list[Mention]:
        """Return the observations that mention removed symbols or symbols with a changed signature."""
        names = {each.name: each.label for each in changes if each.kind in (REMOVED, SIGNATURE)}
        found: dict[str, Mention] = {}
        for name, label in list(names.items())[:MAX_NAMES]:
            for line in self.observations(name, root):
                place, _, text = line.partition(" ")
                found.setdefault(place, Mention(place, label, text, is_observation=True))
        return list(found.values())[:MAX_OBSERVATIONS]


def _working_tree_note(compared: VersionComparison) -> list[str]:
    """Return a note if the reviewed revision differs from the indexed working tree."""
    if compared.is_working_tree:
        return []
    return [f"Note: references and tests are those of the working tree, not of {compared.head}."]
