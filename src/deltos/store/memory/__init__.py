"""Observations on disk: the schema of `memory.db` and every statement that touches it.

What is named here is imported when it is asked for: hooks that keep nothing need the rows' types, never SQLite.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.store.memory.reader import MemoryStore
    from deltos.store.memory.rows import Anchor, Clean, NewObservation, Observation, Sketch, session_of
    from deltos.store.memory.schema import MIGRATIONS
    from deltos.store.memory.writer import Writer

__all__ = [
    "MIGRATIONS",
    "Anchor",
    "Clean",
    "MemoryStore",
    "NewObservation",
    "Observation",
    "Sketch",
    "Writer",
    "session_of",
]
_HOMES = {"MemoryStore": "reader", "Writer": "writer", "MIGRATIONS": "schema"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'rows')}"), name)
