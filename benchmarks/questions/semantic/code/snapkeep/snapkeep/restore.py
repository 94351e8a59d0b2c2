import os
import stat
from pathlib import Path

from .store import ObjectStore


class UnsafePath(Exception):
    pass


def inside(target: Path, rel: str) -> Path:
    # a crafted snapshot must not write to ../../etc
    out = (target / rel).resolve()
    if not out.is_relative_to(target.resolve()):
        raise UnsafePath(rel)
    return out


def bring_back(store: ObjectStore, snap: dict, target: Path, only: str = "") -> int:
    n = 0
    for rel, meta in snap["entries"].items():
        if not rel.startswith(only):
            continue
        out = inside(target, rel)
        if stat.S_ISDIR(meta["mode"]):
            out.mkdir(parents=True, exist_ok=True)
            continue
        out.parent.mkdir(parents=True, exist_ok=True)
        if "link" in meta:
            os.symlink(meta["link"], out)
        else:
            with open(out, "wb") as f:
                for oid in meta["chunks"]:
                    f.write(store.get(oid))
            reapply(out, meta)
        n += 1
    return n


def reapply(out: Path, meta: dict) -> None:
    os.chmod(out, stat.S_IMODE(meta["mode"]))
    os.utime(out, ns=(meta["mtime"], meta["mtime"]))
