"""Decoding of the 24-byte frames the loggers send."""
import struct
from dataclasses import dataclass
from datetime import datetime, timezone

FRAME = struct.Struct(">HIhHHhHHIH")


class BadFrame(ValueError):
    pass


@dataclass
class Reading:
    station: int
    at: datetime
    temp: float
    humidity: float
    pressure: float
    wind_dir: int
    wind_speed: float
    rain_ticks: int
    battery: float


def crc16(data: bytes) -> int:
    crc = 0xFFFF
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def decode(frame: bytes) -> Reading:
    if len(frame) != FRAME.size:
        raise BadFrame(f"{len(frame)} bytes")
    if crc16(frame[:-2]) != int.from_bytes(frame[-2:], "big"):
        raise BadFrame("crc")
    sid, ts, t, rh, p, wd, ws, ticks, mv, _ = FRAME.unpack(frame)
    return Reading(
        sid, datetime.fromtimestamp(ts, timezone.utc), t / 100, rh / 100, p / 10, wd, ws / 10, ticks, mv / 1000
    )
