"""Search for files that usually change together with changed files, and for documentation of changed symbols."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.code.retrieve.line_scan import PatternFinder, ScanReport, scan
from deltos.federation.review.model import REMOVED, SIGNATURE, Mention, MissingChange
from deltos.languages.table import PROSE_EXTENSIONS
from deltos.store.code import FileScope
from deltos.text.identifiers import is_distinctive
from deltos.text.mentions import has_call, has_word, mentions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.federation.review.model import SymbolChange
    from deltos.store.project import ProjectStore

MIN_SHARE = 0.5  # minimum share of a changed file's commits that also contain the other file
MIN_COMMITS = 4  # minimum number of commits that changed both files
MAX_MISSING = 6
MAX_NAMES = 20
MAX_MENTIONS_PER_NAME = 4
_MAX_LINE_CHARACTERS = 120
_MAX_COMMON_FILES = 20
_CHANGELOG = re.compile(r"(?i)(?:^|/)(?:change(?:s|log)?|history|news|release[-_ ]?notes|releases|whats?new)\b")


def missing_changes(store: ProjectStore, changed: Sequence[str]) -> list[MissingChange]:
    """Return the unchanged files that usually change together with a changed file."""
    found: dict[str, MissingChange] = {}
    for path in changed:
        for each in store.history.files_changed_with(path, limit=_MAX_COMMON_FILES):
            is_frequent = each.together >= MIN_COMMITS and each.together >= MIN_SHARE * each.changes
            known = found.get(each.path)
            if is_frequent and each.path not in changed and (known is None or known.together < each.together):
                found[each.path] = MissingChange(each.path, path, each.together, each.changes)
    best = sorted(found.values(), key=lambda each: (-each.together / each.changes, -each.together, each.path))
    return best[:MAX_MISSING]


def mentions_in_project(
    store: ProjectStore, root: Path, source: SourceLines, changes: Sequence[SymbolChange], touched: Sequence[str]
) -> list[Mention]:
    """Return the lines of unchanged documentation files that mention removed symbols or changed signatures."""
    paths = [path for _, path in store.code.paths(FileScope())]
    prose = [
        path
        for path in paths
        if path.endswith(PROSE_EXTENSIONS) and path not in touched and not _CHANGELOG.search(path)
    ]
    documented = _documented_changes(changes)
    if not documented or not prose:
        return []
    pattern = PatternFinder(rf"\b(?:{'|'.join(re.escape(each.name) for each in documented)})\b")
    places = [(row.path, line) for row in scan(root, prose, pattern, ScanReport(), store) for line in row.lines]
    texts = source.lines(places)
    found: list[Mention] = []
    for change in documented:
        lines = [(place, text.strip()) for place, text in texts.items() if _mentions(text, change)]
        found += [
            Mention(f"{path}:{line}", change.label, text[:_MAX_LINE_CHARACTERS])
            for (path, line), text in lines[:MAX_MENTIONS_PER_NAME]
        ]
    return found


def _documented_changes(changes: Sequence[SymbolChange]) -> list[SymbolChange]:
    """Return the changes that may make documentation wrong, one per symbol name."""
    wanted = {
        each.name: each for each in changes if each.kind in (REMOVED, SIGNATURE) and not each.name.startswith("_")
    }
    return list(wanted.values())[:MAX_NAMES]


def _mentions(text: str, change: SymbolChange) -> bool:
    """Whether a line mentions a changed symbol.

    A name that looks like code, such as `render_text`, counts everywhere. A name that is also an ordinary word, such as
    `Context`, counts only if it is formatted as code and is either a call or on a line with the name of its class or
    file.
    """
    if is_distinctive(change.name) or not mentions(text, change.name):
        return mentions(text, change.name)
    owner = change.label.rpartition(".")[0].rpartition(".")[2]
    module = change.path.rpartition("/")[2].partition(".")[0]
    return has_word(text, owner or module) or (not owner and has_call(text, change.name))
