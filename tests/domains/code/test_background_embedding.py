"""Chunks are embedded in the background, once, and their vectors are cached next to the index."""

from __future__ import annotations

import gc
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.domains.code import background_embedding, word_vectors
from deltos.domains.code.semantic_candidates import project_vectors
from deltos.embed.distilled_encoder import DistilledEncoder
from deltos.progress import Silent
from deltos.store.sqlite.code import EmbeddingCacheFile
from deltos.store.sqlite.projects import SqliteProjects
from tests.calling import Desk
from tests.domains.code.asking import paths, search
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.embed.protocol import TextToEmbed, Vectors
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.code import Code

PROJECT = {
    "lost_keys.py": '"""Second chances."""\n\n\ndef mail_link(account):\n    """Send a one-time link that sets another password."""\n'
    "    return send(account.address, sign(account.id, valid_minutes=30))\n",
    "invoices.py": "def total(lines):\n    return sum(line.price * line.count for line in lines)\n",
    "shutdown.py": "def drain(queue):\n    while queue:\n        queue.pop().finish()\n",
}
QUESTION = "somebody forgot their credentials and wants to get back in"


class EmbeddingCounter:
    """Counts the embedded texts from now on, after embedding threads of other tests have ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for thread in embedding_threads():
            thread.join()
        self.texts: list[str] = []
        read = DistilledEncoder.texts

        def count_and_embed(reader: DistilledEncoder, passages: Sequence[TextToEmbed]) -> Vectors:
            self.texts += [passage.words for passage in passages]
            return read(reader, passages)

        monkeypatch.setattr(DistilledEncoder, "texts", count_and_embed)


def embedding_threads() -> list[threading.Thread]:
    """Return the running embedding threads."""
    return [thread for thread in threading.enumerate() if thread.name == "embedding"]


def embed_all(store: Code) -> bool:
    """Embed everything and wait, as `deltos index` does."""
    read, total = project_vectors(store).embed(store, Silent())
    return 0 < read == total


def test_a_project_is_embedded_once_for_all_processes(
    tmp_path: Path, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, root = EmbeddingCounter(monkeypatch), write_files(tmp_path / "project", PROJECT)
    for _ in range(2):
        with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
            index = app.domains.projects.at(root)
            index.index()
            assert embed_all(index.store.code)
            assert len(reader.texts) == 3
            desk = Desk(app.tools(), root)
            assert paths(search(desk, QUESTION))[0] == "lost_keys.py"
            kept = index.store.code.embedding_cache()
            assert isinstance(kept, EmbeddingCacheFile)
            assert kept.path.stat().st_mode & 0o077 == 0
    assert len(reader.texts) == 3


def test_only_changed_chunks_are_embedded_again(
    desk: Desk, app: App, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(project, PROJECT)
    search(desk, QUESTION)
    store = app.domains.projects.at(project).store.code
    embed_all(store)
    reader = EmbeddingCounter(monkeypatch)
    write_files(project, {"invoices.py": "def vat(lines):\n    return sum(lines) * 0.19\n"})
    search(desk, "tax on a sum")
    embed_all(store)
    (text,) = reader.texts
    assert text.startswith("vat")


def test_queries_do_not_wait_for_embedding_and_use_it_once_done(desk: Desk, app: App, project: Path) -> None:
    write_files(project, PROJECT)
    assert paths(search(desk, QUESTION))  # compared by word vectors until the chunks are embedded
    store = app.domains.projects.at(project).store.code
    near = project_vectors(store)
    embed_all(store)
    from_words, from_embedding = (
        near.similarities(store, ("password",)),
        near.similarities(store, ("password",), QUESTION),
    )
    assert from_words is not None
    assert from_embedding is not None
    assert from_words.best != from_embedding.best
    assert paths(search(desk, QUESTION))[0] == "lost_keys.py"


def test_embedding_ends_soon_after_the_project_is_closed(
    tmp_path: Path, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_embedding, "_BATCH_CHUNKS", 1)
    root = write_files(tmp_path / "project", {f"lost_{n}.py": f"def lost_{n}():\n    return {n}\n" for n in range(300)})
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        reader = EmbeddingCounter(monkeypatch)
        index = app.domains.projects.at(root)
        index.index()
        assert paths(search(Desk(app.tools(), root), QUESTION)) is not None
        (thread,) = embedding_threads()
        while not reader.texts:
            thread.join(0.01)
    del app, index
    gc.collect()
    thread.join(20)
    assert not thread.is_alive()
    assert len(reader.texts) < 300


def test_a_project_that_is_too_large_is_compared_by_word_vectors(
    desk: Desk, app: App, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_vectors, "MAX_EMBEDDED_CHUNKS", 2)
    reader = EmbeddingCounter(monkeypatch)
    write_files(project, PROJECT)
    assert paths(search(desk, QUESTION))
    (note,) = desk.data("index_repository")["notes"]
    assert "chunks exceed the limit of 2 for embedding; semantic search compares word vectors instead" in note
    assert not embed_all(app.domains.projects.at(project).store.code)
    assert not reader.texts


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"\x93NUMPY\x01\x00v\x00{'descr': 'O'}"])
def test_a_damaged_embedding_cache_is_rebuilt(desk: Desk, app: App, project: Path, content: bytes) -> None:
    write_files(project, PROJECT)
    search(desk, "queue")
    store = app.domains.projects.at(project).store.code
    store.embedding_cache().save(content)
    assert embed_all(store)
    assert paths(search(desk, QUESTION))[0] == "lost_keys.py"


def test_a_cache_of_another_model_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "readings"
    with path.open("wb") as file:
        np.savez(file, model=np.array("other"), keys=np.zeros((1, 8), np.uint8), vectors=np.ones((1, 512), np.int8))
    assert background_embedding._load(EmbeddingCacheFile(path)) == {}


def test_nothing_is_embedded_if_embedding_is_off(
    tmp_path: Path, workers: ProcessPool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = EmbeddingCounter(monkeypatch)
    with closing(App(Config(tmp_path / "home", embedding=Embedding("off")), workers=workers)) as app:
        search(Desk(app.tools(), project), "where is a value forgotten")
    assert not reader.texts


def test_the_embedding_cache_is_removed_with_the_index(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "project", PROJECT)
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        index = app.domains.projects.at(root)
        index.index()
        embed_all(index.store.code)
        kept = index.store.code.embedding_cache()
        assert kept.exists()
    SqliteProjects(tmp_path / "home").remove(root)
    assert not kept.exists()
