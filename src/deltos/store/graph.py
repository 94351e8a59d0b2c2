"""What the code graph keeps: facts of files, and the edges and imports that resolving them gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# What has to be settled about a file's facts; higher includes lower.
SETTLED, BODY_CHANGED, INTERFACE_CHANGED, APPEARED = range(4)


@dataclass(frozen=True, slots=True)
class FactRecord:
    """The encoded facts of one file."""

    language: str
    interface_hash: bytes
    interface: bytes
    body: bytes
    parts: Mapping[str, bytes] = field(default_factory=dict)
    announces_names: bool = False


class EdgeRecord(Protocol):
    """A resolved reference, as the domain has it; with an empty path, a mention of a bare name."""

    @property
    def line(self) -> int: ...
    @property
    def source_key(self) -> str: ...
    @property
    def target_path(self) -> str: ...
    @property
    def target_key(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def certain(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ResolutionRecord:
    """Everything that resolving one file gave."""

    path: str
    edges: Sequence[EdgeRecord]
    imports: Sequence[tuple[int, str, str]]
    dependencies: Collection[str]
    external_imports: int
    unresolved_imports: int


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A file whose facts changed since the graph was last resolved."""

    path: str
    language: str
    state: int


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """What a transaction changed and others do not see yet: interface and body of files (None of those that went), and
    path, key and kind of their symbols by name."""

    facts: dict[str, tuple[bytes | None, bytes | None]]
    symbols: dict[str, list[tuple[str, str, str]]]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One place that refers to a symbol; `source_key` is the definition around it, empty at the top of a file."""

    path: str
    line: int
    source_key: str
    kind: str
    origin: str
    certain: bool
    source_id: int
    target_id: int


@dataclass(frozen=True, slots=True)
class ImportRow:
    """That one file imports another, and when it takes effect."""

    path: str
    target: str
    line: int
    mode: str


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """How large the graph is and how much of it is resolved."""

    files_by_language: dict[str, tuple[int, int]]
    symbols_by_kind: dict[str, int]
    edges_by_kind: dict[str, int]
    possible: int
    imports: int
    external_imports: int
    unresolved_imports: int
