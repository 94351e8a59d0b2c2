"""Names for dependencies that are not paths of single files.

A file is resolved again if any file or definition covered by one of its dependencies is added, changed or removed.
A dependency on the interface of one file is named by its path; the functions here name groups of files and parts of a
file.
"""

from __future__ import annotations


def files_named(name: str) -> str:
    """Return the dependency on the existence of files and folders with this name and any suffix."""
    return f"*/{name}"


def files_with_suffix(suffix: str) -> str:
    """Return the dependency on the existence of files with this suffix."""
    return f"*.{suffix}"


def all_definitions(name: str) -> str:
    """Return the dependency on all definitions of a name, for languages that look up names in the entire project."""
    return f"@{name}"


def external_package(name: str) -> str:
    """Return the dependency on a package that is imported by name and does not belong to the project."""
    return f"%{name}"


def missing_name(path: str, name: str) -> str:
    """Return the dependency on a name that a file does not define yet. The file's facts must have `parts`."""
    return f"{path}?{name}"


def all_names(path: str) -> str:
    """Return the dependency on the list of names that a file defines. The file's facts must have `parts`."""
    return f"{path}*"
