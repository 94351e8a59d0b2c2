"""Observations on disk: the schema of `memory.db` and every statement that touches it."""

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
