"""Tables of the code graph in SQLite."""

from __future__ import annotations

from deltos.store.migration import Migration

GRAPH_001 = Migration(
    "graph-001-symbols-and-edges",
    """
    CREATE TABLE place (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
    CREATE TABLE node (id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (place_id, key));
    CREATE TABLE symbol (
        node_id INTEGER PRIMARY KEY,
        place_id INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        signature TEXT NOT NULL,
        doc TEXT NOT NULL
    );
    CREATE INDEX symbol_by_name ON symbol (name COLLATE NOCASE);
    CREATE INDEX symbol_by_place ON symbol (place_id, line);
    CREATE TABLE edge (
        place_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        source_id INTEGER NOT NULL,
        target_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        certain INTEGER NOT NULL
    );
    CREATE INDEX edge_by_target ON edge (target_id);
    CREATE INDEX edge_by_place ON edge (place_id, source_id);
    CREATE TABLE mention (
        name TEXT NOT NULL,
        place_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        source_id INTEGER NOT NULL,
        kind TEXT NOT NULL
    );
    CREATE INDEX mention_by_name ON mention (name);
    CREATE INDEX mention_by_place ON mention (place_id);
    CREATE TABLE import (
        place_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        target_place_id INTEGER NOT NULL,
        mode TEXT NOT NULL
    );
    CREATE INDEX import_by_place ON import (place_id);
    CREATE TABLE fact (
        place_id INTEGER PRIMARY KEY,
        language TEXT NOT NULL,
        state INTEGER NOT NULL,
        interface_hash BLOB NOT NULL,
        interface BLOB NOT NULL,
        body BLOB NOT NULL,
        parts BLOB NOT NULL,
        dependencies BLOB NOT NULL,
        external_imports INTEGER NOT NULL,
        unresolved_imports INTEGER NOT NULL
    );
    CREATE TABLE stale (name TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
)

# This migration makes the graph compact. An edge is stored as four numbers. Its file is the file of the source node,
# and its kind is in a small table of rules. The mentions of a name in a file are one row that contains a JSON list of
# [source, rule, line, …]. The former tables are dropped, and the project is indexed again.
GRAPH_002 = Migration(
    "graph-002-compact",
    """
    DROP TABLE edge;
    DROP TABLE mention;
    DROP TABLE node;
    CREATE TABLE node (id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, key TEXT NOT NULL);
    CREATE INDEX node_by_place ON node (place_id);
    CREATE TABLE rule (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        certain INTEGER NOT NULL,
        UNIQUE (kind, origin, certain)
    );
    CREATE TABLE edge_row (
        source_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        target_id INTEGER NOT NULL,
        rule_id INTEGER NOT NULL,
        PRIMARY KEY (source_id, line, target_id, rule_id)
    ) WITHOUT ROWID;
    CREATE INDEX edge_by_target ON edge_row (target_id);
    CREATE VIEW edge AS
        SELECT node.place_id AS place_id, line, source_id, target_id, kind, origin, certain
        FROM edge_row JOIN rule ON rule.id = rule_id JOIN node ON node.id = source_id;
    CREATE TABLE mentioned_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE mention_list (
        name_id INTEGER NOT NULL,
        place_id INTEGER NOT NULL,
        uses TEXT NOT NULL,
        PRIMARY KEY (name_id, place_id)
    ) WITHOUT ROWID;
    CREATE INDEX mention_by_place ON mention_list (place_id);
    CREATE VIEW mention AS
        SELECT mentioned_name.name AS name, place_id, lines.value AS line,
               json_extract(uses.value, '$[0]') AS source_id, kind
        FROM mentioned_name CROSS JOIN mention_list ON name_id = mentioned_name.id
        CROSS JOIN json_each(mention_list.uses) AS uses CROSS JOIN json_each(uses.value) AS lines
        CROSS JOIN rule ON rule.id = json_extract(uses.value, '$[1]') WHERE lines.key > 1;
    DELETE FROM symbol;
    DELETE FROM import;
    DELETE FROM fact;
    DELETE FROM stale;
    DELETE FROM place;
    DELETE FROM meta WHERE key = 'complete';
    """,
)
