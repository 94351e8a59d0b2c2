"""Folders and real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The developer's own settings must not affect the tests.
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below `root` and return it."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def git(folder: Path, *arguments: str, text: str = "") -> str:
    """Run git with `text` as its input; return its output."""
    command = ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | GIT_ENVIRONMENT, input=text
    )
    return done.stdout.strip()


def make_repository(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Create a git repository with one commit of these files; return its root."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    write_files(root, files)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message=first")
    return root
