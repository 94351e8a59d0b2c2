"""Durability: acknowledged writes survive concurrent processes, kills, damaged files and full disks."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.check import CheckReport, check
from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.render import checked_text
from deltos.store.sqlite.database import check_file
from deltos.store.sqlite.memory.reader import SqliteObservations
from tests.files_of import memory_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.memory.conftest import Notes

WRITER_SCRIPT = """
import sys
from pathlib import Path
from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.database import check_file
memory = Memory(SqliteObservations(Path(sys.argv[1])))
for number in range(int(sys.argv[3]), int(sys.argv[4])):
    memory.remember(Draft(f"writer {sys.argv[2]} note {number}"), ObservationOrigin("p", None, sys.argv[2]))
    print(number, flush=True)
"""


def current_time() -> datetime:
    return datetime(2025, 5, 14, tzinfo=UTC)


def write_all(path: Path, name: str, count: int, kills: int, acknowledged: list[str]) -> None:
    """Write `count` notes from a process that is killed `kills` times and restarted."""
    chance = random.Random(name)
    done = 0
    while done < count:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER_SCRIPT, str(path), name, str(done), str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        last = done + chance.randrange(1, 8) if kills else count
        assert process.stdout is not None
        for line in process.stdout:
            done = int(line) + 1
            acknowledged.append(f"writer {name} note {int(line)}")
            if done >= last and kills:
                process.send_signal(signal.SIGKILL)
                kills -= 1
                break
        for line in process.stdout:  # output written before the kill counts too
            done = int(line) + 1
            acknowledged.append(f"writer {name} note {int(line)}")
        process.stdout.close()
        process.wait()


def test_acknowledged_writes_survive_killed_writers(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    SqliteObservations(path).close()
    acknowledged: list[str] = []
    threads = [threading.Thread(target=write_all, args=(path, f"w{n}", 25, 2, acknowledged)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = SqliteObservations(path)
    kept = {row.text for row in store.all()}
    assert set(acknowledged) <= kept
    assert len(acknowledged) == 100
    assert check_file(path) == []
    store.close()


def test_threads_of_one_process_write_concurrently(notes: Notes, memory: Memory) -> None:
    threads = [threading.Thread(target=notes.remember, args=(f"note number {n} of many",)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(notes.texts()) == 12


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    code = f"""
import resource, signal, sys
from pathlib import Path
from deltos.errors import StoreUnwritable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.database import check_file
memory = Memory(SqliteObservations(Path({str(path)!r})))
memory.remember(Draft("before the disk was full"), ObservationOrigin("p"))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(200):
        memory.remember(Draft(f"note {{number}} " + "x{{number}} " * 400), ObservationOrigin("p"))
except StoreUnwritable as exc:
    print(exc)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Free disk space" in done.stdout
    store = SqliteObservations(path)
    assert next(store.all()).text == "before the disk was full"
    assert check_file(path) == []
    store.close()


def check_memory_file(path: Path) -> CheckReport:
    with closing(SqliteObservations(path)) as store:
        return check(Memory(store, clock=current_time))


class TestCheck:
    """`check` verifies and repairs, and deletes nothing."""

    @pytest.fixture
    def path(self, notes: Notes, memory: Memory) -> Path:
        for number in range(300):
            with memory.store.writing() as writer:
                project, session = memory.origin_keys(writer, ObservationOrigin("p", None, f"s{number // 20}"))
                writer.insert(project, session, memory.prepare(Draft(f"note {number} " + f"w{number} " * 30), None).new)
        memory.store.close()
        return memory_file(memory)

    def test_an_undamaged_file_has_no_problems(self, path: Path) -> None:
        done = check_memory_file(path)
        assert (done.observations, done.problems, done.is_repaired, done.set_aside) == (300, (), False, ())

    def test_an_inconsistent_word_index_is_rebuilt(self, path: Path) -> None:
        store = SqliteObservations(path)
        with store.writing() as writer:
            writer._connection.execute("INSERT INTO word (word) VALUES ('delete-all')")
        store.close()
        done = check_memory_file(path)
        assert done.is_repaired
        assert "word index" in done.problems[0]
        assert len(Memory(SqliteObservations(path), clock=current_time).search("w77", "p", limit=5).hits) > 0
        assert not check_memory_file(path).is_repaired

    def test_a_damaged_page_loses_only_its_own_observations(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            page_size = connection.execute("PRAGMA page_size").fetchone()[0]
        data = bytearray(path.read_bytes())
        page = data.index(b"note 150 ") // page_size
        data[page * page_size : (page + 1) * page_size] = b"\xff" * page_size
        path.write_bytes(data)
        done = check_memory_file(path)
        assert done.is_repaired
        assert 100 < done.observations < 300
        assert done.recovered_count == done.observations
        assert (path.parent / done.set_aside[0].name).exists()
        assert "the contents of damaged pages are lost" in checked_text(done)
        again = check_memory_file(path)
        assert (again.problems, again.recovered_count) == ((), 0)
        assert "no problems found" not in checked_text(again)

    def test_a_file_that_is_not_a_database_is_set_aside(self, path: Path) -> None:
        path.write_bytes(b"nonsense" * 1000)
        done = check_memory_file(path)
        assert done.observations == 0
        assert len(done.set_aside) == 1
        assert (path.parent / done.set_aside[0].name).read_bytes().startswith(b"nonsense")
        assert done.unreadable_files == done.set_aside
        assert "no observation in it is readable; its observations are lost" in checked_text(done)

    def test_a_destroyed_file_loses_only_observations_after_the_last_snapshot(self, path: Path) -> None:
        with closing(SqliteObservations(path)) as store:
            memory = Memory(store, clock=current_time)
            assert memory.keep_snapshot()
            memory.remember(Draft("kept after the snapshot"), ObservationOrigin("p"))
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        path.write_bytes(b"\xff" * path.stat().st_size)
        done = check_memory_file(path)
        assert (done.observations, done.recovered_count, len(done.unreadable_files)) == (300, 300, 1)
        text = checked_text(done)
        assert f"observations added after {path.name}.daily-{current_time():%Y-%m-%d} are lost" in text
        assert "300 observations recovered from this snapshot" in text
