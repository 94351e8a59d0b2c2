"""The schema of each kind of file as an ordered, append-only list of named steps."""

from __future__ import annotations

from pinakes.store.apis import MIGRATIONS as APIS
from pinakes.store.code import CODE_001
from pinakes.store.docs_index import MIGRATIONS as DOCS
from pinakes.store.graph import GRAPH_001
from pinakes.store.project import PROJECT_001

PROJECT = (PROJECT_001, CODE_001, GRAPH_001)
LIBRARY = (*DOCS, *APIS)
