"""URLs are normalised, and a source's scope decides which ones belong to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.fetch.url import SiteScope, folder_of, looks_endless, normalise


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Example.ORG:443/a", "https://example.org/a"),
        ("http://example.org:8080", "http://example.org:8080/"),
        ("https://example.org/a#part", "https://example.org/a"),
        ("https://example.org/a?utm_source=x&b=2&a=1&fbclid=y", "https://example.org/a?a=1&b=2"),
        ("https://example.org/a//b/../c/", "https://example.org/a/c/"),
        ("https://example.org/%7Euser/ä", "https://example.org/~user/%C3%A4"),
        ("https://example.org./", "https://example.org/"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        ("https://Bücher.example./ä", "https://xn--bcher-kva.example/%C3%A4"),
        (f"https://{'ä' * 70}.example/", f"https://{'ä' * 70}.example/"),  # the label is too long for a host name
    ],
)
def test_urls_are_normalised(url: str, expected: str) -> None:
    assert normalise(url) == expected


@given(st.from_regex(r"https://[a-z]{1,8}\.org/[a-zA-Z0-9/._~%-]{0,30}(\?[a-z]=[0-9])?", fullmatch=True))
def test_normalisation_is_idempotent(url: str) -> None:
    once = normalise(url)
    assert normalise(once) == once


def test_the_scope_of_a_start_path_is_its_folder() -> None:
    assert folder_of("/guide/a.html") == "/guide/"
    assert folder_of("/guide") == "/guide/"
    assert folder_of("/guide/") == "/guide/"
    assert folder_of("/") == "/"


def test_a_source_stays_under_its_start_path() -> None:
    scope = SiteScope("https://example.org/docs/start.html")
    assert scope.admits("https://example.org/docs/start.html")
    assert scope.admits("https://example.org/docs/a/b")
    for outside in (
        "https://example.org/blog/",
        "https://other.org/docs/a",
        "https://example.org/docs/logo.png",
        "ftp://example.org/docs/a",
        "https://example.org/docsother",
    ):
        assert not scope.admits(outside)


def test_a_start_path_without_a_trailing_slash_does_not_match_longer_names() -> None:
    scope = SiteScope("https://example.org/docs")
    assert scope.admits("https://example.org/docs/a")
    assert not scope.admits("https://example.org/docs-old/a")


def test_globs_replace_the_default_scope() -> None:
    scope = SiteScope("https://example.org/docs/", include=("/api/*", "https://cdn.org/d/*"), exclude=("*/old/*",))
    assert scope.admits("https://example.org/docs/")
    assert scope.admits("https://example.org/api/x")
    assert scope.admits("https://cdn.org/d/x")
    assert not scope.admits("https://cdn.org/api/x")
    assert not scope.admits("https://example.org/docs/a")
    assert not scope.admits("https://example.org/api/old/x")


def test_endless_generated_urls_are_detected() -> None:
    assert looks_endless("https://example.org/" + "a" * 3000)
    assert looks_endless("https://example.org/next/next/next/next/")
    assert not looks_endless("https://example.org/a/b/a/b/a/b")
