"""Parsing of dates in natural-language questions into time spans."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.model import LAST_MOMENT
from deltos.text.language_table import table
from deltos.text.times import micros, parse_iso
from deltos.text.unspaced_scripts import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_YEARS_BACK = 10  # number of past years considered for a month or date without a year
_ABBREVIATION_CHARACTERS = 3  # length of an abbreviated month name, such as `Jan`
_START_WORDS = ("since", "from", "between")
_RANGE_END_WORDS = ("to", "and", "through")  # words before the end of a range, only if the text also contains its start
_MAX_TIME_CHARACTERS = 40  # maximum length of the text after a word such as `since` that is searched for a time
_MAX_FILLER_WORDS = 3  # maximum number of other words between a time and a word such as `since`


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time span from `start` to `end` (exclusive), in microseconds since 1970."""

    start: int
    end: int


class _DateMention(NamedTuple):
    """A time span that a text mentions, and the offsets of the mention in the text."""

    span: TimeSpan
    start: int
    end: int


def mentioned_spans(question: str, now: datetime) -> tuple[TimeSpan, ...]:
    """Return the time spans that a question mentions, most probable first. A month without a year has several spans."""
    return tuple(mention.span for mention in _find_mentions(_append_english_time(question), now))


def requested_spans(question: str, now: datetime) -> tuple[TimeSpan, ...]:
    """Return the time spans to which a question refers.

    Words such as `since` and `before` set the start or end of a span. Without such words, the mentioned time spans are
    returned.
    """
    question = _append_english_time(question)
    starts, end = [0], LAST_MOMENT
    is_bounded = has_begun = False
    of_time: tuple[TimeSpan, ...] = ()
    for bound in _patterns()["bound"].finditer(question):
        word = " ".join(bound[1].lower().split())
        rest = question[bound.end() :]
        mentions = _find_mentions_at_start(rest, now)
        if not mentions or (word in _RANGE_END_WORDS and not has_begun):
            continue
        if word == "before" and question[: bound.start()].lower().endswith("day "):
            continue  # "the day before yesterday" is a date
        spans = [mention.span for mention in mentions]
        if word == "from" and not _patterns()["onwards"].match(rest, mentions[0].end):
            of_time = tuple(spans)
            continue
        is_bounded, has_begun = True, has_begun or word in _START_WORDS
        if word in ("after", "newer than", "later than"):
            starts = [span.end for span in spans]
        elif word in _START_WORDS:
            starts = [span.start for span in spans]
        else:
            is_before = word in ("before", "older than", "earlier than", "prior to")
            end = spans[0].start if is_before else spans[0].end
    if not is_bounded:
        return mentioned_spans(question, now) or of_time
    start = next((start for start in starts if start < end), starts[0])
    return (TimeSpan(start, max(start, end)),)


def _find_mentions_at_start(text: str, now: datetime) -> list[_DateMention]:
    """Return the possible time spans at the start of a text, most probable first; spans in the future come last."""
    # A preposition is added, because some times are recognised only after a preposition.
    for preposition in ("in ", "on "):
        found = [
            _DateMention(mention.span, 0, mention.end - len(preposition))
            for mention in _find_mentions(preposition + text[:_MAX_TIME_CHARACTERS], now)
            if text[: max(0, mention.start - len(preposition))].lower().split() in ([], ["the"])
        ]
        if found:
            return sorted(found, key=lambda mention: mention.span.start > micros(now))
    return []


def _find_mentions(question: str, now: datetime) -> tuple[_DateMention, ...]:
    for rule in (_find_calendar_days, _find_relative_dates, _find_weekday, _find_months, _find_years):
        if mentions := tuple(rule(question, now)):
            return mentions
    return ()


def parse_moment(text: str, now: datetime) -> int | None:
    """Parse an ISO 8601 text, or return the start of a time span in natural language.

    Return None if the text is invalid.
    """
    if (moment := parse_iso(text)) is not None or text.startswith("obs:"):
        return moment
    spans = mentioned_spans(text, now)
    return spans[0].start if spans else None


def _append_english_time(question: str) -> str:
    """Append the English form of a time expression to a question in another language."""
    lowered = question.lower()
    words = frozenset(re.findall(r"\w+", lowered))
    for phrases, english in table()["dates"]["english"]:  # longer phrases come first, because they contain shorter ones
        for phrase in (each.replace("_", " ") for each in phrases.split()):
            if _contains_phrase(phrase, lowered, words):
                before, _, after = lowered.partition(phrase)
                bound = _bound_word(before, after)
                return f"{question} {bound} {english.removeprefix('on ')}" if bound else f"{question} {english}"
    return question


