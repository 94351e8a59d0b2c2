"""Small projects whose lines say in a comment what they refer to; the resolvers have to agree.

`-> Parser.feed` after a comment sign: the line surely refers to that definition (several: comma-separated; `b.py:f`
names the file too). `!-> f`: it does not. `?-> feed`: it may refer to something of that name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deltos.domains.graph.definitions import DefinitionsOnly
from deltos.domains.graph.languages import resolver_of
from deltos.domains.graph.model import FileFacts, NamedSymbol, Resolution
from deltos.domains.graph.second_tier.manifest import is_manifest, manifest_facts
from deltos.languages.grammar import parse
from deltos.languages.table import detect
from deltos.workspace.indexer import ParsedFile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_MARK = re.compile(r"(?:#|//) (!->|\?->|->) (.*)$")


class Sources:
    """Implements `ProjectFacts` for sources in memory."""

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
            self._files[path] = ("go.mod" if is_manifest(path) else name, facts)

    def paths(self) -> Collection[str]:
        return set(self._files)

    def facts(self, path: str) -> FileFacts | None:
        found = self._files.get(path)
        return None if found is None else found[1]

    def interface(self, path: str) -> Any | None:
        found = self._files.get(path)
        return None if found is None else found[1].interface

    def language(self, path: str) -> str:
        return self._files[path][0] if path in self._files else ""

    def named(self, name: str) -> Collection[NamedSymbol]:
        return [
            NamedSymbol(path, symbol.key, symbol.kind)
            for path, (_, facts) in sorted(self._files.items())
            for symbol in facts.symbols
            if symbol.name == name
        ]

    def resolve(self) -> dict[str, Resolution]:
        """Every file resolved, each by its language's resolver."""
        found: dict[str, Resolution] = {}
        for language in sorted({language for language, _ in self._files.values()}):
            resolver = resolver_of(language)
            if resolver is not None:
                paths = [path for path, (own, _) in self._files.items() if own == language]
                found.update({resolution.path: resolution for resolution in resolver.resolve(self, paths)})
        return found


def check(**files: str) -> dict[str, Resolution]:
    """Resolve the files (`a_py` is `a.py`, `pkg__a_py` is `pkg/a.py`) and hold every marked line to its marks."""
    return check_files({_path(name): text for name, text in files.items()})


def check_files(files: Mapping[str, str]) -> dict[str, Resolution]:
    """Resolve the files and hold every marked line to its marks."""
    resolved = Sources(files).resolve()
    marks = 0
    for path, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            for sign, names in _MARK.findall(line):
                marks += 1
                for name in names.split(","):
                    _hold(resolved[path], number, sign, name.strip(), line.strip())
    assert marks, "no line is marked"
    return resolved


def _hold(resolution: Resolution, number: int, sign: str, wanted: str, line: str) -> None:
    edges = [edge for edge in resolution.edges if edge.line == number]
    certain = {f"{edge.target_path}:{edge.target_key}" for edge in edges if edge.certain}
    possible = {edge.target_key.rpartition(".")[2] for edge in edges if not edge.certain}
    if sign == "?->":
        assert wanted in possible, f"{line!r}: {possible}"
        assert not any(_is(target, wanted) for target in certain), f"{line!r} is certain"
    else:
        assert any(_is(target, wanted) for target in certain) == (sign == "->"), f"{line!r}: {sorted(certain)}"


def _is(target: str, wanted: str) -> bool:
    return target == wanted or target.partition(":")[2] == wanted


def _path(name: str) -> str:
    stem, _, suffix = name.rpartition("_")
    return f"{stem.replace('__', '/')}.{suffix}"
