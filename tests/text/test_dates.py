"""Dates in natural language."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from deltos.model import LAST_MOMENT
from deltos.text.dates import mentioned_spans, parse_moment, requested_spans
from deltos.text.times import day, iso, micros, moment_of, parse_iso

NOW = datetime(2025, 5, 14, 12, 0, tzinfo=UTC)  # this date is a Wednesday


def parsed_spans(question: str) -> list[tuple[str, str]]:
    return [(day(span.start), day(span.end)) for span in mentioned_spans(question, NOW)]


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("what broke yesterday", "2025-05-13", "2025-05-14"),
        ("and the day before yesterday?", "2025-05-12", "2025-05-13"),
        ("what did I do today", "2025-05-14", "2025-05-15"),
        ("this morning's error", "2025-05-14", "2025-05-15"),
        ("last Tuesday", "2025-05-13", "2025-05-14"),
        ("last wednesday", "2025-05-07", "2025-05-08"),
        ("on Friday", "2025-05-09", "2025-05-10"),
        ("was haben wir am Freitag entschieden", "2025-05-09", "2025-05-10"),
        ("was lief gestern schief", "2025-05-13", "2025-05-14"),
        ("qué decidimos el viernes", "2025-05-09", "2025-05-10"),
        ("la semana pasada", "2025-05-05", "2025-05-12"),
        ("上周决定了什么", "2025-05-05", "2025-05-12"),
        ("金曜日に決めたこと", "2025-05-09", "2025-05-10"),
        ("前天改了什么", "2025-05-12", "2025-05-13"),
        ("last week", "2025-05-05", "2025-05-12"),
        ("this week", "2025-05-12", "2025-05-19"),
        ("last weekend", "2025-05-10", "2025-05-12"),
        ("last month", "2025-04-01", "2025-05-01"),
        ("this month", "2025-05-01", "2025-06-01"),
        ("last year", "2024-01-01", "2025-01-01"),
        ("three days ago", "2025-05-11", "2025-05-12"),
        ("2 weeks ago", "2025-04-27", "2025-05-04"),
        ("the past 10 days", "2025-05-04", "2025-05-15"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("on May 7th, 2023", "2023-05-07", "2023-05-08"),
        ("on the 7th of May 2023", "2023-05-07", "2023-05-08"),
        ("2023-05-07", "2023-05-07", "2023-05-08"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("in Feb", "2025-02-01", "2025-03-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("In 2022-03", "2022-03-01", "2022-04-01"),
        ("on 2023/05/07", "2023-05-07", "2023-05-08"),
        ("what changed in august 2024", "2024-08-01", "2024-09-01"),
        ("in may", "2025-05-01", "2025-06-01"),
        ("since march", "2025-03-01", "2025-04-01"),
        ("in dec.", "2025-12-01", "2026-01-01"),
        ("on 7 may 2023", "2023-05-07", "2023-05-08"),
        ("on may 7", "2025-05-07", "2025-05-08"),
        ("AUG 7th, 2023", "2023-08-07", "2023-08-08"),
        ("october 12", "2025-10-12", "2025-10-13"),
    ],
)
def test_a_natural_language_date_is_a_span(question: str, start: str, end: str) -> None:
    assert parsed_spans(question)[0] == (start, end)


def test_a_month_without_a_year_matches_every_year_latest_first() -> None:
    found = parsed_spans("what happened in March?")
    assert found[:2] == [("2025-03-01", "2025-04-01"), ("2024-03-01", "2024-04-01")]


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("commits since 2024-08-10", "2024-08-10", "never"),
        ("what changed since last week", "2025-05-05", "never"),
        ("since Monday", "2025-05-12", "never"),
        ("since june", "2024-06-01", "never"),
        ("After 2022", "2023-01-01", "never"),
        ("newer than 3 may 2023", "2023-05-04", "never"),
        ("from 2022 on", "2022-01-01", "never"),
        ("commits from 2022", "2022-01-01", "2023-01-01"),
        ("commits before 2019-06-01", "ever", "2019-06-01"),
        ("before the 7th of May 2023", "ever", "2023-05-07"),
        ("until may 2023", "ever", "2023-06-01"),
        ("prior to 2021", "ever", "2021-01-01"),
        ("between 2021 and 2022", "2021-01-01", "2023-01-01"),
        ("between march and april 2023", "2023-03-01", "2023-05-01"),
        ("from May 2021 to June 2022", "2021-05-01", "2022-07-01"),
        ("since 2021 and before 2023", "2021-01-01", "2023-01-01"),
        ("after the parser was rewritten in 2021", "2021-01-01", "2022-01-01"),
        ("before the release and in 2021", "2021-01-01", "2022-01-01"),
        ("last week", "2025-05-05", "2025-05-12"),
        ("the day before yesterday", "2025-05-12", "2025-05-13"),
        ("was haben wir seit Montag geändert", "2025-05-12", "never"),
        ("seit letztem Montag", "2025-05-12", "never"),
        ("qué decidimos desde el lunes", "2025-05-12", "never"),
        ("antes del lunes", "ever", "2025-05-12"),
        ("bis gestern", "ever", "2025-05-14"),
        ("周一以来改了什么", "2025-05-12", "never"),
        ("周一之前的决定", "ever", "2025-05-12"),
        ("月曜日から何を変えた", "2025-05-12", "never"),
        ("am Montag", "2025-05-12", "2025-05-13"),
        ("vorgestern", "2025-05-12", "2025-05-13"),
    ],
)
def test_a_preposition_before_a_date_limits_the_requested_span(question: str, start: str, end: str) -> None:
    (span,) = requested_spans(question, NOW)
    shown = (day(span.start) if span.start else "ever", day(span.end) if span.end < LAST_MOMENT else "never")
    assert shown == (start, end)


@pytest.mark.parametrize(
    "question", ["since when is it slow", "before the call", "jump to 2020 lines", "from utils import x", "and 2021"]
)
def test_a_preposition_without_a_date_sets_no_limit(question: str) -> None:
    assert requested_spans(question, NOW) == ()


@pytest.mark.parametrize(
    "question",
    [
        "may I march on?", "on 30 February", "ten tests", "the second week plan", "2023", "the user may 7 times",
        "in dec.rs", "by may", "value of dec", "in march-native", "it may 3 files", "dec 2 counters",
    ],
)  # fmt: skip
def test_other_words_are_not_dates(question: str) -> None:
    assert parsed_spans(question) == []


def test_formatting_and_parsing_a_time_restores_it() -> None:
    moment = micros(datetime(2023, 5, 8, 13, 56, 0, 123456, tzinfo=UTC))
    assert parse_iso(iso(moment)) == moment
    assert moment_of(moment).year == 2023


def test_a_time_without_zone_is_utc_and_invalid_text_is_none() -> None:
    assert parse_iso("2023-05-08T13:56:00") == parse_iso("2023-05-08T13:56:00Z")
    assert parse_iso("D1:3") is None


def test_a_moment_is_parsed_from_an_iso_time_or_the_start_of_a_named_day() -> None:
    assert parse_moment("2025-05-07T14:00+00:00", NOW) == parse_iso("2025-05-07T14:00+00:00")
    assert parse_moment("yesterday", NOW) == parse_iso("2025-05-13T00:00+00:00")
    assert parse_moment("obs:2025", NOW) is None
    assert parse_moment("a1b2c3d4", NOW) is None
