"""Conversion between observations of memory and table rows, which both storage engines share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.store.observations import NewObservation, Observation, ObservationSummary

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from deltos.model import Clean

COLUMNS = """o.place, o.id, o.text, o.kind, o.source, p.project_id, s.session_id, o.files, o.symbols,
    o.created_at, coalesce(o.updated_at, o.created_at), o.deleted_at, o.embedding, o.embedding_model"""
# Columns that later schema versions added. A damaged SQLite file may have an earlier version.
LATER_COLUMNS = (
    "p.folder",
    "o.pinned_at",
    "o.superseded_by",
    "o.score",
    "o.restored_at",
    "o.unpinned_at",
    "o.superseded_at",
)
# Columns of the content of an observation, in the order of `content_values`.
CONTENT_COLUMNS = (
    "kind",
    "source",
    "created_at",
    "updated_at",
    "deleted_at",
    "files",
    "symbols",
    "embedding",
    "embedding_model",
    "pinned_at",
    "superseded_by",
    "score",
    "restored_at",
    "unpinned_at",
    "superseded_at",
    "names",
    "text",
)
# Columns that `ObservationsWriter.update` may change.
MARK_COLUMNS = (
    "updated_at",
    "deleted_at",
    "restored_at",
    "pinned_at",
    "unpinned_at",
    "superseded_by",
    "superseded_at",
)
# Distance between the row numbers of observations outside any session. Such observations of one project share one range
# of row numbers. The distance prevents unrelated observations from having adjacent row numbers.
NO_SESSION_STRIDE = 8


def observation_from_row(row: Sequence[Any]) -> Observation:
    """Return the observation in a row of `COLUMNS` and `LATER_COLUMNS`."""
    return Observation._make((*row[:7], _split_texts(row[7]), _split_texts(row[8]), *row[9:]))


def summary_from_row(row: Sequence[Any]) -> ObservationSummary:
    """Return the observation summary in a row that contains the fields of `ObservationSummary`."""
    return ObservationSummary._make((*row[:3], _split_texts(row[3]), _split_texts(row[4]), *row[5:]))


def content_values(new: NewObservation) -> tuple[object, ...]:
    """Return the values of `CONTENT_COLUMNS` for a new observation."""
    values = [getattr(new, name) for name in CONTENT_COLUMNS]
    for at, name in enumerate(CONTENT_COLUMNS):
        if name in ("files", "symbols"):
            values[at] = _join_texts(values[at])
        elif name == "updated_at" and new.updated_at == new.created_at:
            values[at] = None
    return tuple(values)


def mark_assignments(names: Collection[str], placeholder: str) -> str:
    """Return the SET clause of an UPDATE statement for some of `MARK_COLUMNS`."""
    if unknown := {*names} - {*MARK_COLUMNS}:
        raise ValueError(f"not a mark: {', '.join(sorted(unknown))}")
    values = {"updated_at": f"nullif({placeholder}, created_at)"}
    return ", ".join(f"{name} = {values.get(name, placeholder)}" for name in names)


def id_digest(observation_id: str) -> bytes:
    """Return the digest under which the id of a purged observation is recorded."""
    from deltos.digest import sha256  # imported here, because hooks do not purge

    return sha256(observation_id.encode("utf-8", "surrogatepass")).digest()[:16]


def _split_texts(joined: str) -> tuple[Clean, ...]:
    return tuple(json.loads(joined)) if joined else ()


def _join_texts(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":")) if texts else ""
