"""Encode the dependencies of files in the code graph, and detect how much a file changed. Shared by all engines."""

from __future__ import annotations

import zlib
from array import array
from typing import TYPE_CHECKING

from deltos.store.graph import BODY_CHANGED, FILE_ADDED, INTERFACE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DIGEST_BYTES = 8


def checksum(dependency: str) -> int:
    """Return the CRC-32 checksum of a dependency: a file or name that the resolution of references depended on."""
    # A collision only causes an unnecessary resolution of a file, which costs less than a table of names.
    return zlib.crc32(dependency.encode("utf-8", "surrogateescape"))


def encode_dependencies(dependencies: Iterable[str]) -> bytes:
    """Return the sorted checksums of dependencies as one byte string."""
    return array("I", sorted(map(checksum, dependencies))).tobytes()


def change_level(known: tuple[bytes, int, bytes] | None, interface_hash: bytes, *, only_added: bool) -> int:
    """Return how much a file's facts changed since references were last resolved, as a constant such as BODY_CHANGED.

    `known` contains the stored interface hash, change level and encoded names of the file, or None for a new file.
    `only_added` is true if the definitions that other files may use only increased.
    """
    if known is None:
        return FILE_ADDED
    changed = BODY_CHANGED if known[0] == interface_hash or only_added else INTERFACE_CHANGED
    return max(changed, known[1])


def encode_parts(parts: Mapping[str, bytes]) -> bytes:
    """Encode names with digests of their definitions as one value: first all names, then all digests in that order."""
    return "\n".join(parts).encode() + b"\0" + b"".join(parts.values())


def find_added_names(stored: bytes, parts: Mapping[str, bytes]) -> list[str] | None:
    """Return the names that a file defines in addition to the stored names.

    Return None if a stored name was changed or removed, or if no names are stored.
    """
    names, _, digests = stored.partition(b"\0")
    if not names or not parts:
        return None
    before = {
        name: digests[position * _DIGEST_BYTES : (position + 1) * _DIGEST_BYTES]
        for position, name in enumerate(names.decode().split("\n"))
    }
    if any(parts.get(name) != digest for name, digest in before.items()):
        return None
    return [name for name in parts if name not in before]
