"""Extraction and resolution of small in-memory projects, for the tests of TypeScript and JavaScript."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deltos.domains.graph.kernel.resolver import FileFacts, Resolution
from deltos.domains.graph.typescript.resolver import TypeScriptResolver
from deltos.languages.grammar import parse
from deltos.languages.table import detect
from deltos.workspace.indexer import ParsedFile

if TYPE_CHECKING:
    from collections.abc import Collection

SAME_SYMBOL = ("merge", "override")


def extract(path: str, text: str) -> FileFacts:
    """Return the facts of one file after encoding and decoding."""
    data = text.encode()
    language = detect(path)
    assert language is not None
    resolver = TypeScriptResolver()
    facts = resolver.extract(ParsedFile(path, data, language, parse(language, data)))
    codec = resolver.codec
    interface, body = codec.encode(facts.interface), codec.encode(facts.body)
    return FileFacts(facts.symbols, codec.interface(interface), codec.body(body))


class InMemoryFacts:
    """Implementation of `ProjectFacts` for facts in memory."""

    def __init__(self, facts: dict[str, FileFacts]) -> None:
        self._facts = facts

    def paths(self) -> Collection[str]:
        return tuple(self._facts)

    def facts(self, path: str) -> FileFacts | None:
        return self._facts.get(path)

    def interface(self, path: str) -> Any | None:
        facts = self._facts.get(path)
        return facts.interface if facts is not None else None

    def language(self, path: str) -> str:
        language = detect(path) if path in self._facts else None
        return language.name if language is not None else ""

    def named(self, name: str) -> Collection[Any]:
        raise NotImplementedError(f"nothing here looks {name} up by name")


@dataclass
class ResolvedProject:
    """A project with the resolutions of all its files."""

    facts: dict[str, FileFacts]
    resolutions: dict[str, Resolution] = field(default_factory=dict)

    def kinds(self, path: str) -> dict[str, str]:
        """Return the kinds of a file's symbols by key."""
        return {symbol.key: symbol.kind for symbol in self.facts[path].symbols}

    def edges(self, target: str, *, certain: bool = True) -> list[tuple[str, int, str, str]]:
        """Return the edges to `path#key`: file, line, kind, origin."""
        path, _, key = target.partition("#")
        return sorted(
            (resolution.path, edge.line, edge.kind, edge.origin)
            for resolution in self.resolutions.values()
            for edge in resolution.edges
            if (edge.target_path, edge.target_key, edge.certain) == (path, key, certain)
        )

    def references(self, target: str) -> list[str]:
        """Return the locations of certain references to `path#key`, except its other declarations."""
        found = [edge for edge in self.edges(target) if edge[3] not in SAME_SYMBOL]
        return sorted({f"{path}:{line}" for path, line, _, _ in found})

    def possible_references(self, target: str) -> list[str]:
        """Return the locations of possible references to `path#key`."""
        return sorted({f"{path}:{line}" for path, line, _, _ in self.edges(target, certain=False)})

    def related(self, target: str) -> list[str]:
        """Return the declarations that are merged with `path#key` or override it."""
        found = [edge for edge in self.edges(target) if edge[3] in SAME_SYMBOL]
        return sorted({f"{path}:{line} {origin}" for path, line, _, origin in found})

    def imports(self, path: str) -> list[tuple[str, str]]:
        """Return the files that a file imports, with the import modes."""
        return [(found.target_path, found.mode) for found in self.resolutions[path].imports]


def resolve(files: dict[str, str]) -> ResolvedProject:
    """Extract and resolve a whole project."""
    facts = {path: extract(path, text) for path, text in files.items()}
    return ResolvedProject(
        facts, {each.path: each for each in TypeScriptResolver().resolve(InMemoryFacts(facts), files)}
    )
