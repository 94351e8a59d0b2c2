"""Extract facts and resolve references for TypeScript and JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.resolver import FileFacts, Resolution
from deltos.domains.graph.typescript.check.checker import Checker
from deltos.domains.graph.typescript.check.library import library
from deltos.domains.graph.typescript.facts import Body, TermCodec
from deltos.domains.graph.typescript.lower.extract import extract_module
from deltos.domains.graph.typescript.lower.repair import parsed_root
from deltos.domains.graph.typescript.modules.manifests import is_manifest, manifest_facts
from deltos.domains.graph.typescript.references import resolve_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.workspace.indexer import ParsedFile

_NO_FACTS = FileFacts((), None, None)


class TypeScriptResolver:
    """Resolver of TypeScript and JavaScript files and of the manifests that configure their imports."""

    languages = frozenset(("typescript", "tsx", "javascript", "jsx", "json"))
    codec = TermCodec()

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the facts of one file, independent of all other files."""
        if file.language is not None and file.language.name == "json":
            return FileFacts((), manifest_facts(file.path, file.data), None) if is_manifest(file.path) else _NO_FACTS
        root = parsed_root(file)
        return extract_module(file.path, file.data, root) if root is not None else _NO_FACTS

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the given files against the facts of the entire project."""
        checker = Checker(project, library())
        for path in sorted(paths):
            facts = project.facts(path)
            if facts is not None and isinstance(facts.body, Body):
                yield resolve_file(checker, path, facts.body)
            else:
                yield Resolution(path, (), (), frozenset())
