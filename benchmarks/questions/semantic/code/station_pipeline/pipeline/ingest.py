import json
import logging
from pathlib import Path
from typing import Iterator

from .packets import BadFrame, Reading, decode

log = logging.getLogger("ingest")


class Watermarks:
    """Remembers the newest timestamp already handled for each station."""

    def __init__(self, path: Path):
        self.path = path
        self.data = json.loads(path.read_text()) if path.exists() else {}

    def is_new(self, r: Reading) -> bool:
        return r.at.isoformat() > self.data.get(str(r.station), "")

    def advance(self, r: Reading) -> None:
        key = str(r.station)
        self.data[key] = max(self.data.get(key, ""), r.at.isoformat())

    def save(self) -> None:
        tmp = self.path.with_suffix(".tmp")
        tmp.write_text(json.dumps(self.data, indent=1))
        tmp.replace(self.path)


def quarantine(path: Path, spool: Path, reason: str) -> None:
    bad = spool / "bad"
    bad.mkdir(exist_ok=True)
    path.rename(bad / path.name)
    log.warning("%s set aside: %s", path.name, reason)


def drain(spool: Path, marks: Watermarks) -> Iterator[Reading]:
    for path in sorted(spool.glob("*.bin")):
        try:
            r = decode(path.read_bytes())
        except BadFrame as e:
            quarantine(path, spool, str(e))
            continue
        if marks.is_new(r):
            yield r
            marks.advance(r)
        path.unlink()
