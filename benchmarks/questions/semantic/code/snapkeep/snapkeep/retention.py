"""Which snapshots to keep."""
from datetime import datetime


def thin_out(stamps: list[datetime], daily: int, weekly: int, monthly: int) -> set[datetime]:
    keep: set[datetime] = set()
    for count, bucket in (
        (daily, lambda d: d.date()),
        (weekly, lambda d: d.isocalendar()[:2]),
        (monthly, lambda d: (d.year, d.month)),
    ):
        seen = set()
        for d in sorted(stamps, reverse=True):
            if len(seen) == count:
                break
            if bucket(d) not in seen:
                seen.add(bucket(d))
                keep.add(d)
    return keep


def collect_garbage(store, snapshots: list[dict], snapshot_ids: set[str]) -> int:
    """Delete objects that no snapshot mentions; returns bytes freed."""
    live = set(snapshot_ids)
    for s in snapshots:
        for meta in s["entries"].values():
            live.update(meta.get("chunks", ()))
    return sum(store.remove(oid) for oid in store.ids() - live)
