"""Compare the versions in operation paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.apis.spec_text import is_parameter_segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.store.apis import UnitMatch

_VERSION = re.compile(r"^v(\d{1,6})(?:[._]\d{1,6})*(alpha|beta|rc|preview)?")


def version_of(path: str) -> tuple[int, int]:
    """Return the version in a path as a sort key; previews precede stable versions."""
    for part in path.lower().split("/"):
        if match := _VERSION.match(part):
            return (0 if match[2] else 1, int(match[1]))
    return (1, 0)


def version_independent_key(unit: UnitMatch) -> tuple[str, str, str]:
    """Return a key that is equal for all versions of an operation."""
    segments = (part for part in unit.row.path.lower().split("/") if not _VERSION.match(part))
    return unit.api_name, unit.row.method, "/".join("{}" if is_parameter_segment(part) else part for part in segments)


def newest_versions(found: Iterable[UnitMatch]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return the newest stable version of each operation, by version-independent key."""
    newest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for unit in found:
        key = version_independent_key(unit)
        newest[key] = max(newest.get(key, (0, 0)), version_of(unit.row.path))
    return newest
