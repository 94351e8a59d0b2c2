"""Dates as people say them inside a question: which spans of time are meant."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from deltos.text.scripts import UNSPACED
from deltos.text.times import micros, parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
_YEARS_BACK = 10
# How other languages say what the rules below read in English, longer phrases before those that they hold.
_IN_ENGLISH = (
    ("vorgestern anteayer 前天 一昨日", "day before yesterday"),
    ("gestern ayer 昨天 昨日", "yesterday"),
    ("heute hoy 今天 今日", "today"),
    ("letzte_woche vorige_woche letzter_woche semana_pasada 上周 上星期 先週", "last week"),
    ("diese_woche dieser_woche esta_semana 这周 本周 今週", "this week"),
    ("letzten_monat vorigen_monat letztem_monat mes_pasado 上个月 上月 先月", "last month"),
    ("diesen_monat diesem_monat este_mes 这个月 本月 今月", "this month"),
    ("montag lunes 周一 星期一 月曜", "on monday"),
    ("dienstag martes 周二 星期二 火曜", "on tuesday"),
    ("mittwoch miércoles 周三 星期三 水曜", "on wednesday"),
    ("donnerstag jueves 周四 星期四 木曜", "on thursday"),
    ("freitag viernes 周五 星期五 金曜", "on friday"),
    ("samstag sonnabend sábado 周六 星期六 土曜", "on saturday"),
    ("sonntag domingo 周日 星期日 星期天 日曜", "on sunday"),
)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of time: from `start` up to, not including, `end`, in microseconds."""

    start: int
    end: int


def spoken_spans(question: str, now: datetime) -> tuple[TimeSpan, ...]:
    """The times that a question speaks of, likeliest first; a month without a year means any year."""
    question = _with_english_times(question)
    for rule in (_calendar_days, _relative, _weekday, _months, _years):
        spans = tuple(rule(question, now))
        if spans:
            return spans
    return ()


def spoken_moment(text: str, now: datetime) -> int | None:
    """The moment that an ISO text names, or with which the day begins that is spoken of; None for any other text."""
    if (moment := parse_iso(text)) is not None or text.startswith("obs:"):
        return moment
    spans = spoken_spans(text, now)
    return spans[0].start if spans else None


def _with_english_times(question: str) -> str:
    """A question that says in English, too, which day or week it speaks of in another language."""
    lowered = question.lower()
    words = frozenset(re.findall(r"\w+", lowered))
    for phrases, english in _IN_ENGLISH:
        if any(_says(phrase.replace("_", " "), lowered, words) for phrase in phrases.split()):
            return f"{question} {english}"
    return question


def _says(phrase: str, lowered: str, words: frozenset[str]) -> bool:
    """Whether a question has a phrase: as a word of its own where words are written with spaces."""
    return phrase in lowered if " " in phrase or UNSPACED.match(phrase) else phrase in words


def _calendar_days(question: str, now: datetime) -> Iterator[TimeSpan]:
    for match in _patterns()["iso"].finditer(question):
        yield from _day_span(now, int(match[1]), int(match[2]), int(match[3]))
    for match in _patterns()["day"].finditer(question):
        month = _month_number(match["month1"] or match["month2"])
        number, year = int(match["day1"] or match["day2"]), match["year"]
        for candidate in [int(year)] if year else _recent_years(now):
            yield from _day_span(now, candidate, month, number)


def _relative(question: str, now: datetime) -> Iterator[TimeSpan]:
    text = question.lower()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if "day before yesterday" in text:
        yield _days(today - timedelta(days=2))
    elif re.search(r"\byesterday\b|\blast night\b", text):
        yield _days(today - timedelta(days=1))
    elif re.search(r"\btoday\b|\bthis (?:morning|afternoon|evening)\b|\btonight\b", text):
        yield _days(today)
    elif match := _patterns()["ago"].search(text):
        yield _ago(today, _count(match[1]), match[2])
    elif match := _patterns()["unit"].search(text):
        yield _unit(today, back=match[1] in ("last", "previous"), unit=match[2])
    elif match := _patterns()["past"].search(text):
        days = _count(match[1]) * {"day": 1, "week": 7, "month": 30, "year": 365}[match[2]]
        yield TimeSpan(micros(today - timedelta(days=days)), micros(today + timedelta(days=1)))


