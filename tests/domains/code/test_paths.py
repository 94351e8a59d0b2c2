"""Information derived from a file's path."""

from __future__ import annotations

import pytest

from deltos.domains.code.paths import is_auxiliary, is_build_output, is_settings, meaningful_stem, path_words
from deltos.text.words import Words


@pytest.mark.parametrize(
    ("path", "stem", "folders"),
    [
        ("a/cache.py", "cache", ["a"]),
        ("a/cache/index.ts", "cache", ["a"]),
        ("cache/src/lib.rs", "cache", []),
        ("cache/__init__.py", "cache", []),
        ("main.py", "main", []),
        ("src/main.rs", "src", []),
        ("a/.eslintrc.json", "eslintrc.json", ["a"]),
        ("a/b.test.ts", "b", ["a"]),
    ],
)
def test_meaningful_stem_skips_generic_file_names(path: str, stem: str, folders: list[str]) -> None:
    assert meaningful_stem(path) == (stem, folders)


def test_path_words_are_the_stem_and_the_folders_from_the_innermost_outwards() -> None:
    assert path_words("web/apis/rateLimits.ts", Words()) == ("rate limit ratelimits", "api web")


def test_examples_built_files_and_settings_are_recognised_by_path() -> None:
    assert is_auxiliary("examples/a.py")
    assert not is_auxiliary("src/example.py")
    assert is_build_output("dist/a.js")
    assert not is_build_output("src/distance.js")
    assert is_settings("web/vite.config.ts")
    assert not is_settings("src/configuration.py")
