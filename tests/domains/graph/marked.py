"""Sources whose comments state the expected references of their lines, and a check that resolvers agree.

`-> Parser.feed` in a comment: the line certainly refers to that definition and to no other (several:
comma-separated; `b.py:f` also names the file, `b.py:` is the file itself). `?-> feed`: it possibly refers to a symbol
with that name. `!-> f`: a wrong resolver would find `f` here. In a file with marks, unmarked lines have no certain
reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deltos.domains.graph.declared.manifest import is_manifest, manifest_facts
from deltos.domains.graph.definitions import DefinitionsOnly
from deltos.domains.graph.kernel.resolver import FileFacts, NamedSymbol, Resolution
from deltos.domains.graph.languages import codec_of, resolver_of
from deltos.languages.grammar import parse
from deltos.languages.table import detect
from deltos.workspace.indexer import ParsedFile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_MARK = re.compile(r"(?:#|//) (!->|\?->|->) ")


class Sources:
    """Implementation of `ProjectFacts` for sources in memory."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files: dict[str, tuple[str, FileFacts]] = {}
        for path, text in files.items():
            data = text.encode()
            language = detect(path, data)
            name = language.name if language is not None else ""
            file = ParsedFile(path, data, language, parse(language, data) if language is not None else None)
            facts = (
                manifest_facts(data) if is_manifest(path) else (resolver_of(name) or DefinitionsOnly()).extract(file)
            )
            language_name = "go.mod" if is_manifest(path) else name
            self._files[path] = (language_name, _store_and_load(language_name, facts))

    def paths(self) -> Collection[str]:
        """Return all paths."""
        return set(self._files)

    def facts(self, path: str) -> FileFacts | None:
        """Return the facts of a file, or None."""
        found = self._files.get(path)
        return None if found is None else found[1]

    def interface(self, path: str) -> Any | None:
        """Return the interface of a file, or None."""
        found = self._files.get(path)
        return None if found is None else found[1].interface

    def language(self, path: str) -> str:
        """Return the language of a file; empty if it does not exist."""
        return self._files[path][0] if path in self._files else ""

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Return every symbol with the given name."""
        return [
            NamedSymbol(path, symbol.key, symbol.kind)
            for path, (_, facts) in sorted(self._files.items())
            for symbol in facts.symbols
            if symbol.name == name
        ]

    def resolve(self) -> dict[str, Resolution]:
        """Resolve every file with the resolver of its language."""
        found: dict[str, Resolution] = {}
        for language in sorted({language for language, _ in self._files.values()}):
            resolver = resolver_of(language)
            if resolver is not None:
                paths = [path for path, (own, _) in self._files.items() if own == language]
                found.update({resolution.path: resolution for resolution in resolver.resolve(self, paths)})
        return found


def _store_and_load(language: str, facts: FileFacts) -> FileFacts:
    """Return the facts after encoding and decoding."""
    codec = codec_of(language)
    interface, body = codec.encode(facts.interface), codec.encode(facts.body)
    return FileFacts(facts.symbols, codec.interface(interface), codec.body(body), facts.parts)


def check(**files: str) -> dict[str, Resolution]:
    """Resolve the files (`a_py` is `a.py`, `pkg__a_py` is `pkg/a.py`) and compare every line with its marks."""
    return check_files({_path(name): text for name, text in files.items()})


def check_files(files: Mapping[str, str]) -> dict[str, Resolution]:
    """Resolve the files and compare every line with its marks."""
    resolved = Sources(files).resolve()
    marks = [mark for path, text in files.items() for mark in _check_file(resolved.get(path), text)]
    assert marks, "the sources contain no marked line"
    return resolved


def _check_file(resolution: Resolution | None, text: str) -> list[str]:
    """Check every line of a file and return the signs of its marks; a file without marks is not checked."""
    lines = text.split("\n")
    marked = {number: marks for number, line in enumerate(lines, 1) if (marks := _marks(line))}
    if not marked:
        return []
    assert resolution is not None
    for number, line in enumerate(lines, 1):
        edges = [edge for edge in resolution.edges if edge.line == number]
        certain = {f"{edge.target_path}:{edge.target_key}" for edge in edges if edge.certain}
        possible = {edge.target_key.rpartition(".")[2] for edge in edges if not edge.certain}
        _check_line(line.strip(), certain, possible, marked.get(number, []))
    return [sign for marks in marked.values() for sign, _ in marks]


def _marks(line: str) -> list[tuple[str, str]]:
    """Return the sign and name of each mark of a line."""
    _, *parts = _MARK.split(line)
    return [
        (sign, name.strip()) for sign, names in zip(parts[::2], parts[1::2], strict=True) for name in names.split(",")
    ]


def _check_line(line: str, certain: set[str], possible: set[str], marks: list[tuple[str, str]]) -> None:
    """Check that the certain edges of a line are exactly the marked ones, and that the possible ones exist."""
    wanted = [name for sign, name in marks if sign == "->"]
    missing = [name for name in wanted if not any(_is_target(target, name) for target in certain)]
    assert not missing, f"{line!r} refers to {sorted(certain)}, not to {missing}"
    surplus = sorted(target for target in certain if not any(_is_target(target, name) for name in wanted))
    assert not surplus, f"{line!r} also refers to {surplus}"
    for sign, name in marks:
        assert sign != "?->" or name in possible, f"{line!r} possibly refers to {sorted(possible)}, not to {name}"


def _is_target(target: str, wanted: str) -> bool:
    return target == wanted or target.partition(":")[2] == wanted


def _path(name: str) -> str:
    stem, _, suffix = name.rpartition("_")
    return f"{stem.replace('__', '/')}.{suffix}"
