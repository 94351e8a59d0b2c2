"""Find the folder of a project by its id or name."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import NotFound
from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.project import KnownIndex

_MAX_LISTED_NAMES = 10  # maximum number of project names in a message
_DIGEST_CHARACTERS = 10
_UNIQUE_NAME = re.compile(r"(.+)~([0-9a-f]{10})")


def find_project_root(
    indexes: Sequence[KnownIndex], project_id: str, is_available: Callable[[Path], bool] = Path.is_dir
) -> Path:
    """Return the folder of the project with this id or name. Prefer the worktree or clone that was indexed last."""
    known = [index for index in indexes if may_read(index.root)]
    for index in known:
        if index.project_id == project_id and is_available(index.root):
            return index.root
    if match := _UNIQUE_NAME.fullmatch(project_id):
        exact = [
            index.root for index in known if unique_project_name(index.root) == match[0] and is_available(index.root)
        ]
        if exact:
            return exact[0]
    names = shortest_names(index.root for index in known)
    named = [root for root, name in names.items() if project_id in (name, root.name) and is_available(root)]
    if len(named) == 1:
        return named[0]
    available = sorted(name for root, name in names.items() if is_available(root))
    raise NotFound(
        f"No indexed project is called '{project_id[:200]}'",
        hint=f"Known: {', '.join(available[:_MAX_LISTED_NAMES])}." if available else "Call index_repository first.",
    )


def unique_project_name(root: Path) -> str:
    """Return a project name that is unique among all folders, such as `api~3f9c21ab04`, which contains a hash."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{root.name.replace('!', '_') or 'root'}~{digest}"