def _bound_word(before: str, after: str) -> str:
    """Return the English form of a word such as `since` or `until` before or after a time.

    Return an empty string if there is no such word.
    """
    words = before.split()
    while words and words[-1] in _words("fillers") and len(before.split()) - len(words) < _MAX_FILLER_WORDS:
        words.pop()
    words_before = " " + " ".join(words[-2:])
    text_after = after.lstrip(" ".join((*_words("particles"), "")))
    for english, leading, following in _bound_words_by_meaning():
        is_led = any(words_before.endswith(word if UNSPACED.match(word) else f" {word}") for word in leading)
        if is_led or text_after.startswith(following):
            return english
    return ""


def _contains_phrase(phrase: str, lowered: str, words: frozenset[str]) -> bool:
    """Whether a question contains a phrase.

    If the phrase is a single word and its script uses spaces, it must match an entire word.
    """
    return phrase in lowered if " " in phrase or UNSPACED.match(phrase) else phrase in words


def _find_calendar_days(question: str, now: datetime) -> Iterator[_DateMention]:
    for match in _patterns()["iso"].finditer(question):
        yield from _day_span(match, now, int(match[1]), int(match[2]), int(match[3]))
    for match in _patterns()["day"].finditer(question):
        name, year = match["month1"] or match["month2"], match["year"]
        has_context = year or match["before"] or match["suffix1"] or match["suffix2"]
        if not (name[0].isupper() or has_context or len(name) > _ABBREVIATION_CHARACTERS):
            continue
        if name in _words("ambiguous_months") and not (year or match["before"]):
            continue
        number = int(match["day1"] or match["day2"])
        for candidate in [int(year)] if year else _recent_years(now):
            yield from _day_span(match, now, candidate, _month_number(name), number)


def _find_relative_dates(question: str, now: datetime) -> Iterator[_DateMention]:
    text = question.lower()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)

    def mention_of(match: re.Match[str], span: TimeSpan) -> _DateMention:
        return _DateMention(span, match.start(), match.end())

    if match := _patterns()["two days ago"].search(text):
        yield mention_of(match, _days_span(today - timedelta(days=2)))
    elif match := _patterns()["yesterday"].search(text):
        yield mention_of(match, _days_span(today - timedelta(days=1)))
    elif match := _patterns()["today"].search(text):
        yield mention_of(match, _days_span(today))
    elif match := _patterns()["ago"].search(text):
        yield mention_of(match, _span_around(today, _parse_count(match[1]), match[2]))
    elif match := _patterns()["unit"].search(text):
        yield mention_of(match, _calendar_unit_span(today, back=match[1] in ("last", "previous"), unit=match[2]))
    elif match := _patterns()["past"].search(text):
        days = _parse_count(match[1]) * {"day": 1, "week": 7, "month": 30, "year": 365}[match[2]]
        yield mention_of(match, TimeSpan(micros(today - timedelta(days=days)), micros(today + timedelta(days=1))))


def _find_weekday(question: str, now: datetime) -> Iterator[_DateMention]:
    match = _patterns()["weekday"].search(question.lower())
    if match:
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        back = (today.weekday() - _words("weekdays").index(match[1])) % 7 or 7
        yield _DateMention(_days_span(today - timedelta(days=back)), match.start(), match.end())


def _find_months(question: str, now: datetime) -> Iterator[_DateMention]:
    for match in _patterns()["iso month"].finditer(question):
        yield _DateMention(_month_span(now, int(match[1]), int(match[2])), match.start(), match.end())
    for match in _patterns()["month"].finditer(question):
        name, before = match["month"], (match["before"] or "").strip().lower()
        if not before and not match["year"]:
            continue
        if name[0].islower() and not match["year"]:
            # For "may" and abbreviations in lower case, a preceding `of` or `by` does not prove that they are months.
            is_ambiguous = before in ("of", "by") and (
                name in _words("ambiguous_months") or len(name) == _ABBREVIATION_CHARACTERS
            )
            if is_ambiguous or _is_part_of_name(question, match):
                continue
        for year in [int(match["year"])] if match["year"] else _recent_years(now):
            yield _DateMention(_month_span(now, year, _month_number(name)), match.start(), match.end())


def _month_span(now: datetime, year: int, month: int) -> TimeSpan:
    return _days_span(datetime(year, month, 1, tzinfo=now.tzinfo), monthrange(year, month)[1])


def _is_part_of_name(question: str, match: re.Match[str]) -> bool:
    """Whether a month name is part of an identifier: `dec.rs`, `march-native`, `may()`."""
    return bool(re.match(r"[\w(/-]|\.\w", question[match.end("month") :]))


def _find_years(question: str, now: datetime) -> Iterator[_DateMention]:
    for match in _patterns()["year"].finditer(question):
        start = datetime(int(match[1]), 1, 1, tzinfo=now.tzinfo)
        span = TimeSpan(micros(start), micros(start.replace(year=start.year + 1)))
        yield _DateMention(span, match.start(), match.end())


