"""Contents of indexed files in the database: answers of servers without the files, and deletion."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.errors import NoSuchFolder
from deltos.store.content_compression import pack
from deltos.store.postgres.blobs import delete_all_unused_blobs
from deltos.store.postgres.projects import PostgresProjects
from deltos.store.postgres.shared_databases import shared_database
from deltos.store.project import FileRecord, SeenStamp
from tests.calling import ToolClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.postgres.database import PostgresDatabase

ORDERS = """\
def place_order(basket):
    \"\"\"Take an order.\"\"\"
    total = price_of(basket)
    return {"total": total, "state": "placed"}


def price_of(basket):
    return sum(item.price for item in basket)
"""


@pytest.fixture
def database(url: str) -> PostgresDatabase:
    return shared_database(url)


@pytest.fixture
def served(url: str, tmp_path: Path, workers: ProcessPool) -> Iterator[Callable[[], App]]:
    apps: list[App] = []

    def serve() -> App:
        config = Config(tmp_path / "home", database=url, embedding=Embedding("off"))
        apps.append(App(config, workers=workers))
        return apps[-1]

    yield serve
    for app in apps:
        app.close()


def shop(folder: Path, name: str = "shop") -> Path:
    root = folder / name
    root.mkdir(parents=True)
    (root / "orders.py").write_text(ORDERS)
    return root


def stored_contents(database: PostgresDatabase) -> set[bytes]:
    return {row[0] for row in database.query("SELECT digest FROM blob")}


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def test_a_server_without_the_checkout_shows_the_same_lines(served: Callable[[], App], tmp_path: Path) -> None:
    root = shop(tmp_path / "there")
    with_files = ToolClient(served().tools(), root)
    questions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("search_code", {"query": "place_order"}),
        ("search_code", {"query": '"state": "placed"'}),
        ("search_code", {"query": "/sum\\(item/"}),
        ("search_code", {"query": "how is the price computed", "directory": "."}),
        ("find_references", {"symbol": "price_of"}),
        ("get_context", {"symbol": "place_order"}),
    )
    before = [with_files.call(name, **arguments).text for name, arguments in questions]
    assert all("price" in answer or "placed" in answer for answer in before)
    root.parent.rename(tmp_path / "elsewhere")
    (tmp_path / "empty").mkdir()
    without = ToolClient(served().tools(), tmp_path / "empty")
    after = [without.call(name, **arguments, **_shop_argument(name)).text for name, arguments in questions]
    assert [_lines_without_durations(text) for text in after] == [_lines_without_durations(text) for text in before]
    without.set_project_root(root)  # a session that began while the files existed
    assert "total = price_of(basket)" in without.call("search_code", query="place_order").text
    (found, *_) = without.data("search", query="place_order")["results"]
    assert "total = price_of(basket)" in without.call("fetch", id=found["id"]).text


_PROJECT = {"search_code": "project_id", "find_references": "project_path", "get_context": "project_path"}


def _shop_argument(tool: str) -> dict[str, Any]:
    return {_PROJECT[tool]: "shop"}


def _lines_without_durations(text: str) -> list[str]:
    return [line for line in text.splitlines() if "ms" not in line]


def test_a_folder_that_neither_exists_nor_is_indexed_is_an_error(served: Callable[[], App], tmp_path: Path) -> None:
    with pytest.raises(NoSuchFolder):
        served().domains.projects.index_of(tmp_path / "nowhere")


def test_equal_contents_are_stored_once_and_deleted_with_their_last_file(
    served: Callable[[], App], database: PostgresDatabase, tmp_path: Path
) -> None:
    app = served()
    one, two = shop(tmp_path, "one"), shop(tmp_path, "two")
    for root in (one, two):
        app.domains.projects.index_of(root).index()
    assert stored_contents(database) == {digest_of(ORDERS)}
    app.domains.projects.stores.remove(one)
    assert stored_contents(database) == {digest_of(ORDERS)}
    app.domains.projects.stores.remove(two)
    assert stored_contents(database) == set()


def test_contents_follow_their_files_and_skipped_files_are_not_stored(
    served: Callable[[], App], database: PostgresDatabase, tmp_path: Path
) -> None:
    root = shop(tmp_path)
    (root / "app.min.js").write_text("const SECRET = 'x'\n")
    (root / ".gitignore").write_text("private.py\n")
    (root / "private.py").write_text("KEY = 'y'\n")
    index = served().domains.projects.index_of(root)
    index.index()
    ignores = digest_of("private.py\n")
    assert stored_contents(database) - {ignores} == {digest_of(ORDERS)}
    (root / "orders.py").write_text("def later():\n    return 1\n")
    index.index()
    assert stored_contents(database) - {ignores} == {digest_of("def later():\n    return 1\n")}
    (root / "orders.py").unlink()
    (root / "other.py").write_text("pass\n")
    index.index()
    assert stored_contents(database) - {ignores} == {digest_of("pass\n")}


def test_a_project_with_missing_contents_is_reindexed(
    served: Callable[[], App], database: PostgresDatabase, tmp_path: Path
) -> None:
    index = served().domains.projects.index_of(shop(tmp_path))
    index.index()
    with database.write() as connection:
        connection.execute("DELETE FROM blob")
    served().domains.projects.stores.delete_unused_contents()
    assert index.is_behind()
    index.index()
    assert stored_contents(database) == {digest_of(ORDERS)}


def test_contents_being_written_are_not_deleted(database: PostgresDatabase, tmp_path: Path) -> None:
    data = b"half = 'written'\n"
    digest = hashlib.sha256(data).digest()
    store = PostgresProjects(lambda: database).store_of(tmp_path)
    with store.writing() as writer:
        writer.add_file(FileRecord("a.py", "python", 1, digest, SeenStamp(1, 1, 1), pack(data)))
        writer.flush()
        assert stored_contents(database.with_own_transactions()) == {
            digest
        }  # the content is visible before the file that refers to it
        swept: list[int] = []
        sweeping = threading.Thread(
            target=lambda: swept.append(delete_all_unused_blobs(database.with_own_transactions()))
        )
        sweeping.start()
    sweeping.join()
    assert swept == [0]
    assert store.contents(["a.py", "b.py"]) == {"a.py": data}


def test_contents_of_a_failed_writer_are_deleted(database: PostgresDatabase, tmp_path: Path) -> None:
    data = b"never = 'kept'\n"
    store = PostgresProjects(lambda: database).store_of(tmp_path)

    def fail() -> None:
        with store.writing() as writer:
            digest = hashlib.sha256(data).digest()
            writer.add_file(FileRecord("a.py", "python", 1, digest, SeenStamp(1, 1, 1), pack(data)))
            writer.flush()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert len(stored_contents(database)) == 1
    assert delete_all_unused_blobs(database) == 1
    assert stored_contents(database) == set()
