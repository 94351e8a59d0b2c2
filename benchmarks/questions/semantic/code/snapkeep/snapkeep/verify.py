import random
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

from .crypto import WrongPassphrase
from .store import ObjectStore


def scrub(store: ObjectStore, percent: float = 5.0) -> list[str]:
    """Reads a random sample back and compares hashes. Returns damaged ids."""
    ids = sorted(store.ids())
    sample = random.sample(ids, max(1, int(len(ids) * percent / 100)))

    def bad(oid: str) -> bool:
        try:
            return sha256(store.key + store.get(oid)).hexdigest() != oid
        except (OSError, WrongPassphrase):
            return True

    with ThreadPoolExecutor(4) as pool:
        return [oid for oid, b in zip(sample, pool.map(bad, sample)) if b]


def missing(store: ObjectStore, snap: dict) -> set[str]:
    need = {c for m in snap["entries"].values() for c in m.get("chunks", ())}
    return need - store.ids()