def _recent_years(now: datetime) -> range:
    return range(now.year, now.year - _MAX_YEARS_BACK, -1)


def _day_span(match: re.Match[str], now: datetime, year: int, month: int, number: int) -> Iterator[_DateMention]:
    try:
        yield _DateMention(_days_span(datetime(year, month, number, tzinfo=now.tzinfo)), match.start(), match.end())
    except ValueError:
        return  # the date does not exist, such as 30 February


def _days_span(start: datetime, count: int = 1) -> TimeSpan:
    return TimeSpan(micros(start), micros(start + timedelta(days=count)))


def _span_around(today: datetime, count: int, unit: str) -> TimeSpan:
    """Return the time span meant by `count` days, weeks, months or years ago. It is longer for larger units."""
    days, slack = {"day": (1, 0), "week": (7, 3), "month": (30, 10), "year": (365, 60)}[unit]
    middle = today - timedelta(days=min(count, 100) * days)
    return _days_span(middle - timedelta(days=slack), 1 + 2 * slack)


def _calendar_unit_span(today: datetime, *, back: bool, unit: str) -> TimeSpan:
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return _days_span(saturday, 2)
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + (7 if back else 0))
        return _days_span(monday, 7)
    if unit == "month":
        first = today.replace(day=1)
        start = (first - timedelta(days=1)).replace(day=1) if back else first
        return _days_span(start, monthrange(start.year, start.month)[1])
    start = today.replace(month=1, day=1, year=today.year - (1 if back else 0))
    return TimeSpan(micros(start), micros(start.replace(year=start.year + 1)))


def _parse_count(text: str) -> int:
    numbers = _words("numbers")
    return numbers.index(text) + 1 if text in numbers else int(text) if text.isdigit() else 1


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_words("months"), start=1) if month.startswith(name.lower()[:3]))


@cache
def _words(name: str) -> tuple[str, ...]:
    """Return the given list of words about dates from the language table."""
    return tuple(table()["dates"][name].split())


@cache
def _bound_words_by_meaning() -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return words of other languages that mean `since`, `until` or `before`.

    Each group has the words that precede the time, and the words that follow it.
    """
    return [(name, tuple(leading.split()), tuple(after.split())) for name, leading, after in table()["dates"]["bounds"]]


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    months = "|".join(f"{month}|{month[:3]}" for month in _words("months"))
    named = f"(?i:{months})"
    year = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d))?"
    number = rf"(\d{{1,3}}|{'|'.join((*_words('articles'), *_words('numbers')))})"
    return {
        "iso": re.compile(r"\b((?:19|20)\d\d)[-/](\d\d)[-/](\d\d)"),
        "iso month": re.compile(r"\b(?i:in|during|of|since)\s+((?:19|20)\d\d)[-/](0[1-9]|1[0-2])\b(?![-/])"),
        "day": re.compile(
            r"(?P<before>\b(?i:on|since|before|after|until|till)\s+(?:the\s+)?)?"
            rf"(?:\b(?P<day1>\d{{1,2}})(?P<suffix1>st|nd|rd|th)?\s+(?:of\s+)?(?P<month1>{named})\b\.?"
            rf"|\b(?P<month2>{named})\.?\s+(?P<day2>\d{{1,2}})(?P<suffix2>st|nd|rd|th)?(?!\d)){year}"
        ),
        "two days ago": re.compile(r"day before yesterday"),
        "yesterday": re.compile(r"\byesterday\b|\blast night\b"),
        "today": re.compile(r"\btoday\b|\bthis (?:morning|afternoon|evening)\b|\btonight\b"),
        "ago": re.compile(rf"\b{number}\s+(day|week|month|year)s?\s+ago\b"),
        "unit": re.compile(r"\b(last|previous|this)\s+(weekend|week|month|year)\b"),
        "past": re.compile(rf"\b(?:last|past|previous)\s+{number}\s+(day|week|month|year)s?\b"),
        "weekday": re.compile(rf"\b(?:last|this|on|since)\s+({'|'.join(_words('weekdays'))})\b"),
        # The words "may" and "march" mean months only after one of these words or before a year.
        "month": re.compile(
            rf"(?P<before>\b(?i:in|during|since|last|of|early|mid|late|by)\s+)?\b(?P<month>{named})\b\.?{year}"
        ),
        "year": re.compile(r"\b(?i:in|during|of|since)\s+((?:19|20)\d\d)\b"),
        "bound": re.compile(
            r"\b(since|after|from|between|before|until|till|through|to|and|up\s+to|prior\s+to"
            r"|(?:newer|later|older|earlier)\s+than)\s+",
            re.IGNORECASE,
        ),
        "onwards": re.compile(r"\s{1,3}(?:on|onwards?|to|until|till|through|up\s{1,3}to)\b", re.IGNORECASE),
    }
