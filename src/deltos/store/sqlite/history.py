"""Tables of git history in SQLite."""

from __future__ import annotations

from deltos.store.migration import Migration

# The words of commits are stored only in the word index. The words of files are also stored in `past_file`.
HISTORY_001 = Migration(
    "history-001-commits",
    """
    CREATE TABLE past_commit (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        time INTEGER NOT NULL,
        author TEXT NOT NULL,
        subject TEXT NOT NULL,
        body TEXT NOT NULL,
        file_count INTEGER NOT NULL,
        is_merge INTEGER NOT NULL,
        words TEXT NOT NULL
    );
    CREATE INDEX past_commit_by_time ON past_commit (time);
    CREATE INDEX past_commit_sweeping ON past_commit (id) WHERE file_count > 30;
    CREATE TABLE past_file (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        changes INTEGER NOT NULL DEFAULT 0,
        last_changed INTEGER NOT NULL DEFAULT 0,
        words TEXT NOT NULL DEFAULT '',
        is_settled INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX past_file_unsettled ON past_file (id) WHERE NOT is_settled;
    CREATE TABLE past_touch (
        file_id INTEGER NOT NULL,
        commit_id INTEGER NOT NULL,
        PRIMARY KEY (file_id, commit_id)
    ) WITHOUT ROWID;
    CREATE INDEX past_touch_by_commit ON past_touch (commit_id);
    CREATE TABLE past_name (before TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE past_commit_words USING fts5 (subject, body, paths, content = '', tokenize = 'ascii');
    CREATE VIRTUAL TABLE past_file_words
        USING fts5 (words, content = 'past_file', content_rowid = 'id', tokenize = 'ascii');
    """,
)
# The vectors of one write are in one row, because all vectors are always read together. Readers ignore vectors of
# removed commits.
HISTORY_002 = Migration(
    "history-002-vectors",
    """
    CREATE TABLE past_vectors (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        model TEXT NOT NULL,
        ids BLOB NOT NULL,
        data BLOB NOT NULL
    );
    """,
)
