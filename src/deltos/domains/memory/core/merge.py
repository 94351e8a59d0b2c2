"""Merge two states of the same observation from different machines.

The latest change wins, separately for the content and for each mark (forgotten, pinned, superseded).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.store.observations import NewObservation

if TYPE_CHECKING:
    from deltos.store.observations import Observation

_CONTENT_FIELDS = (
    "text",
    "kind",
    "source",
    "created_at",
    "names",
    "files",
    "symbols",
    "embedding",
    "embedding_model",
    "anchors",
    "score",
)
_COMPARED_FIELDS = tuple(name for name in _CONTENT_FIELDS if name not in ("names", "anchors"))
# Fields that mark an observation, each with the field that stores the time when the mark was last changed.
_MARK_FIELDS = (("deleted_at", "restored_at"), ("pinned_at", "unpinned_at"), ("superseded_by", "superseded_at"))


def merge_states(one: NewObservation, other: NewObservation) -> NewObservation:
    """Return the merged state of an observation; the order of the arguments does not matter."""
    content = max((one, other), key=_content_rank)
    parts: dict[str, Any] = {name: getattr(content, name) for name in _CONTENT_FIELDS}
    for mark, clock in _MARK_FIELDS:
        ours, theirs = (_mark_rank(state, mark, clock) for state in (one, other))
        winner = other if theirs > ours else one
        parts |= {mark: getattr(winner, mark), clock: getattr(winner, clock)}
    return one._replace(**parts, updated_at=max(_updated_at(one), _updated_at(other)))


def is_same(one: NewObservation, other: NewObservation) -> bool:
    """Whether two states of an observation are equal, except anchors, which are derived from the text."""
    names = (*_COMPARED_FIELDS, *(name for mark in _MARK_FIELDS for name in mark))
    return _updated_at(one) == _updated_at(other) and all(getattr(one, n) == getattr(other, n) for n in names)


def has_same_content(one: NewObservation, other: NewObservation) -> bool:
    """Whether two states of an observation have the same content; the marks of the states are ignored."""
    return all(getattr(one, name) == getattr(other, name) for name in _COMPARED_FIELDS)


def to_new_observation(row: Observation) -> NewObservation:
    """Convert a stored observation to a NewObservation, without row number, index terms and anchors."""
    shared = (name for name in NewObservation._fields if name in row._fields)
    return NewObservation(**{name: getattr(row, name) for name in shared})


def _updated_at(state: NewObservation) -> int:
    """Return the time of the last update of a state."""
    return state.created_at if state.updated_at is None else state.updated_at


def _content_rank(state: NewObservation) -> tuple[int, str]:
    """Return the sort key for the content of a state: the latest change wins; in a tie, the contents are compared."""
    return _updated_at(state), repr(tuple(getattr(state, name) for name in _COMPARED_FIELDS))


def _mark_rank(state: NewObservation, mark: str, clock: str) -> tuple[int, bool, str, int]:
    """Return the sort key for a mark (forgotten, pinned or superseded) of a state: the latest change wins."""
    value, changed_at = getattr(state, mark), getattr(state, clock) or 0
    return max(changed_at, value if isinstance(value, int) else 0), value is not None, str(value), changed_at
