"""Recognition of test files by path."""

from __future__ import annotations

import re
from functools import lru_cache

from deltos.languages.table import detect

# Allowed values of the option `tests`: include test files, exclude them, or return only test files.
TESTS = ("include", "exclude", "only")
_TEST_FOLDER = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|fixtures?|e2e)(?:/|$)")
_TEST_NAME = re.compile(
    r"(?:^|/)(?:test_[^/]*|conftest)\.\w+$|[._-](?:test|tests|spec)\.\w+$|[a-z0-9](?:Test|Tests|Spec|Suite)\.\w+$",
)


@lru_cache(maxsize=16_384)  # cached, because the function is called for every candidate of every query
def is_test(path: str) -> bool:
    """Whether the path looks like a test file: by its folder, or by its name as is usual in its language."""
    if _TEST_FOLDER.search(path) is not None:
        return True
    language = detect(path)
    if language is not None and language.test_suffixes:
        return path.endswith(language.test_suffixes)
    return _TEST_NAME.search(path) is not None


def is_selected(path: str, tests: str) -> bool:
    """Whether the option `tests`, which is one of `TESTS`, selects a file."""
    return tests == "include" or is_test(path) == (tests == "only")
