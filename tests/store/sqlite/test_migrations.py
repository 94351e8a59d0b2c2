"""Database files of every published version can be opened, because migration steps are only appended."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.store.documents import SourceRow
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.library import SqliteLibrary
from deltos.store.sqlite.memory.schema import MIGRATIONS as MEMORY
from deltos.store.sqlite.migrations import LIBRARY, PROJECT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_migrations_of_each_kind_of_file_keep_their_order() -> None:
    assert [step.name for step in PROJECT] == [
        "project-001-files",
        "code-001-chunks",
        "graph-001-symbols-and-edges",
        "project-002-failures",
        "history-001-commits",
        "code-002-vectors",
        "history-002-vectors",
        "project-003-generated",
        "graph-002-compact",
        "code-003-compact-words",
        "code-004-word-codes",
    ]
    assert [step.name for step in LIBRARY] == [
        "docs-001-sources", "docs-002-index", "apis-1", "docs_chunk-vectors-001", "stopped-001", "apis-2",
            "api_unit-vectors-001", "docs-003-versions", "docs-004-access", "docs-005-repository", "docs-006-traits",
            "docs-007-validators", "docs-008-projects", "apis-3", "docs-009-no-browser",
    ]  # fmt: skip
    assert [step.name for step in MEMORY] == [
        "001-observations",
        "002-folders",
        "003-vectors",
        "004-pins",
        "005-score",
        "006-exchange",
        "007-unspaced-words",
        "008-words-in-order",
        "009-forgotten",
    ]


def test_a_library_from_an_old_schema_keeps_its_sources_crawls_and_pages(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    before = [step.name for step in LIBRARY].index("docs-003-versions")
    SqliteDatabase(path, LIBRARY[:before]).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            INSERT INTO docs_source VALUES ('s1', 'Flask', 'website', 'https://x/', '2.2', '["a/**"]', '[]', 7, 1, '/p',
                1, 1.0, 2.0);
            INSERT INTO docs_crawl VALUES ('s1', 1, 'done', '', 0, 1, 1.0, 2.0);
            INSERT INTO docs_place VALUES ('s1', 'https://x/gone', 1, 'missing', 1, 'HTTP 404');
            INSERT INTO docs_page VALUES (1, 's1', 'https://x/', 'https://x/', 'Start', '', '', x'00', 1, NULL, 1, 0);
            INSERT INTO docs_chunk VALUES (1, 1, 0, 'Start', 'top', 0, 'quokka');
            """
        )
    library = SqliteLibrary(path)
    old = SourceRow(
        "s1",
        "Flask",
        "website",
        "https://x/",
        "2.2",
        ("a/**",),
        (),
        7,
        1,
        "/p",
        1,
        added_at=1.0,
        crawled_at=2.0,
        projects=("*",),
    )
    assert library.sources.sources() == [old]
    assert library.passages.totals(["s1"]).chunks == 1
    assert [address.url for address in library.sources.failed_addresses("s1")] == ["https://x/gone"]
    new = SourceRow("s2", "flask", "git", "https://y/", "3.2", folder="docs/[a]", reference="refs/tags/3.2")
    library.sources.add_source(new)
    assert library.pages.remove_source("s1") == 1
    assert library.sources.crawl("s1") is None, "rows that refer to a removed source must be removed too"
    assert library.sources.sources() == [new]
    library.close()
