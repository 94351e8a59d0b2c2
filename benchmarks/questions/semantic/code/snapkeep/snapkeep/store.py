"""Content-addressed objects under objects/ab/cdef…"""
import os
import tempfile
from hashlib import sha256
from pathlib import Path

import zstandard

from . import crypto


class ObjectStore:
    def __init__(self, root: Path, key: bytes):
        self.root = root / "objects"
        self.key = key

    def _path(self, oid: str) -> Path:
        return self.root / oid[:2] / oid[2:]

    def put(self, data: bytes) -> tuple[str, bool]:
        """Returns the id and whether anything was written; identical content is kept once."""
        oid = sha256(self.key + data).hexdigest()
        path = self._path(oid)
        if path.exists():
            return oid, False
        path.parent.mkdir(parents=True, exist_ok=True)
        blob = crypto.seal(self.key, zstandard.compress(data, 6), oid.encode())
        fd, tmp = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(fd, "wb") as f:
            f.write(blob)
            f.flush()
            os.fsync(f.fileno())
        os.replace(tmp, path)
        return oid, True

    def get(self, oid: str) -> bytes:
        blob = self._path(oid).read_bytes()
        return zstandard.decompress(crypto.unseal(self.key, blob, oid.encode()))

    def ids(self) -> set[str]:
        return {d.name + p.name for d in self.root.iterdir() for p in d.iterdir()}

    def remove(self, oid: str) -> int:
        path = self._path(oid)
        size = path.stat().st_size
        path.unlink()
        return size
