"""Encode facts about files for storage, and decode them on demand with a cache.

The facts of a file are the data that the resolution of references needs: its symbols, its interface (the part on which
other files may depend), and its body (the rest).
"""

from __future__ import annotations

import hashlib
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.dependencies import all_definitions
from deltos.domains.graph.kernel.resolver import FileFacts, NamedSymbol
from deltos.domains.graph.languages import codec_of
from deltos.store.graph import FactRecord, PendingFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from deltos.store.graph import FactReader

_COMPRESSION_LEVEL = 1
_INTERFACE_CACHE_SIZE = 20_000


def encode(language: str, facts: FileFacts, *, announces_names: bool = False) -> FactRecord:
    """Encode the facts of a file for storage."""
    codec = codec_of(language)
    interface, body = codec.encode(facts.interface), codec.encode(facts.body)
    parts = {name: _digest(codec.encode(piece)) for name, piece in facts.parts}
    digest = _combined_digest(parts) if parts else _digest(interface)
    return FactRecord(language, digest, _compress(interface), _compress(body), parts, announces_names)


def _compress(data: bytes) -> bytes:
    return zlib.compress(data, _COMPRESSION_LEVEL)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def _combined_digest(parts: Mapping[str, bytes]) -> bytes:
    """Return one digest for all named parts of an interface."""
    # The concatenation is unambiguous, because the digests of the parts have a fixed length.
    return _digest(b"".join([digest + name.encode() + b"\0" for name, digest in sorted(parts.items())]))


class StoredProjectFacts:
    """Implementation of `ProjectFacts` that reads the store in one transaction.

    `pending` contains the uncommitted changes of another transaction. `record` is called with the name of each
    dependency before the dependency is read.
    """

    def __init__(
        self,
        stored: FactReader,
        languages: Mapping[str, str],
        pending: PendingFacts | None = None,
        record: Callable[[str], object] = lambda _dependency: None,
    ) -> None:
        self._stored = stored
        self._record = record
        self._languages = languages
        self._pending = pending or PendingFacts({}, {})
        self._paths = frozenset(languages)
        self.interface = lru_cache(maxsize=_INTERFACE_CACHE_SIZE)(self._interface)

    def paths(self) -> Collection[str]:
        """Return every indexed file, in any language, relative to the root."""
        return self._paths

    def facts(self, path: str) -> FileFacts | None:
        """Return the facts of one file without its symbols, which are stored separately."""
        self._record(path)
        pending = self._pending.facts
        body = pending[path][1] if path in pending else self._stored.body(path)
        if body is None:
            return None
        codec = codec_of(self.language(path))
        return FileFacts((), self.interface(path), codec.body(zlib.decompress(body)))

    def language(self, path: str) -> str:
        """Return the language of one file, or an empty string if it is not indexed."""
        return self._languages.get(path, "")

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Return every symbol with this name."""
        self._record(all_definitions(name))
        stored = self._stored.symbols_named(name)
        if self._pending.facts:
            stored = [row for row in stored if row[0] not in self._pending.facts]
            stored = sorted([*stored, *self._pending.symbols.get(name, ())], key=lambda row: row[0])
        return [NamedSymbol(*row) for row in stored]

    def _interface(self, path: str) -> object:
        """Return the interface of one file, which is the part on which other files may depend."""
        self._record(path)
        pending = self._pending.facts
        blob = pending[path][0] if path in pending else self._stored.interface(path)
        return None if blob is None else codec_of(self.language(path)).interface(zlib.decompress(blob))
