"""Tables of the code graph in PostgreSQL."""

from __future__ import annotations

from deltos.store.migration import Migration
from deltos.store.postgres.partitions import partitioned_table_sql, without_statistics
from deltos.store.postgres.row_security import BY_PROJECT, row_security_sql
from deltos.store.postgres.rows import indexed_lower_prefix, indexed_prefix

GRAPH_001 = Migration(
    "graph-001-symbols-and-edges",
    partitioned_table_sql("place", 'id bigint NOT NULL, path text COLLATE "C" NOT NULL, PRIMARY KEY (project, id)')
    + f"CREATE INDEX place_by_path ON place (project, {indexed_prefix('path')});"
    + partitioned_table_sql(
        "node",
        'id bigint NOT NULL, place_id bigint NOT NULL, key text COLLATE "C" NOT NULL, PRIMARY KEY (project, id)',
    )
    + "CREATE INDEX node_by_place ON node (project, place_id);"
    + partitioned_table_sql(
        "symbol",
        """node_id bigint NOT NULL,
        place_id bigint NOT NULL,
        name text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        line integer NOT NULL,
        end_line integer NOT NULL,
        signature text NOT NULL,
        doc text NOT NULL,
        PRIMARY KEY (project, node_id)""",
    )
    + f"CREATE INDEX symbol_by_name ON symbol (project, {indexed_lower_prefix('name')});"
    + "CREATE INDEX symbol_by_place ON symbol (project, place_id, line);"
    + partitioned_table_sql(
        "edge",
        """id bigint NOT NULL,
        place_id bigint NOT NULL,
        line integer NOT NULL,
        source_id bigint NOT NULL,
        target_id bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        origin text COLLATE "C" NOT NULL,
        certain boolean NOT NULL,
        PRIMARY KEY (project, id)""",
    )
    + "CREATE INDEX edge_by_target ON edge (project, target_id);"
    + "CREATE INDEX edge_by_place ON edge (project, place_id, source_id);"
    + partitioned_table_sql(
        "mention",
        """name text COLLATE "C" NOT NULL,
        place_id bigint NOT NULL,
        line integer NOT NULL,
        source_id bigint NOT NULL,
        kind text COLLATE "C" NOT NULL""",
    )
    + f"CREATE INDEX mention_by_name ON mention (project, {indexed_prefix('name')});"
    + "CREATE INDEX mention_by_place ON mention (project, place_id);"
    + partitioned_table_sql(
        "import",
        """place_id bigint NOT NULL,
        line integer NOT NULL,
        target_place_id bigint NOT NULL,
        mode text COLLATE "C" NOT NULL""",
    )
    + "CREATE INDEX import_by_place ON import (project, place_id);"
    + partitioned_table_sql(
        "fact",
        """place_id bigint NOT NULL,
        language text COLLATE "C" NOT NULL,
        state smallint NOT NULL,
        interface_hash bytea NOT NULL,
        interface bytea NOT NULL,
        body bytea NOT NULL,
        parts bytea NOT NULL,
        dependencies bytea NOT NULL,
        external_imports integer NOT NULL,
        unresolved_imports integer NOT NULL,
        PRIMARY KEY (project, place_id)""",
    )
    + partitioned_table_sql("stale", 'name text COLLATE "C" NOT NULL')
    + "CREATE INDEX stale_by_project ON stale (project);",
)
_COMPACT_TABLES = ("rule", "edge_row", "mentioned_name", "mention_list")
# This migration makes the graph compact, as in SQLite. An edge is stored as four numbers. Its file is the file of the
# source node, and its kind is in a small table of rules. The mentions of a name in a file are one row that contains a
# JSON list of [source, rule, line, …]. The projects are then indexed again.
GRAPH_002 = Migration(
    "graph-002-compact",
    "DROP TABLE edge; DROP TABLE mention;"
    + partitioned_table_sql(
        "rule",
        """id bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        origin text COLLATE "C" NOT NULL,
        certain boolean NOT NULL,
        PRIMARY KEY (project, id)""",
    )
    + partitioned_table_sql(
        "edge_row",
        """source_id bigint NOT NULL,
        line integer NOT NULL,
        target_id bigint NOT NULL,
        rule_id bigint NOT NULL,
        PRIMARY KEY (project, source_id, line, target_id, rule_id)""",
    )
    + "CREATE INDEX edge_by_target ON edge_row (project, target_id);"
    + partitioned_table_sql(
        "mentioned_name", 'id bigint NOT NULL, name text COLLATE "C" NOT NULL, PRIMARY KEY (project, id)'
    )
    + "CREATE INDEX mentioned_name_by_name ON mentioned_name (project, md5(name));"
    + partitioned_table_sql(
        "mention_list",
        """name_id bigint NOT NULL,
        place_id bigint NOT NULL,
        uses text COLLATE "C" NOT NULL,
        PRIMARY KEY (project, name_id, place_id)""",
    )
    + "CREATE INDEX mention_by_place ON mention_list (project, place_id);"
    + "TRUNCATE symbol, import, fact, stale, node, place;"
    + "UPDATE project SET version = version + 1; DELETE FROM meta WHERE key IN ('complete', 'indexers');"
    + "".join(row_security_sql(table, BY_PROJECT) for table in _COMPACT_TABLES)
    + without_statistics(*_COMPACT_TABLES),
)
