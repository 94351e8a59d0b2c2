"""Observations on disk: the schema of `memory.db` and every statement that touches it."""

from pinakes.store.memory.reader import MemoryStore
from pinakes.store.memory.rows import Anchor, NewObservation, Observation, Sketch, session_of
from pinakes.store.memory.schema import MIGRATIONS
from pinakes.store.memory.writer import Writer

__all__ = [
    "MIGRATIONS",
    "Anchor",
    "MemoryStore",
    "NewObservation",
    "Observation",
    "Sketch",
    "Writer",
    "session_of",
]
