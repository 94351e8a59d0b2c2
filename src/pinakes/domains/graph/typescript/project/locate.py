"""Which file an import specifier names, by the rules of TypeScript and Node: relative paths, index files, `paths` of
tsconfig.json, `exports` and `imports` of package.json, workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinakes.domains.graph.model import ProjectFacts

_EXTENSIONS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".json")
_WRITTEN_AS = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".ts", ".d.ts", ".jsx", ".js"),
    ".mjs": (".mts", ".d.mts", ".mjs", ".ts"),
    ".cjs": (".cts", ".d.cts", ".cjs", ".ts"),
}


@dataclass(frozen=True, slots=True)
class Located:
    """A specifier's file; without one it is either outside the project or missing from it."""

    path: str | None
    is_external: bool = False


class Locator:
    """Finds files for specifiers; notes every file it looked for, found or not."""

    def __init__(self, project: ProjectFacts, depend: Callable[[str], None]) -> None:
        self._project = project
        self._paths = frozenset(project.paths())
        self._depend = depend
        self._known: dict[tuple[str, str], tuple[Located, frozenset[str]]] = {}
        self._sought: set[str] = set()

    def locate(self, importer: str, specifier: str) -> Located:
        """The file that `specifier` names inside `importer`."""
        question = (dirname(importer), specifier)
        known = self._known.get(question)
        if known is None:
            self._sought = set()
            found = self._locate(*question)
            known = self._known[question] = (found, frozenset(self._sought))
        for path in known[1]:
            self._depend(path)
        return known[0]

    def _locate(self, folder: str, specifier: str) -> Located:
        if specifier.startswith(("./", "../")) or specifier in (".", ".."):
            return Located(self._file(normpath(join(folder, specifier))))
        return Located(None, is_external=True)

    def _has(self, path: str) -> bool:
        self._sought.add(path)
        return path in self._paths

    def _file(self, path: str) -> str | None:
        """The source file behind a path that may lack its extension or name a folder."""
        return next((candidate for candidate in _candidates(path) if self._has(candidate)), None)


def _candidates(path: str) -> Iterator[str]:
    for written, meant in _WRITTEN_AS.items():
        if path.endswith(written):
            yield from (path[: -len(written)] + extension for extension in meant)
            break
    else:
        if path.endswith((".ts", ".tsx", ".mts", ".cts", ".json")):
            yield path
    if path in (".", ""):
        path = ""
    else:
        yield from (path + extension for extension in _EXTENSIONS)
        path += "/"
    yield from (f"{path}index{extension}" for extension in _EXTENSIONS)
