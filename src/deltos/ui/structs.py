"""Data structures of the web UI, from which `scripts/ui_types.py` generates TypeScript types."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """An error message for the user."""

    error: str


class KnownProject(Struct, frozen=True):
    """An indexed project, with the first of `failure_count` failures. `root` may be shortened to hide local paths."""

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
    """A file or page that could not be indexed, and the reason."""

    path: str
    reason: str


class PageState(Struct, frozen=True):
    """Initial state of the web page."""

    version: str
    project: KnownProject
    projects: list[KnownProject]
    toolsets: list[str]
    level: str
    csrf: str
    is_shared: bool


class Result(Struct, frozen=True):
    """A search result as the agent receives it, with the location of its code."""

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
    """Search results, and the exact text that an agent would receive. An answer has at most `most_results`
    results."""

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


class ExplorePart(Struct, frozen=True):
    """A block of code that starts at `first_line`, or a block of text if `path` is empty."""

    path: str
    title: str
    first_line: int
    text: str


class ExplorePage(Struct, frozen=True):
    """The answer to a question about the code, and the exact text that an agent would receive."""

    query: str
    parts: list[ExplorePart]
    agent_text: str
    tokens: int
    milliseconds: int


class ReviewSection(Struct, frozen=True):
    """A section of a review, with one kind of findings."""

    title: str
    lines: list[str]


class ReviewPage(Struct, frozen=True):
    """The review of a change. `symbols` are changed symbols whose impact can be drawn."""

    summary: str
    is_breaking: bool
    notes: list[str]
    sections: list[ReviewSection]
    symbols: list[str]
    agent_text: str
    tokens: int
    milliseconds: int


class LinkedEndpoint(Struct, frozen=True):
    """An API endpoint with the APIs that describe it, and one line for each handler and client call."""

    method: str
    path: str
    apis: list[str]
    handlers: list[str]
    calls: list[str]


class ServiceCalls(Struct, frozen=True):
    """The number of client calls from one project to handlers in another project."""

    caller: str
    handler: str
    count: int


class ContractsPage(Struct, frozen=True):
    """The first of `total` endpoints, calls between projects, and differences between API descriptions and code."""

    endpoints: list[LinkedEndpoint]
    total: int
    services: list[ServiceCalls]
    drift: list[str]
    notes: list[str]


class Fact(Struct, frozen=True):
    """A named value, such as an item of metadata."""

    name: str
    value: str


class FetchedText(Struct, frozen=True):
    """The full text of a result. `file` is an absolute path for editor links, or empty if there is no file."""

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
    """Number of files in a language, and whether Deltos resolves references in that language."""

    language: str
    files: int
    is_resolved: bool


class ProjectHealth(Struct, frozen=True):
    """Index statistics of one project."""

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
    """A call in the call log. Arguments are redacted and shortened."""

    at: float
    tool: str
    client: str
    arguments: str
    milliseconds: float
    tokens: int
    original_tokens: int
    is_error: bool


class RecentCalls(Struct, frozen=True):
    """Recent calls, newest first. `kept` is whether calls are logged."""

    kept: bool
    most: int
    calls: list[ToolCall]


class TeamWorkspace(Struct, frozen=True):
    """A workspace, with the projects that the reader may see."""

    name: str
    projects: list[str]


class TeamWorker(Struct, frozen=True):
    """A worker process, with the running jobs and the seconds since the last heartbeat."""

    id: int
    seconds_ago: float
    jobs: list[int]


class TeamJob(Struct, frozen=True):
    """A job that is queued, running, or set aside after repeated failures."""

    id: int
    kind: str
    subject: str
    state: str
    failures: int
    reason: str


class TeamToken(Struct, frozen=True):
    """An access token without its secret. Empty `projects` means all; `state` is valid, expired or revoked."""

    id: str
    name: str
    level: str
    projects: list[str]
    created_at: float
    expires_at: float
    state: str


class Team(Struct, frozen=True):
    """Data of a shared database. `workers` and `jobs` are empty unless the reader may see all projects."""

    database: str
    sees_all: bool
    workspaces: list[TeamWorkspace]
    workers: list[TeamWorker]
    jobs: list[TeamJob]
    job_total: int


class TokenList(Struct, frozen=True):
    """All access tokens, newest first."""

    tokens: list[TeamToken]


class Memo(Struct, frozen=True):
    """An observation of memory, shown on the timeline."""

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
    """A page of the timeline. `more_before` is the cursor of the next page; `redacted` counts redactions by kind."""

    show: str
    memos: list[Memo]
    more_before: str
    count: int
    hidden_count: int
    kinds: list[str]
    redacted: list[Fact]
    context: str
    context_tokens: int
    context_silence: str


class SourceState(Struct, frozen=True):
    """State of a documentation source. An API description has the kind "api" and operations instead of pages."""

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
    """All documentation sources and API descriptions."""

    sources: list[SourceState]


class ApiSummary(Struct, frozen=True):
    """Name and source of an indexed API, and the numbers of operations and schemas."""

    name: str
    source: str
    operations: int
    schemas: int


class ApiOperation(Struct, frozen=True):
    """An operation in the list of an API's operations."""

    id: str
    method: str
    path: str
    title: str
    tags: list[str]
    deprecated: bool


class ApiSchema(Struct, frozen=True):
    """A schema or message in the list of an API's schemas."""

    id: str
    name: str


class ApisPage(Struct, frozen=True):
    """All APIs, with the operations and schemas of the selected API and their total numbers."""

    apis: list[ApiSummary]
    name: str
    operations: list[ApiOperation]
    total: int
    schemas: list[ApiSchema]
    schema_total: int


class ModuleBox(Struct, frozen=True):
    """A file in the module map, with the size and the number of importing files."""

    path: str
    size_bytes: int
    imported_by: int
    is_test: bool


class Cycle(Struct, frozen=True):
    """Files that import each other, and the shortest import cycle among these files."""

    mode: str
    files: list[str]
    path: list[str]


class ModulesPage(Struct, frozen=True):
    """The module map of a project, with circular imports. `notes` report missing data."""

    modules: list[ModuleBox]
    total: int
    cycles: list[Cycle]
    notes: list[str]


class GraphNode(Struct, frozen=True):
    """A symbol in a drawn graph, with its position. `ring` is the distance from the middle."""

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
    """A reference from one symbol to another."""

    source: str
    target: str
    kind: str
    certain: bool


class GraphRing(Struct, frozen=True):
    """A circle of symbols at the same distance from the middle."""

    distance: int
    radius: float


class GraphPage(Struct, frozen=True):
    """A drawn graph. `left_out` is the number of symbols that are not drawn."""

    symbol: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    left_out: int
    others: list[str]
    rings: list[GraphRing] = []
    is_partial: bool = False
    notes: list[str] = []


class SymbolMap(Struct, frozen=True):
    """The most used symbols of a project in columns, and the references between symbol numbers.

    `files`, `kinds` and `link_kinds` are indexes into `paths` and `names`. `is_partial` is whether references are
    missing.
    """

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
    """The text of a tool's answer, exactly as an agent receives it."""

    text: str
    is_error: bool
    truncated: bool
    tokens: int


class Changed(Struct, frozen=True):
    """Confirmation message for the user after a change."""

    text: str
