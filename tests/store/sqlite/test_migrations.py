"""Files of every published version can be opened: steps are appended, never moved."""

from __future__ import annotations

from deltos.store.sqlite.memory.schema import MIGRATIONS as MEMORY
from deltos.store.sqlite.migrations import LIBRARY, PROJECT


def test_the_steps_of_each_kind_of_file_keep_their_order() -> None:
    assert [step.name for step in PROJECT] == [
        "project-001-files",
        "code-001-chunks",
        "graph-001-symbols-and-edges",
        "project-002-failures",
        "history-001-commits",
        "code-002-vectors",
        "history-002-vectors",
    ]
    assert [step.name for step in LIBRARY] == [
        "docs-001-sources", "docs-002-index", "apis-1", "docs_chunk-vectors-001", "stopped-001", "apis-2",
            "api_unit-vectors-001",
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
    ]
