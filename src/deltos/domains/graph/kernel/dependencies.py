"""How files name what they depend on, beyond the paths of other files: what may come, go or change.

A file whose interface changed is named by its path; these names stand for more than one file, or for a part of one.
"""

from __future__ import annotations


def any_called(name: str) -> str:
    """Every file or folder of a name, suffix aside: their coming or going counts."""
    return f"*/{name}"


def any_suffixed(suffix: str) -> str:
    """Every file with a suffix: their coming or going counts."""
    return f"*.{suffix}"


def any_definition(name: str) -> str:
    """Every definition of a name, where a language looks names up across the project."""
    return f"@{name}"


def outside_package(name: str) -> str:
    """A package that is imported by its name and is not of the project."""
    return f"%{name}"


def missing_name(path: str, name: str) -> str:
    """A name that a file, whose interface has parts, does not have."""
    return f"{path}?{name}"


def all_names(path: str) -> str:
    """The list of names that a file, whose interface has parts, has."""
    return f"{path}*"
