"""The schema as an ordered list of named steps. New ones are appended, whatever they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.store.postgres.database import Migration

SCHEMA_STEPS: tuple[Migration, ...] = ()
