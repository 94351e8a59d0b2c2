"""The schema as an ordered list of migrations. A migration must come after the migrations of the tables it uses."""

from __future__ import annotations

from deltos.store.migration import Migration
from deltos.store.postgres.apis import APIS_002, APIS_003, APIS_004
from deltos.store.postgres.blobs import BLOBS_001, BLOBS_002
from deltos.store.postgres.calls import CALLS_001
from deltos.store.postgres.code import CODE_001, CODE_004
from deltos.store.postgres.docs import DOCS_SOURCES_003, DOCS_SOURCES_004
from deltos.store.postgres.graph import GRAPH_001, GRAPH_002
from deltos.store.postgres.history import HISTORY_001, VECTOR_NUMBERS_001
from deltos.store.postgres.jobs import JOBS_004
from deltos.store.postgres.library import LIBRARY_STEPS
from deltos.store.postgres.memory.schema import MEMORY_001
from deltos.store.postgres.packed_word_index import WORDS_001
from deltos.store.postgres.partitions import PARTITIONS_001
from deltos.store.postgres.project import PROJECT_001, PROJECT_002
from deltos.store.postgres.project_tables import PROJECT_VERSION, REGISTRY_001
from deltos.store.postgres.row_security import RIGHTS_001
from deltos.store.postgres.tokens import TOKENS_001
from deltos.store.postgres.workspaces import WORKSPACES_001

HTTP_SESSIONS_002 = Migration(
    "http-sessions-002", "DROP TABLE IF EXISTS http_session;", replaces=("http-sessions-001",)
)
CODE_003 = Migration("code-003", "DROP TABLE IF EXISTS chunk_readings;", replaces=("code-002-readings",))
PROJECT_STEPS = (REGISTRY_001, WORDS_001, PROJECT_001, CODE_001, GRAPH_001, HISTORY_001)
SCHEMA_STEPS = (
    *PROJECT_STEPS,
    *LIBRARY_STEPS,
    MEMORY_001,
    TOKENS_001,
    CALLS_001,
    WORKSPACES_001,
    BLOBS_001,
    # Each migration below that creates a table also creates the row-level security policy with `row_security_sql`.
    RIGHTS_001,
    BLOBS_002,
    PROJECT_VERSION,
    APIS_002,
    PROJECT_002,
    PARTITIONS_001,
    DOCS_SOURCES_003,
    APIS_003,
    HTTP_SESSIONS_002,
    CODE_003,
    DOCS_SOURCES_004,
    GRAPH_002,
    VECTOR_NUMBERS_001,
    CODE_004,
    JOBS_004,
    APIS_004,
)
