"""The Python resolver, which combines fact extraction, type inference and analysis of statements."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.codec import Codec
from deltos.domains.graph.kernel.dependencies import files_named
from deltos.domains.graph.kernel.resolver import FileFacts, Resolution
from deltos.domains.graph.python.flow import Flow
from deltos.domains.graph.python.infer import Inference
from deltos.domains.graph.python.lower import extract
from deltos.domains.graph.python.nodes import EMPTY_INTERFACE, ModuleBody, ModuleInterface

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.workspace.indexer import ParsedFile

# Maximum number of files that share one inference cache. Dependency sets grow with the number of these files.
MAX_FILES_PER_CACHE = 1000

EMPTY_FACTS = FileFacts((), EMPTY_INTERFACE, ModuleBody(()))


class PythonResolver:
    """Resolver that extracts facts from Python files and resolves their references."""

    languages = frozenset({"python"})
    codec = Codec(ModuleInterface, ModuleBody)

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the facts of one file without considering other files."""
        return extract(file.data, file.tree) if file.tree is not None else EMPTY_FACTS

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve references in the given files to definitions in the whole project."""
        order = sorted(paths)
        for start in range(0, len(order), MAX_FILES_PER_CACHE):
            inference = Inference(project)
            for path in order[start : start + MAX_FILES_PER_CACHE]:
                facts = project.facts(path)
                if facts is not None and isinstance(facts.body, ModuleBody):
                    yield _resolve_file(inference, path, facts.body)
            del inference
            if start + MAX_FILES_PER_CACHE < len(order):
                gc.collect()  # frees the reference cycles between modules, classes and functions


def _resolve_file(inference: Inference, path: str, body: ModuleBody) -> Resolution:
    names, memo = inference.names, inference.memo
    memo.dependencies = names.bit(files_named("__init__")) | names.bit(files_named("pyproject"))
    module = names.module(path)
    if module is None:
        return Resolution(path, (), (), frozenset())
    flow = Flow(inference, module)
    flow.run_module(body.statements)
    flow.edges.add_unparsed(body.unparsed)
    return Resolution(
        path=path,
        edges=flow.edges.sorted_edges(),
        imports=tuple(flow.imports),
        dependencies=names.dependency_names(memo.dependencies) - {path},
        external_imports=flow.external_imports,
        unresolved_imports=flow.unresolved_imports,
    )
