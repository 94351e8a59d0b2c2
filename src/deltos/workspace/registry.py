"""Which folder a project id means."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import NotFound
from deltos.workspace.names import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.project import KnownIndex

_MOST_NAMED = 10
_DIGEST_CHARACTERS = 10
_EXACT_NAME = re.compile(r"(.+)~([0-9a-f]{10})")


def root_of_project(
    indexes: Sequence[KnownIndex], project_id: str, is_there: Callable[[Path], bool] = Path.is_dir
) -> Path:
    """The folder that a project id means: of its worktrees and clones, the one indexed last. A name will do."""
    known = [index for index in indexes if may_read(index.root)]
    for index in known:
        if index.project_id == project_id and is_there(index.root):
            return index.root
    if match := _EXACT_NAME.fullmatch(project_id):
        exact = [index.root for index in known if exact_name(index.root) == match[0] and is_there(index.root)]
        if exact:
            return exact[0]
    names = names_of(index.root for index in known)
    named = [root for root, name in names.items() if project_id in (name, root.name) and is_there(root)]
    if len(named) == 1:
        return named[0]
    there = sorted(name for root, name in names.items() if is_there(root))
    raise NotFound(
        f"No indexed project is called '{project_id[:200]}'",
        hint=f"Known: {', '.join(there[:_MOST_NAMED])}." if there else "Call index_repository first.",
    )


def exact_name(root: Path) -> str:
    """A name for the project at a folder that no other folder has, whatever is indexed: `api~3f9c21ab04`."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{root.name.replace('!', '_') or 'root'}~{digest}"
