import csv
import io
from uuid import NAMESPACE_URL, uuid5

from .models import Assignment


def to_ical(plan: list[Assignment], nurse_id: int) -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//ward-rota//EN"]
    for a in plan:
        if a.nurse.id != nurse_id:
            continue
        uid = uuid5(NAMESPACE_URL, f"{nurse_id}-{a.shift.starts.isoformat()}")
        lines += [
            "BEGIN:VEVENT",
            f"UID:{uid}",
            f"DTSTART:{a.shift.starts:%Y%m%dT%H%M%S}",
            f"DTEND:{a.shift.ends:%Y%m%dT%H%M%S}",
            f"SUMMARY:{a.shift.kind}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return "\r\n".join(lines)


def to_csv(plan: list[Assignment]) -> str:
    buf = io.StringIO()
    w = csv.writer(buf, delimiter=";")
    w.writerow(["name", "kind", "starts", "ends"])
    for a in sorted(plan, key=lambda a: (a.shift.starts, a.nurse.name)):
        w.writerow([a.nurse.name, a.shift.kind, a.shift.starts, a.shift.ends])
    return buf.getvalue()


def premium_hours(plan: list[Assignment]) -> dict[int, float]:
    """Hours on Sundays or at night, per head, for payroll."""
    out: dict[int, float] = {}
    for a in plan:
        if a.shift.is_night or a.shift.starts.weekday() == 6:
            out[a.nurse.id] = out.get(a.nurse.id, 0) + a.shift.hours
    return out
