"""Package archives with given files, in the formats of package managers."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SHAPES = '''"""Shapes and what can be done with them."""


class Circle:
    """A round shape that knows its own radius."""

    def area(self):
        """Compute how much of the plane the circle covers."""
        radius = self.radius
        # multiply the squared radius by the constant of circles
        squared = radius * radius
        return 3.14159 * squared


def test_area_grows_with_the_radius():
    small, large = Circle(1), Circle(2)
    assert small.area() < large.area()
    assert large.area() > 4 * small.area() - 0.001
'''
GUIDE = """# Guide

## Install the drawing package

Fetch the newest release from the index. Then call the setup program once, so that it can compile the fast parts and put
them where the interpreter looks for them.

## Draw many circles

See [how the package gets installed](install.md#from-a-mirror) before that. Circles are drawn by handing over a list of
radii and a canvas that is large enough to hold them all at once.
"""
INSTALL = """# Installing

## From a mirror

A mirror holds the same files as the index itself. Name it in the settings and the downloads come from there, which is
faster where the network is slow or closed.
"""
OPERATIONS = """{"openapi": "3.0.0", "paths": {"/users/{id}": {
 "delete": {"operationId": "removeUser", "summary": "Remove a user account for good",
            "parameters": [{"name": "id", "in": "path"}, {"name": "deletion_reason", "in": "query"}]},
 "parameters": [{"name": "id"}]}}}"""


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    """Write a wheel with some text files."""
    with zipfile.ZipFile(path, "w") as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
    return path


def tarball(path: Path, files: Mapping[str, str]) -> Path:
    """Write a tarball with some text files, compressed according to its name."""
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as bundle:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            bundle.addfile(info, io.BytesIO(text.encode()))
    return path
