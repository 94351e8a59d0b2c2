"""Fuzz targets by name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.target import Target


@cache
def all_targets() -> dict[str, Target]:
    """Return all targets, in the order in which the table shows them."""
    from fuzz.targets import apis, clients, graph, languages, markup, memory, packages, projects, queries, server, web

    parts = (markup, web, apis, languages, graph, packages, projects, memory, queries, clients, server)
    return {target.name: target for part in parts for target in part.targets()}


def target_named(name: str) -> Target:
    """Return the target called `name`, which may be one of the faulty targets in toys.py."""
    if name.startswith("toy-"):
        from fuzz.targets.toys import faulty_targets

        return faulty_targets()[name]
    return all_targets()[name]
