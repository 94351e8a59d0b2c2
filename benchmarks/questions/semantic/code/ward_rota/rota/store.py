import sqlite3
from contextlib import contextmanager
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS nurse (id INTEGER PRIMARY KEY, name TEXT, grade INTEGER, hours REAL, email TEXT);
CREATE TABLE IF NOT EXISTS duty (nurse_id INTEGER, kind TEXT, starts TEXT, ends TEXT, locked INTEGER);
CREATE TABLE IF NOT EXISTS history (at TEXT DEFAULT CURRENT_TIMESTAMP, who TEXT, what TEXT);
"""


@contextmanager
def connect(path: Path):
    con = sqlite3.connect(path)
    con.executescript(SCHEMA)
    try:
        yield con
        con.commit()
    except Exception:
        con.rollback()
        raise
    finally:
        con.close()


def record(con: sqlite3.Connection, who: str, what: str) -> None:
    con.execute("INSERT INTO history (who, what) VALUES (?, ?)", (who, what))


def save_plan(con: sqlite3.Connection, plan) -> None:
    con.execute("DELETE FROM duty WHERE locked = 0")
    con.executemany(
        "INSERT INTO duty VALUES (?, ?, ?, ?, ?)",
        [(a.nurse.id, a.shift.kind, a.shift.starts.isoformat(), a.shift.ends.isoformat(), a.locked) for a in plan],
    )
