"""The Python resolver: implements the resolver protocol by extraction, inference and flow."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from msgspec.msgpack import Decoder

from deltos.domains.graph.kernel.codec import StructCodec
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

# Files resolved with one inference cache; the cost of a cached result grows with their number.
FILES_AT_ONCE = 1000

EMPTY = FileFacts((), EMPTY_INTERFACE, ModuleBody(()))


class PythonResolver:
    """Extracts facts and resolves references of Python files."""

    languages = frozenset({"python"})
    codec = StructCodec(lambda: Decoder(ModuleInterface), lambda: Decoder(ModuleBody))

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the facts of one file, independent of all others."""
        return extract(file.data, file.tree) if file.tree is not None else EMPTY

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve files against the whole project."""
        order = sorted(paths)
        for start in range(0, len(order), FILES_AT_ONCE):
            inference = Inference(project)
            for path in order[start : start + FILES_AT_ONCE]:
                facts = project.facts(path)
                if facts is not None and isinstance(facts.body, ModuleBody):
                    yield _resolved(inference, path, facts.body)
            del inference
            if start + FILES_AT_ONCE < len(order):
                gc.collect()  # modules, classes and functions reference each other


def _resolved(inference: Inference, path: str, body: ModuleBody) -> Resolution:
    names, memo = inference.names, inference.memo
    memo.dependencies = names.bit(files_named("__init__")) | names.bit(files_named("pyproject"))
    module = names.module(path)
    if module is None:
        return Resolution(path, (), (), frozenset())
    flow = Flow(inference, module)
    flow.run_module(body.statements)
    flow.edges.note_unparsed(body.unparsed)
    return Resolution(
        path=path,
        edges=flow.edges.found(),
        imports=tuple(flow.imports),
        dependencies=names.dependency_names(memo.dependencies) - {path},
        external_imports=flow.external_imports,
        unresolved_imports=flow.unresolved_imports,
    )
