"""What the page is sent, as structs; `scripts/ui_types.py` makes TypeScript of them."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """Why there is no answer, for a person."""

    error: str


class KnownProject(Struct, frozen=True):
    """An indexed project. `root` is told as far as the reader may know the folders of this machine; `failures` are the
    first of `failure_count`."""

    id: str
    name: str
    root: str
    files: int
    size_bytes: int
    synced_at: float
    history: str
    exists: bool
    failures: list[FailedPath]
    failure_count: int


class FailedPath(Struct, frozen=True):
    """A file or page that could not be read, and why."""

    path: str
    reason: str


class PageState(Struct, frozen=True):
    """What the page knows from the start."""

    version: str
    project: KnownProject
    projects: list[KnownProject]
    toolsets: list[str]
    level: str
    csrf: str
    is_shared: bool


class Result(Struct, frozen=True):
    """One line of a search over everything, as the agent gets it, and where its code lies."""

    id: str
    kind: str
    title: str
    url: str
    snippet: str
    source: str
    created_at: str
    score: float
    path: str
    line: int


class SearchPage(Struct, frozen=True):
    """The answer to a question, and the exact text that an agent would receive; no answer has more than
    `most_results`."""

    query: str
    results: list[Result]
    most_results: int
    total: int
    total_is_least: bool
    searched: list[str]
    notes: list[str]
    agent_text: str
    tokens: int
    milliseconds: int


class Fact(Struct, frozen=True):
    """A named detail."""

    name: str
    value: str


class Document(Struct, frozen=True):
    """The full text behind an id; `file` is absolute, for links into an editor, and empty where there is none."""

    id: str
    kind: str
    title: str
    url: str
    text: str
    facts: list[Fact]
    path: str
    file: str
    line: int
    agent_text: str
    tokens: int
    truncated: bool


class LanguageShare(Struct, frozen=True):
    """How many files of a language there are, and whether their references are resolved."""

    language: str
    files: int
    is_resolved: bool


class ProjectHealth(Struct, frozen=True):
    """How one project stands."""

    project: KnownProject
    lines: int
    languages: list[LanguageShare]
    skipped: list[Fact]
    symbols: int
    edges: int
    possible_edges: int
    imports: int
    unresolved_imports: int
    notes: list[str]


class ToolCall(Struct, frozen=True):
    """One call of a tool, as the ring of the last calls has it; arguments are redacted and shortened."""

    at: float
    tool: str
    client: str
    arguments: str
    milliseconds: float
    tokens: int
    original_tokens: int
    is_error: bool


class CallLog(Struct, frozen=True):
    """The last calls, newest first; `kept` says whether calls are noted at all."""

    kept: bool
    most: int
    calls: list[ToolCall]


class TeamWorkspace(Struct, frozen=True):
    """A named set of projects, those of it that the reader may see."""

    name: str
    projects: list[str]


class TeamWorker(Struct, frozen=True):
    """A worker, when it was heard of last, and the jobs that it carries out."""

    id: int
    seconds_ago: float
    jobs: list[int]


class TeamJob(Struct, frozen=True):
    """A job that waits, runs or was set aside."""

    id: int
    kind: str
    subject: str
    state: str
    failures: int
    reason: str


class TeamToken(Struct, frozen=True):
    """An access token, never its secret. No projects means all; `state` is valid, expired or revoked."""

    id: str
    name: str
    level: str
    projects: list[str]
    created_at: float
    expires_at: float
    state: str


class Team(Struct, frozen=True):
    """What servers and workers share by one database; `workers` and `jobs` are for those who may see every project."""

    database: str
    sees_all: bool
    workspaces: list[TeamWorkspace]
    workers: list[TeamWorker]
    jobs: list[TeamJob]
    job_total: int


class TokenList(Struct, frozen=True):
    """Every access token, newest first."""

    tokens: list[TeamToken]


class Memo(Struct, frozen=True):
    """An observation."""

    id: str
    kind: str
    text: str
    source: str
    session: str
    created_at: float
    files: list[str]
    pinned: bool
    superseded_by: str
    changed: bool
    redacted: list[str]


class MemoryPage(Struct, frozen=True):
    """A part of the timeline, newest first; `more_before` asks for the next. `redacted` counts by kind."""

    show: str
    memos: list[Memo]
    more_before: str
    count: int
    forgotten: int
    kinds: list[str]
    redacted: list[Fact]
    context: str
    context_tokens: int
    context_silence: str


class SourceState(Struct, frozen=True):
    """Where a source of documentation stands; `kind` "api" is an API description, which has operations and no pages."""

    id: str
    name: str
    kind: str
    url: str
    version: str
    state: str
    reason: str
    pages: int
    chunks: int
    pages_done: int
    pages_queued: int
    failures: list[FailedPath]
    failure_count: int
    crawled_at: float
    seconds_left: float | None
    is_open: bool
    operations: int = 0
    schemas: int = 0


class SourcesPage(Struct, frozen=True):
    """All sources."""

    sources: list[SourceState]


class ApiSummary(Struct, frozen=True):
    """One API description."""

    name: str
    source: str
    operations: int
    schemas: int


class ApiOperation(Struct, frozen=True):
    """One operation of an API as a list shows it; its id opens it."""

    id: str
    method: str
    path: str
    title: str
    tags: list[str]
    deprecated: bool


class ApiSchema(Struct, frozen=True):
    """One schema or message of an API as a list shows it; its id opens it."""

    id: str
    name: str


class ApisPage(Struct, frozen=True):
    """All API descriptions; operations and schemas of the one that is open, and how many of both there are."""

    apis: list[ApiSummary]
    name: str
    operations: list[ApiOperation]
    total: int
    schemas: list[ApiSchema]
    schema_total: int


class ModuleBox(Struct, frozen=True):
    """A file as the map shows it: how large it is and by how many files it is imported."""

    path: str
    size_bytes: int
    imported_by: int
    is_test: bool


class Cycle(Struct, frozen=True):
    """Files that import each other, and one shortest way around."""

    mode: str
    files: list[str]
    path: list[str]


class ModulesPage(Struct, frozen=True):
    """The map of a project and its circular imports; `notes` say what it may not know yet."""

    modules: list[ModuleBox]
    total: int
    cycles: list[Cycle]
    notes: list[str]


class GraphNode(Struct, frozen=True):
    """A symbol of a drawn graph, and where it lies; `ring` is its distance from the middle."""

    id: str
    label: str
    kind: str
    path: str
    line: int
    ring: int
    is_test: bool
    x: float = 0.0
    y: float = 0.0


class GraphEdge(Struct, frozen=True):
    """That one symbol uses another."""

    source: str
    target: str
    kind: str
    certain: bool


class GraphRing(Struct, frozen=True):
    """The circle on which everything at one distance from the middle lies."""

    distance: int
    radius: float


class GraphPage(Struct, frozen=True):
    """A symbol in the middle, and what is drawn around it; `left_out` says how much is not."""

    symbol: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    left_out: int
    others: list[str]
    rings: list[GraphRing] = []
    is_partial: bool = False
    notes: list[str] = []


class SymbolMap(Struct, frozen=True):
    """The most used symbols of a project in columns, and who refers to whom by their numbers; `files`, `kinds` and
    `link_kinds` number `paths` and `names`. `is_partial`: not all references were read."""

    paths: list[str]
    is_test: list[bool]
    names: list[str]
    keys: list[str]
    labels: list[str]
    kinds: list[int]
    files: list[int]
    lines: list[int]
    sources: list[int]
    targets: list[int]
    link_kinds: list[int]
    certain: list[bool]
    left_out: int
    is_partial: bool
    notes: list[str] = []


class ToolText(Struct, frozen=True):
    """What a tool answered, as an agent gets it."""

    text: str
    is_error: bool
    truncated: bool
    tokens: int


class Changed(Struct, frozen=True):
    """What was changed, for a person."""

    text: str