def _weekday(question: str, now: datetime) -> Iterator[TimeSpan]:
    match = _patterns()["weekday"].search(question.lower())
    if match:
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        back = (today.weekday() - _WEEKDAYS.index(match[1])) % 7 or 7
        yield _days(today - timedelta(days=back))


def _months(question: str, now: datetime) -> Iterator[TimeSpan]:
    for match in _patterns()["month"].finditer(question):
        if not match["before"] and not match["year"]:
            continue
        month = _month_number(match["month"])
        for year in [int(match["year"])] if match["year"] else _recent_years(now):
            start = datetime(year, month, 1, tzinfo=now.tzinfo)
            yield TimeSpan(micros(start), micros(start + timedelta(days=monthrange(year, month)[1])))


def _years(question: str, now: datetime) -> Iterator[TimeSpan]:
    for match in _patterns()["year"].finditer(question):
        start = datetime(int(match[1]), 1, 1, tzinfo=now.tzinfo)
        yield TimeSpan(micros(start), micros(start.replace(year=start.year + 1)))


def _recent_years(now: datetime) -> range:
    return range(now.year, now.year - _YEARS_BACK, -1)


def _day_span(now: datetime, year: int, month: int, number: int) -> Iterator[TimeSpan]:
    try:
        yield _days(datetime(year, month, number, tzinfo=now.tzinfo))
    except ValueError:
        return  # 30 February is no day: the question then has no date


def _days(start: datetime, count: int = 1) -> TimeSpan:
    return TimeSpan(micros(start), micros(start + timedelta(days=count)))


def _ago(today: datetime, count: int, unit: str) -> TimeSpan:
    """Around that many units ago, as loosely as people mean it."""
    days, slack = {"day": (1, 0), "week": (7, 3), "month": (30, 10), "year": (365, 60)}[unit]
    middle = today - timedelta(days=min(count, 100) * days)
    return _days(middle - timedelta(days=slack), 1 + 2 * slack)


def _unit(today: datetime, *, back: bool, unit: str) -> TimeSpan:
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return _days(saturday, 2)
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + (7 if back else 0))
        return _days(monday, 7)
    if unit == "month":
        first = today.replace(day=1)
        start = (first - timedelta(days=1)).replace(day=1) if back else first
        return _days(start, monthrange(start.year, start.month)[1])
    start = today.replace(month=1, day=1, year=today.year - (1 if back else 0))
    return TimeSpan(micros(start), micros(start.replace(year=start.year + 1)))


def _count(text: str) -> int:
    return _NUMBERS.get(text) or (int(text) if text.isdigit() else 1)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, start=1) if month.startswith(name.lower()[:3]))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    months = "|".join(f"{month.capitalize()}|{month[:3].capitalize()}" for month in _MONTHS)
    year = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d))?"
    number = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"
    return {
        "iso": re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)"),
        "day": re.compile(
            rf"(?:\b(?P<day1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month1>{months})\.?"
            rf"|\b(?P<month2>{months})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)){year}"
        ),
        "ago": re.compile(rf"\b{number}\s+(day|week|month|year)s?\s+ago\b"),
        "unit": re.compile(r"\b(last|previous|this)\s+(weekend|week|month|year)\b"),
        "past": re.compile(rf"\b(?:last|past|previous)\s+{number}\s+(day|week|month|year)s?\b"),
        "weekday": re.compile(rf"\b(?:last|this|on|since)\s+({'|'.join(_WEEKDAYS)})\b"),
        # "may" and "march" are months only where they are written like names and stand in such company.
        "month": re.compile(
            rf"(?P<before>\b(?:[Ii]n|[Dd]uring|[Ss]ince|[Ll]ast|[Oo]f|[Ee]arly|[Mm]id|[Ll]ate|[Bb]y)\s+)?"
            rf"\b(?P<month>{months})\b\.?{year}"
        ),
        "year": re.compile(r"\b(?:in|during|of|since)\s+((?:19|20)\d\d)\b"),
    }
