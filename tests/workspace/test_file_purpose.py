"""Detection of the purpose of a file by its path."""

from __future__ import annotations

import pytest

from deltos.workspace.file_purpose import is_test


@pytest.mark.parametrize(
    "path", ["tests/a.py", "a/test_b.py", "a/b_test.go", "a/b.spec.ts", "FooTest.java", "conftest.py"]
)
def test_tests_are_recognised_by_path(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize(
    "path",
    ["src/attest.py", "contest/a.py", "latest.ts", "src/testament.c", "test_helpers.go", "a/fixture_test_data.go"],
)
def test_ordinary_source_files_are_not_recognised_as_tests(path: str) -> None:
    assert not is_test(path)
