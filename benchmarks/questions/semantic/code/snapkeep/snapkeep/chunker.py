"""Rolling-hash splitting (gear hash)."""
import random
from typing import BinaryIO, Iterator

MIN, AVG_BITS, MAX = 256 * 1024, 20, 4 * 1024 * 1024

_rng = random.Random(20190814)
GEAR = [_rng.getrandbits(64) for _ in range(256)]
MASK = (1 << AVG_BITS) - 1


def find_boundary(buf: memoryview) -> int:
    if len(buf) <= MIN:
        return len(buf)
    h = 0
    for i in range(MIN, min(len(buf), MAX)):
        h = ((h << 1) + GEAR[buf[i]]) & 0xFFFFFFFFFFFFFFFF
        if not h & MASK:
            return i + 1
    return min(len(buf), MAX)


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Cut points depend on content alone, so an insertion shifts only its neighbours."""
    pending = b""
    while True:
        more = stream.read(MAX)
        pending += more
        if not pending:
            return
        while pending and (len(pending) >= MAX or not more):
            cut = find_boundary(memoryview(pending))
            yield pending[:cut]
            pending = pending[cut:]
