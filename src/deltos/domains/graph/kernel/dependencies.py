"""Names of dependencies of a file's resolution that are not paths of single files.

If any file or definition that a dependency covers appears, changes or disappears, the dependent file is resolved again.
A file whose interface changed is a dependency by its path; the functions here name groups of files and parts of a file.
"""

from __future__ import annotations


def files_named(name: str) -> str:
    """Return the dependency on every file or folder with this name and any suffix: they may appear or disappear."""
    return f"*/{name}"


def files_with_suffix(suffix: str) -> str:
    """Return the dependency on every file with this suffix: they may appear or disappear."""
    return f"*.{suffix}"


def all_definitions(name: str) -> str:
    """Return the dependency on every definition of a name, for languages that look names up across the project."""
    return f"@{name}"


def external_package(name: str) -> str:
    """Return the dependency on a package that is imported by name and does not belong to the project."""
    return f"%{name}"


def missing_name(path: str, name: str) -> str:
    """Return the dependency on a name that a file does not define yet; only for files whose interface has parts."""
    return f"{path}?{name}"


def all_names(path: str) -> str:
    """Return the dependency on the list of names that a file defines; only for files whose interface has parts."""
    return f"{path}*"
