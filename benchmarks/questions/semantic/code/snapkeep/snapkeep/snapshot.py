import json
import os
import socket
import stat
from datetime import datetime
from pathlib import Path

from .chunker import chunks
from .store import ObjectStore
from .walker import walk


def unchanged(st: os.stat_result, old: dict | None) -> bool:
    """Same size, mtime and inode as last time: no need to read it."""
    return bool(old) and (old["size"], old["mtime"], old["ino"]) == (st.st_size, st.st_mtime_ns, st.st_ino)


def save(store: ObjectStore, top: Path, previous: dict, patterns: list[str]) -> dict:
    entries = {}
    for path, st in walk(top, patterns):
        rel = str(path.relative_to(top))
        meta = {"mode": st.st_mode, "size": st.st_size, "mtime": st.st_mtime_ns, "ino": st.st_ino}
        if stat.S_ISLNK(st.st_mode):
            meta["link"] = os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            old = previous.get(rel)
            if unchanged(st, old):
                meta["chunks"] = old["chunks"]
            else:
                with open(path, "rb") as f:
                    meta["chunks"] = [store.put(c)[0] for c in chunks(f)]
        entries[rel] = meta
    return {"host": socket.gethostname(), "at": datetime.now().isoformat(), "top": str(top), "entries": entries}


def write(store: ObjectStore, root: Path, snap: dict) -> str:
    oid, _ = store.put(json.dumps(snap, sort_keys=True).encode())
    (root / "snapshots" / oid).touch()
    return oid
