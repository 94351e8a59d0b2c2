"""Check 9: in search results, vendored files rank below the project's own source code."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.sweep.checks import Result
    from benchmarks.sweep.client import Server
    from benchmarks.sweep.names import Definition

MAX_RANKED_NAMES = 6
# Paths of vendored files, as Linguist lists them in `vendor.yml`.
_VENDORED = re.compile(
    r"(?:^|/)(?:vendors?|node_modules|bower_components|third[-_]?party|3rd[-_]?party|[Tt]hird[-_]?[Pp]arty|deps|extern|"
    r"external|Godeps/_workspace|dist|Carthage|Pods|debian)/|(?:^|/)jquery[^/]*\.js$|(?:^|/)ltmain\.sh$|[.-]min\.(?:js|css)$"
)


def check_ranks(result: Result, server: Server, definitions: list[Definition], seed: int) -> None:
    """Check 9: if a name is defined in source code and in vendored code, the source code is the first result."""
    places: dict[str, set[str]] = defaultdict(set)
    for each in definitions:
        places[each.simple].add(each.path)
    both = [
        name
        for name, paths in sorted(places.items())
        if len(name) > 3 and 2 <= len(paths) <= 6 and len({bool(_VENDORED.search(path)) for path in paths}) == 2
    ]
    for name in random.Random(seed).sample(both, min(MAX_RANKED_NAMES, len(both))):
        _, data, is_error = server.call("search_code", query=name, limit=10)
        hits = [] if is_error or not data else [hit["file_path"] for hit in data["results"]]
        hits = [hit for hit in hits if hit in places[name]]
        own = {hit for hit in hits if not _VENDORED.search(hit)}
        if own:
            result.check("rank of vendored", hits[0], f"first of {hits} for {name}", holds=hits[0] in own)
