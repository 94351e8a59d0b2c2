"""Is every logger alive?"""
from datetime import datetime, timedelta, timezone

import requests

LOW_VOLT = 3.45


def silent_stations(last_seen: dict[int, datetime], limit: timedelta = timedelta(hours=2)) -> list[int]:
    now = datetime.now(timezone.utc)
    return sorted(s for s, t in last_seen.items() if now - t > limit)


def weak_batteries(latest: dict[int, float]) -> list[int]:
    return sorted(s for s, volts in latest.items() if volts < LOW_VOLT)


def page_oncall(hook: str, text: str) -> None:
    requests.post(hook, json={"text": f":rotating_light: {text}"}, timeout=10)


def clock_drift(received: datetime, stamped: datetime) -> float:
    return (received - stamped).total_seconds()
