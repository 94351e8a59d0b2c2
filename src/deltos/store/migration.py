"""Steps that create and change the schema of a database, shared by both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import StoreTooNew

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Migration(NamedTuple):
    """A named change of the schema, which is applied once and recorded in the same transaction.

    `replaces` contains the names of former migrations that new databases do not need.
    """

    name: str
    sql: str
    replaces: tuple[str, ...] = ()


def missing_migrations(
    known: Iterable[Migration], applied: Collection[str], *, location: str, hint: str
) -> tuple[Migration, ...]:
    """Return the migrations that have not been applied, in list order. Raise StoreTooNew if an applied one is unknown.

    A new migration may be inserted anywhere in the list after the migrations that create the tables it changes.
    """
    steps = tuple(known)
    names = {name for step in steps for name in (step.name, *step.replaces)}
    if unknown := next((name for name in applied if name not in names), ""):
        raise StoreTooNew(f"{location} was migrated by a newer version (unknown schema step '{unknown}')", hint=hint)
    return tuple(step for step in steps if step.name not in applied)
