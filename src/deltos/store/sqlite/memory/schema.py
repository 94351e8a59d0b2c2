"""Schema of `memory.db` as a list of migrations."""

from __future__ import annotations

from deltos.store.migration import Migration

# GLOB pattern that matches one character of a script that has no spaces between words.
_SCRIPT_GLOB = "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"

MIGRATIONS = (
    Migration(
        "001-observations",
        """
        CREATE TABLE project (
            key INTEGER PRIMARY KEY, project_id TEXT NOT NULL UNIQUE, root TEXT NOT NULL DEFAULT '',
            created_at INTEGER NOT NULL
        );
        CREATE TABLE session (
            key INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project(key), session_id TEXT,
            agent TEXT NOT NULL DEFAULT '', started_at INTEGER NOT NULL, ended_at INTEGER,
            UNIQUE (project, session_id)
        );
        CREATE TABLE observation (
            place INTEGER PRIMARY KEY, id TEXT NOT NULL, project INTEGER NOT NULL REFERENCES project(key),
            kind TEXT NOT NULL, source TEXT NOT NULL,
            created_at INTEGER NOT NULL, updated_at INTEGER, deleted_at INTEGER,
            files TEXT NOT NULL, symbols TEXT NOT NULL, embedding BLOB, embedding_model TEXT,
            names TEXT NOT NULL, text TEXT NOT NULL,
            UNIQUE (id, project)
        );
        CREATE INDEX observation_by_time ON observation (project, created_at);
        CREATE INDEX observation_by_kind ON observation (project, kind, created_at);
        CREATE TABLE anchor (
            place INTEGER NOT NULL REFERENCES observation(place) ON DELETE CASCADE,
            path TEXT NOT NULL, symbol TEXT NOT NULL, digest BLOB NOT NULL,
            PRIMARY KEY (place, path, symbol)
        ) WITHOUT ROWID;
        CREATE VIEW live_observation AS SELECT place, names, text FROM observation WHERE deleted_at IS NULL;
        CREATE VIRTUAL TABLE word USING fts5 (
            names, text, content = 'live_observation', content_rowid = 'place', detail = none, columnsize = 0,
            tokenize = 'porter unicode61 remove_diacritics 2'
        );
        CREATE TRIGGER observation_added AFTER INSERT ON observation WHEN new.deleted_at IS NULL BEGIN
            INSERT INTO word (rowid, names, text) VALUES (new.place, new.names, new.text);
        END;
        CREATE TRIGGER observation_hidden AFTER UPDATE OF names, text, deleted_at ON observation WHEN
        old.deleted_at IS NULL BEGIN
            INSERT INTO word (word, rowid, names, text) VALUES ('delete', old.place, old.names, old.text);
        END;
        CREATE TRIGGER observation_shown AFTER UPDATE OF names, text, deleted_at ON observation WHEN
        new.deleted_at IS NULL BEGIN
            INSERT INTO word (rowid, names, text) VALUES (new.place, new.names, new.text);
        END;
        CREATE TRIGGER observation_purged AFTER DELETE ON observation WHEN old.deleted_at IS NULL BEGIN
            INSERT INTO word (word, rowid, names, text) VALUES ('delete', old.place, old.names, old.text);
        END;
        """,
    ),
    Migration(
        "002-folders",
        """
        CREATE TABLE project_folder (
            key INTEGER PRIMARY KEY, project_id TEXT NOT NULL, folder TEXT NOT NULL DEFAULT '',
            root TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, UNIQUE (project_id, folder)
        );
        INSERT INTO project_folder SELECT key, project_id, '', root, created_at FROM project;
        DROP TABLE project;
        ALTER TABLE project_folder RENAME TO project;
        """,
    ),
    Migration(
        # A row without model and data represents a missing vector. Because of such rows, observations without vectors
        # are found without reading all observations. Deleted observations have no row.
        "003-vectors",
        """
        CREATE TABLE observation_vector (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key INTEGER NOT NULL UNIQUE,
            model TEXT NOT NULL DEFAULT '',
            data BLOB NOT NULL DEFAULT x''
        );
        CREATE INDEX observation_vector_by_model ON observation_vector (model, number);
        INSERT INTO observation_vector (key) SELECT place FROM live_observation;
        CREATE TRIGGER observation_vector_wanted AFTER INSERT ON observation WHEN new.deleted_at IS NULL BEGIN
            INSERT INTO observation_vector (key) VALUES (new.place);
        END;
        CREATE TRIGGER observation_vector_outdated AFTER UPDATE OF text, deleted_at ON observation BEGIN
            DELETE FROM observation_vector WHERE key = old.place;
            INSERT INTO observation_vector (key) SELECT new.place WHERE new.deleted_at IS NULL;
        END;
        CREATE TRIGGER observation_vector_leaves AFTER DELETE ON observation BEGIN
            DELETE FROM observation_vector WHERE key = old.place;
        END;
        """,
    ),
    Migration(
        "004-pins",
        """
        ALTER TABLE observation ADD COLUMN pinned_at INTEGER;
        ALTER TABLE observation ADD COLUMN superseded_by TEXT;
        ALTER TABLE session ADD COLUMN shown_at INTEGER;
        CREATE INDEX observation_by_pin ON observation (project, pinned_at) WHERE pinned_at IS NOT NULL;
        """,
    ),
    Migration("005-score", "ALTER TABLE observation ADD COLUMN score REAL;"),
    Migration(
        # This migration supports the exchange of observations between machines. It stores when a mark (such as a pin)
        # was removed, the order of local changes, digests of purged ids, and which parts of transcripts were imported.
        # Keys are digests, never texts.
        "006-exchange",
        """
        ALTER TABLE observation ADD COLUMN restored_at INTEGER;
        ALTER TABLE observation ADD COLUMN unpinned_at INTEGER;
        ALTER TABLE observation ADD COLUMN superseded_at INTEGER;
        CREATE TABLE observation_change (
            number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER NOT NULL UNIQUE
        );
        INSERT INTO observation_change (place) SELECT place FROM observation ORDER BY place;
        CREATE TRIGGER observation_change_noted AFTER INSERT ON observation BEGIN
            INSERT INTO observation_change (place) VALUES (new.place);
        END;
        CREATE TRIGGER observation_change_noted_again AFTER UPDATE ON observation BEGIN
            DELETE FROM observation_change WHERE place = new.place;
            INSERT INTO observation_change (place) VALUES (new.place);
        END;
        CREATE TRIGGER observation_change_leaves AFTER DELETE ON observation BEGIN
            DELETE FROM observation_change WHERE place = old.place;
        END;
        CREATE TABLE exported (target BLOB PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE purged (key BLOB PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE mined_event (key BLOB PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE mined_file (
            key BLOB PRIMARY KEY, size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, since INTEGER NOT NULL
        ) WITHOUT ROWID;
        """,
    ),
    # Existing texts in scripts without spaces are indexed as bigrams, as in `text.scripts.unspaced_words`. SQLite finds
    # a character by counting from the start of the text, so the time is quadratic in the text length. The indexed
    # length is therefore limited.
    Migration(
        "007-unspaced-words",
        f"""
        UPDATE observation SET names = trim(names || ' ' || coalesce((
            WITH RECURSIVE spot (at) AS (
                SELECT 1 UNION ALL SELECT at + 1 FROM spot WHERE at < min(length(text), 2000) - 1
            )
            SELECT group_concat(substr(text, at, 2), ' ') FROM spot WHERE substr(text, at, 2) GLOB '{_SCRIPT_GLOB * 2}'
        ), ''))
        WHERE text GLOB '*{_SCRIPT_GLOB}*';
        """,
    ),
    # SQLite does not define the order of two triggers on one event. The old words of a changed text were removed after
    # the new words had been added, so words that both texts contain were lost. One trigger has a fixed order.
    Migration(
        "008-words-in-order",
        """
        DROP TRIGGER observation_hidden;
        DROP TRIGGER observation_shown;
        CREATE TRIGGER observation_rewritten AFTER UPDATE OF names, text, deleted_at ON observation BEGIN
            INSERT INTO word (word, rowid, names, text)
                SELECT 'delete', old.place, old.names, old.text WHERE old.deleted_at IS NULL;
            INSERT INTO word (rowid, names, text)
                SELECT new.place, new.names, new.text WHERE new.deleted_at IS NULL;
        END;
        INSERT INTO word (word) VALUES ('rebuild');
        """,
    ),
    Migration(
        "009-forgotten",
        "CREATE INDEX observation_by_deletion ON observation (project) WHERE deleted_at IS NOT NULL;",
    ),
)
