"""Facts on their way into the store and back: encoded once per file, read on demand, kept while they are needed."""

from __future__ import annotations

import hashlib
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.dependencies import any_definition
from deltos.domains.graph.kernel.resolver import FileFacts, NamedSymbol
from deltos.domains.graph.languages import codec_of
from deltos.store.graph import FactRecord, PendingFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.store.graph import FactReader

_COMPRESSION_LEVEL = 1
_INTERFACES_KEPT = 20_000


def encode(language: str, facts: FileFacts, *, announces_names: bool = False) -> FactRecord:
    """The facts of a file as the store keeps them."""
    codec = codec_of(language)
    interface, body = codec.encode(facts.interface), codec.encode(facts.body)
    parts = {name: _digest(codec.encode(piece)) for name, piece in facts.parts}
    digest = _digest_of_all(parts) if parts else _digest(interface)
    return FactRecord(language, digest, _compressed(interface), _compressed(body), parts, announces_names)


def _compressed(data: bytes) -> bytes:
    return zlib.compress(data, _COMPRESSION_LEVEL)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def _digest_of_all(parts: Mapping[str, bytes]) -> bytes:
    """Each digest has the same length, so that no name can take a part of one for its own."""
    return _digest(b"".join([digest + name.encode() + b"\0" for name, digest in sorted(parts.items())]))


class StoredFacts:
    """Implements `ProjectFacts` over the store, inside one transaction; `pending` is what another one has changed."""

    def __init__(self, stored: FactReader, languages: Mapping[str, str], pending: PendingFacts | None = None) -> None:
        self._stored = stored
        self._languages = languages
        self._pending = pending or PendingFacts({}, {})
        self._paths = frozenset(languages)
        self.interface = lru_cache(maxsize=_INTERFACES_KEPT)(self._interface)

    def paths(self) -> Collection[str]:
        """Every indexed file, of any language, relative to the root."""
        return self._paths

    def facts(self, path: str) -> FileFacts | None:
        """The facts of one file; its symbols are left out, the store has them."""
        pending = self._pending.facts
        body = pending[path][1] if path in pending else self._stored.body(path)
        if body is None:
            return None
        codec = codec_of(self.language(path))
        return FileFacts((), self.interface(path), codec.body(zlib.decompress(body)))

    def language(self, path: str) -> str:
        """The language of one file; empty when it is not there."""
        return self._languages.get(path, "")

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Every symbol of a name."""
        stored = self._stored.symbols_named(name)
        if self._pending.facts:
            stored = [row for row in stored if row[0] not in self._pending.facts]
            stored = sorted([*stored, *self._pending.symbols.get(name, ())], key=lambda row: row[0])
        return [NamedSymbol(*row) for row in stored]

    def _interface(self, path: str) -> object:
        """The interface of one file alone."""
        pending = self._pending.facts
        blob = pending[path][0] if path in pending else self._stored.interface(path)
        return None if blob is None else codec_of(self.language(path)).interface(zlib.decompress(blob))


class NotedFacts:
    """Implements `ProjectFacts` over another one; what is read the first time is told by the name to depend on."""

    def __init__(self, facts: ProjectFacts, note: Callable[[str], object]) -> None:
        self._facts = facts
        self._note = note
        self._noted: set[str] = set()

    def paths(self) -> Collection[str]:
        """Every indexed file, of any language, relative to the root."""
        return self._facts.paths()

    def facts(self, path: str) -> FileFacts | None:
        """The facts of one file."""
        self._read(path)
        return self._facts.facts(path)

    def interface(self, path: str) -> object:
        """The interface of one file alone."""
        self._read(path)
        return self._facts.interface(path)

    def language(self, path: str) -> str:
        """The language of one file; empty when it is not there."""
        return self._facts.language(path)

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Every symbol of a name."""
        self._read(any_definition(name))
        return self._facts.named(name)

    def _read(self, dependency: str) -> None:
        if dependency not in self._noted:
            self._noted.add(dependency)
            self._note(dependency)
