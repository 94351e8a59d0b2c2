"""Names of dependencies between files.

A file is resolved again if a file or definition on which it depends is added, changed or removed. A dependency on the
interface of a file is named by the path of that file. The functions in this module return the names of dependencies on
groups of files, on definitions of a name, and on single names in a file.
"""

from __future__ import annotations


def files_named(name: str) -> str:
    """Return the name of the dependency on files and folders with a given name and any suffix."""
    return f"*/{name}"


def files_with_suffix(suffix: str) -> str:
    """Return the name of the dependency on all files with a given suffix."""
    return f"*.{suffix}"


def all_definitions(name: str) -> str:
    """Return the name of the dependency on all definitions of a name in the project."""
    return f"@{name}"


def external_package(name: str) -> str:
    """Return the name of the dependency on an imported package outside the project."""
    return f"%{name}"


def missing_name(path: str, name: str) -> str:
    """Return the name of the dependency on a name that a file does not define yet.

    This dependency is used only for files with `FileFacts.parts`.
    """
    return f"{path}?{name}"


def all_names(path: str) -> str:
    """Return the name of the dependency on the list of names that a file defines.

    This dependency is used only for files with `FileFacts.parts`.
    """
    return f"{path}*"
