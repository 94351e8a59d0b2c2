"""Derive properties of a file from its path: stem, folder names, and whether it is auxiliary code or configuration."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.languages.table import PROSE_EXTENSIONS

if TYPE_CHECKING:
    from deltos.text.words import Words

# File names (without extension) that do not describe the content. The folder name is used instead.
GENERIC_STEMS = frozenset({"index", "mod", "__init__", "lib", "main", "init", "default", "root"})
_SOURCE_FOLDERS = frozenset({"src", "lib", "source", "sources", "main"})
_AUXILIARY_PATH = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|docs?|vendor|vendored|third[_-]?party|external|deps|compat|legacy|deprecated|"
    r"benchmarks?|bench|scripts?|tools?|contrib|playground|migrations)(?:/|$)",
    re.IGNORECASE,
)

_BUILD_OUTPUT_PATH = re.compile(
    r"(?:^|/)(?:dist|build|out|target|output|generated|gen|public/assets|static/js)(?:/|$)", re.IGNORECASE
)

_SETTINGS_PATH = re.compile(
    r"(?:^|/)(?:\.[^/]+|[^/]*\.(?:config|conf)\.\w+|(?:gulpfile|gruntfile|webpack|rollup|vite|jest|karma|babel|setup|conftest|"
    r"build|settings|noxfile|fabfile|rakefile|makefile|dockerfile)(?:\.[\w.]+)?)$",
    re.IGNORECASE,
)

_CHANGELOG_STEMS = frozenset(
    ("changes", "changelog", "history", "news", "releases", "releasenotes", "release_notes", "release-notes")
)


def path_words(path: str, words: Words) -> tuple[str, str]:
    """Return the index terms of a path's most specific name, and those of its folders, innermost folder first."""
    stem, folders = meaningful_stem(path)
    return words.of(stem), words.of(" ".join(reversed(folders)))


def meaningful_stem(path: str) -> tuple[str, list[str]]:
    """Return the most specific name in a path, such as `cache` in `a/cache/index.ts`, and the folders above it."""
    *folders, name = path.split("/")
    stem = name.split(".", 1)[0] if not name.startswith(".") else name[1:]
    while stem.lower() in GENERIC_STEMS and folders:
        candidate = folders.pop()
        if candidate.lower() in _SOURCE_FOLDERS and folders:
            continue
        stem = candidate
        break
    return stem, folders


@lru_cache(maxsize=16_384)
def is_auxiliary(path: str) -> bool:
    """Whether the path looks like auxiliary code: examples, vendored or deprecated code, scripts or benchmarks."""
    return _AUXILIARY_PATH.search(path) is not None


def is_prose(path: str) -> bool:
    """Whether the file is prose, such as Markdown."""
    return path.lower().endswith(PROSE_EXTENSIONS)


def is_changelog(path: str) -> bool:
    """Whether the file is a changelog."""
    name = path.rsplit("/", 1)[-1].lower()
    return name.split(".", 1)[0].rstrip("0123456789") in _CHANGELOG_STEMS


def is_build_output(path: str) -> bool:
    """Whether the path looks like build output."""
    return _BUILD_OUTPUT_PATH.search(path) is not None


@lru_cache(maxsize=16_384)
def is_settings(path: str) -> bool:
    """Whether the path looks like the configuration file of a tool."""
    return _SETTINGS_PATH.search(path) is not None
