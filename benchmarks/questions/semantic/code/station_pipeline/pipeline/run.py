import argparse
import fcntl
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from . import aggregate, clean, derive, publish
from .ingest import Watermarks, drain

ALTITUDE = {17: 420.0, 18: 388.0, 44: 1610.0}


def single_instance(path: str = "/tmp/pipeline.lock"):
    """Cron may fire while the previous run is still busy; then leave quietly."""
    handle = open(path, "w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(0)
    return handle


def process(station: int, df: pd.DataFrame) -> pd.DataFrame:
    df = df.set_index("at").sort_index()
    df["flag"] = 0
    for check in (clean.check_range, clean.check_spikes, clean.check_stuck):
        df = check(df)
    df["tips"] = clean.unwrap_counter(df.rain_ticks)
    df = derive.add_all(df, ALTITUDE.get(station, 200.0))
    return aggregate.hourly(df)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--spool", type=Path, default=Path("spool"))
    p.add_argument("--dry", action="store_true")
    p.add_argument("--once", action="store_true")
    args = p.parse_args()
    lock = single_instance()
    marks = Watermarks(Path("state/watermarks.json"))
    raw = pd.DataFrame(asdict(r) for r in drain(args.spool, marks))
    for station, part in raw.groupby("station"):
        table = process(station, part)
        if not args.dry:
            publish.upload(table, station, table.index[0].strftime("%Y-%m"))
    marks.save()
    lock.close()


if __name__ == "__main__":
    main()
