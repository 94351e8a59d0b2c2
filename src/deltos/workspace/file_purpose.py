"""Recognition of test files by path."""

from __future__ import annotations

import re
from functools import lru_cache

# Allowed values of the option `tests`: include test files, exclude them, or return only test files.
TESTS = ("include", "exclude", "only")
_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|fixtures?|e2e)(?:/|$)"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.\w+$|[._-](?:test|tests|spec)\.\w+$|[a-z0-9](?:Test|Tests|Spec|Suite)\.\w+$",
)


@lru_cache(maxsize=16_384)  # cached, because the function is called for every candidate of every query
def is_test(path: str) -> bool:
    """Whether the path looks like a test file."""
    return _TEST_PATH.search(path) is not None


def is_selected(path: str, tests: str) -> bool:
    """Whether the option `tests`, which is one of `TESTS`, selects a file."""
    return tests == "include" or is_test(path) == (tests == "only")
