"""The library file: one SQLite database for all documentation and API descriptions. Each domain brings its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.sqlite.database import Migration

FILE_NAME = "library.db"


def open_library(home: Path, migrations: Sequence[Migration]) -> Database:
    """The library below `home`, created or brought up to date when needed."""
    return Database(home / FILE_NAME, migrations)
