"""The schema as an ordered list of named steps. New ones are appended, whatever they belong to."""

from __future__ import annotations

from deltos.store.postgres.calls import CALLS_001
from deltos.store.postgres.library import LIBRARY_STEPS
from deltos.store.postgres.memory.schema import MEMORY_001
from deltos.store.postgres.tokens import TOKENS_001

SCHEMA_STEPS = (*LIBRARY_STEPS, MEMORY_001, TOKENS_001, CALLS_001)
