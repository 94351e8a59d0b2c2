"""Authors of commits are detected in queries."""

from __future__ import annotations

import pytest

from deltos.domains.history.authors import find_authors, may_mention_author

KNOWN = [
    "Ben Noordhuis", "Ankita Katiyar", "cjihrig", "José Núñez", "The Release Bot", "dependabot[bot]", "Grace O'Hara",
    "Benjamin Noordhuis", "Default", "al",
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "names", "rest"),
    [
        ("commits by Ben Noordhuis in 2019", ["Ben Noordhuis"], "commits in 2019"),
        ("commits by ben in 2019", ["Ben Noordhuis"], "commits in 2019"),
        ("changes from noordhuis", ["Ben Noordhuis", "Benjamin Noordhuis"], "changes"),
        ("what did Ankita change this year", ["Ankita Katiyar"], "what did change this year"),
        ("what has ankita katiyar been working on", ["Ankita Katiyar"], "what has been working on"),
        ("what did Ankita fix in the catalog", ["Ankita Katiyar"], "what did fix in the catalog"),
        ("Ankita Katiyar", ["Ankita Katiyar"], ""),
        ("cjihrig's latest commits", ["cjihrig"], "latest commits"),
        ("last commit by jose nunez", ["José Núñez"], "last commit"),
        ("commits of dependabot[bot]", ["dependabot[bot]"], "commits of ]"),
        ("commits by dependabot", ["dependabot[bot]"], "commits"),
        ("Grace O'Hara commits", ["Grace O'Hara"], "commits"),
    ],
)
def test_finds_author_in_query(question: str, names: list[str], rest: str) -> None:
    assert may_mention_author(question)
    asked = find_authors(question, KNOWN)
    assert sorted(asked.names) == names
    assert asked.remaining_query == rest


@pytest.mark.parametrize(
    "question",
    [
        "commits by somebody else",
        "what did we change this year",
        "what did the change break",
        "who is Ben",
        "commits about the release",
        "is it called by default",
        "commits by al",
        "ben",
        "cjihrig",
        "release bot",
        "",
    ],
)
def test_query_without_a_phrase_like_by_author_has_no_authors(question: str) -> None:
    asked = find_authors(question, KNOWN)
    assert asked.names == ()
    assert asked.remaining_query == question


def test_queries_about_code_skip_author_lookup() -> None:
    assert not any(map(may_mention_author, ["rate limits", "where is the cache cleared", "parse_header", "HttpClient"]))


def test_many_authors_are_matched_quickly() -> None:
    known = [f"Person Number {number} Of Many" for number in range(20_000)]
    assert find_authors("commits by person number 77 of many", known).names == ("Person Number 77 Of Many",)
