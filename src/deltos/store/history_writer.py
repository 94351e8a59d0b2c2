"""Writes to a project's git history within one transaction."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from deltos.store.history import MAX_RELATED_FILES, MAX_WORD_COMMITS
from deltos.store.word_index import COMMIT_WORDS, PAST_FILE_WORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.store.history import CommitRecord
    from deltos.store.project_rows import ProjectRows

# Start value of commit ids. A higher id means a later commit: older commits receive descending ids below the start
# value, and newer commits ascending ids above it.
_FIRST_COMMIT_ID = 1 << 40
_COMMIT_COLUMNS = ("id", "hash", "time", "author", "subject", "body", "file_count", "is_merge", "words")


class HistoryWriter:
    """Writer of history within one transaction."""

    def __init__(self, rows: ProjectRows) -> None:
        self._rows = rows
        self._commit_words = rows.words(COMMIT_WORDS)
        self._new_commit_words = self._commit_words.writer()
        self._new_file_words = rows.words(PAST_FILE_WORDS).writer()

    def flush(self) -> None:
        """Write the buffered words."""
        self._new_commit_words.flush()
        self._new_file_words.flush()

    def discard(self) -> None:
        """Discard the buffered words."""
        self._new_commit_words.discard()
        self._new_file_words.discard()

    def clear(self) -> None:
        """Delete the whole history."""
        self.discard()
        self._new_commit_words.remove_all()
        self._new_file_words.remove_all()
        for table in ("past_commit", "past_file", "past_touch", "past_name", "past_vectors"):
            self._rows.execute(f"DELETE FROM {table} WHERE TRUE")

    def add_newer(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Store commits that are newer than all stored commits, newest first. `model` is the embedding model of the
        vectors."""
        _, highest = self._id_range()
        self._add_commits(commits, range(highest + len(commits), highest, -1), model)

    def add_older(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Store commits that are older than all stored commits, newest first. `model` is the embedding model of the
        vectors."""
        lowest, _ = self._id_range()
        self._add_commits(commits, range(lowest - 1, lowest - 1 - len(commits), -1), model)

    def _id_range(self) -> tuple[int, int]:
        """Return the lowest and highest commit id, including removed commits, whose words are still in the index."""
        self._rows.flush()
        return self._commit_words.id_range() or (_FIRST_COMMIT_ID, _FIRST_COMMIT_ID)

    def _add_commits(self, commits: Sequence[CommitRecord], ids: Sequence[int], model: str) -> None:
        with self._rows.translating_errors():
            hashes = [commit.hash for commit in commits]
            known = {row[0] for row in self._rows.query("SELECT hash FROM past_commit WHERE hash IN ?", hashes)}
            # Rows are inserted in ascending order, because FTS5 flushes the write buffer when a rowid decreases.
            numbered = reversed([*zip(ids, commits, strict=True)])
            fresh = [(number, commit) for number, commit in numbered if commit.hash not in known]
            rows = [
                (n, c.hash, c.time, c.author, c.subject, c.body, c.file_count, c.is_merge, c.subject_words)
                for n, c in fresh
            ]
            self._rows.insert("past_commit", _COMMIT_COLUMNS, rows)
            for n, c in fresh:
                self._new_commit_words.add(n, (c.subject_words, c.body_words, c.path_words))
            self._add_touches([(path, number) for number, commit in fresh for path in dict.fromkeys(commit.paths)])
            self._add_vectors([(number, commit.vector) for number, commit in fresh if _describes_files(commit)], model)

    def _add_vectors(self, vectors: Sequence[tuple[int, bytes]], model: str) -> None:
        # The vectors of one write are in one row, because all vectors are always read together. Readers ignore vectors
        # of removed commits.
        if model and vectors:
            ids, data = array("q", [number for number, _ in vectors]), b"".join(data for _, data in vectors)
            self._rows.insert("past_vectors", ("model", "ids", "data"), [(model, ids.tobytes(), data)])

    def _add_touches(self, touches: Sequence[tuple[str, int]]) -> None:
        paths = list(dict.fromkeys(path for path, _ in touches))
        ids = self._file_ids(paths)
        self._mark_outdated(ids.values())
        fresh = [path for path in paths if path not in ids]
        if fresh:
            ids |= {path: n for n, path in enumerate(fresh, self._rows.allocate_ids("past_file", len(fresh)))}
            self._rows.insert("past_file", ("id", "path"), [(ids[path], path) for path in fresh])
        rows = sorted({(ids[path], commit_id) for path, commit_id in touches})
        self._rows.insert("past_touch", ("file_id", "commit_id"), rows)

    def _file_ids(self, paths: Sequence[str]) -> dict[str, int]:
        return dict(self._rows.query("SELECT path, id FROM past_file WHERE past_file.path IN ?", paths))

    def _mark_outdated(self, file_ids: Iterable[int]) -> None:
        """Mark files whose index words and commit counts must be updated by `update_changed_files`."""
        self._rows.execute("UPDATE past_file SET is_settled = FALSE WHERE id IN ? AND is_settled", list(file_ids))

    def remove(self, hashes: Collection[str]) -> None:
        """Delete commits that no longer belong to the history."""
        rows = self._rows.query("SELECT id FROM past_commit WHERE hash IN ?", list(hashes))
        ids = [row[0] for row in rows]
        files = self._rows.query("SELECT DISTINCT file_id FROM past_touch WHERE commit_id IN ?", ids)
        self._mark_outdated(row[0] for row in files)
        self._rows.execute("DELETE FROM past_touch WHERE commit_id IN ?", ids)
        # The words of removed commits remain in the index. Searches ignore matches without a commit row.
        self._rows.execute("DELETE FROM past_commit WHERE id IN ?", ids)

    def rename(self, before: str, path: str) -> None:
        """Move the history of a renamed file to the new name."""
        ids = self._file_ids([before, path])
        old, new = ids.get(before), ids.get(path)
        if old is None:
            return
        if new is None:
            self._rows.update("past_file", "id", ("path",), [(old, path)])
            return
        sql = "SELECT commit_id FROM past_touch WHERE file_id IN ?"
        missing = {row[0] for row in self._rows.query(sql, [old])} - {row[0] for row in self._rows.query(sql, [new])}
        self._rows.insert("past_touch", ("file_id", "commit_id"), [(new, commit) for commit in sorted(missing)])
        self._delete_files([old])
        self._mark_outdated([new])

    def add_renames(self, names: dict[str, str]) -> None:
        """Record renamed files. `names` maps former names to current names."""
        self._rows.execute("DELETE FROM past_name WHERE before IN ?", list(names))
        self._rows.insert("past_name", ("before", "path"), list(names.items()))

    def keep_files(self, paths: Collection[str]) -> None:
        """Delete the history of all files except `paths`."""
        rows = self._rows.query("SELECT id, path FROM past_file")
        self._delete_files([file_id for file_id, path in rows if path not in paths])

    def update_changed_files(self, *, limit: int) -> int:
        """Update the index words and commit counts of up to `limit` files whose commits changed.

        Return the number of updated files.
        """
        with self._rows.translating_errors():
            sql = "SELECT id, changes, words FROM past_file WHERE NOT is_settled ORDER BY id LIMIT ?"
            rows = self._rows.query(sql, limit)
            self._update_files({row[0]: row[2] if row[1] else None for row in rows})
        return len(rows)

    def _update_files(self, before: Mapping[int, str | None]) -> None:
        """Update the commit counts and index words of files.

        `before` maps each file id to the indexed words of the file, or to None if the file is not indexed.
        """
        sql = """SELECT file_id, COUNT(*), MAX(time) FROM past_touch JOIN past_commit ON past_commit.id = commit_id
                 WHERE file_id IN ? GROUP BY file_id ORDER BY file_id"""
        counts = {row[0]: row[1:] for row in self._rows.query(sql, list(before))}
        words = self._words_of(list(before))
        self._delete_files([file_id for file_id in before if file_id not in counts])
        for file_id in counts:
            known = before[file_id]
            if known is not None:
                self._new_file_words.remove(file_id, (known,))
            self._new_file_words.add(file_id, (words.get(file_id, ""),))
        rows = [(file_id, *count, words.get(file_id, ""), True) for file_id, count in counts.items()]
        self._rows.update("past_file", "id", ("changes", "last_changed", "words", "is_settled"), rows)

    def _words_of(self, file_ids: list[int]) -> dict[int, str]:
        """Return the words of the latest commit subjects of each file, newest first."""
        found: dict[int, list[str]] = {}
        sql = """SELECT file_id, words FROM (
                     SELECT file_id, words, commit_id,
                            ROW_NUMBER() OVER (PARTITION BY file_id ORDER BY commit_id DESC) AS place
                     FROM past_touch JOIN past_commit ON past_commit.id = commit_id
                     WHERE file_id IN ? AND file_count <= ?
                 ) AS ranked WHERE place <= ? AND words <> '' ORDER BY file_id, commit_id DESC"""
        for file_id, words in self._rows.query(sql, file_ids, MAX_RELATED_FILES, MAX_WORD_COMMITS):
            found.setdefault(file_id, []).append(words)
        return {file_id: " ".join(words) for file_id, words in found.items()}

    def _delete_files(self, ids: list[int]) -> None:
        sql = "SELECT id, words FROM past_file WHERE id IN ? AND changes > 0"
        for file_id, words in self._rows.query(sql, ids):
            self._new_file_words.remove(file_id, (words,))
        self._rows.execute("DELETE FROM past_file WHERE id IN ?", ids)
        self._rows.execute("DELETE FROM past_touch WHERE file_id IN ?", ids)


def _describes_files(commit: CommitRecord) -> bool:
    """Whether a commit has a vector and few enough files that its subject describes each of them."""
    return bool(commit.vector and commit.paths) and commit.file_count <= MAX_RELATED_FILES
