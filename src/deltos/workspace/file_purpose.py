"""Purpose of a file by its path."""

from __future__ import annotations

import re
from functools import lru_cache

TESTS = ("include", "exclude", "only")  # how results in tests are selected
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|fixtures?|e2e)(?:/|$)"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.\w+$|[._-](?:test|tests|spec)\.\w+$|[a-z0-9](?:Test|Tests|Spec|Suite)\.\w+$",
)


@lru_cache(maxsize=16_384)  # called for every candidate of every query
def is_test(path: str) -> bool:
    """Whether the path looks like a test."""
    return _TEST.search(path) is not None


def is_selected(path: str, tests: str) -> bool:
    """Whether a file is selected by one of `TESTS`."""
    return tests == "include" or is_test(path) == (tests == "only")
