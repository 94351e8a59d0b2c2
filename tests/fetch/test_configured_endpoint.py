"""Configured endpoints may be private, but their responses cannot redirect requests elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.errors import AddressRefused, FetchFailed
from deltos.fetch.configured_endpoint import ask
from tests.loopback import Page

if TYPE_CHECKING:
    from tests.loopback import Site


def test_a_private_address_receives_the_given_headers(site: Site) -> None:
    site.text("/keys", "{}")
    assert ask(f"{site.url}/keys", None, {"Authorization": "Bearer x"}, 5.0) == b"{}"
    assert site.request_headers["/keys"]["authorization"] == "Bearer x"


def test_redirects_are_not_followed_so_that_keys_are_not_leaked(site: Site) -> None:
    site.redirect("/keys", "/elsewhere")
    site.text("/elsewhere", "{}")
    with pytest.raises(FetchFailed, match="302"):
        ask(f"{site.url}/keys", None, {"Authorization": "Bearer x"}, 5.0)
    assert site.asked["/elsewhere"] == 0


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://metadata.google.internal/", "file:///etc/passwd"])
def test_metadata_addresses_and_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        ask(url, None, {}, 5.0)


def test_a_failure_reports_whether_it_is_retryable(site: Site) -> None:
    site.pages["/busy"] = Page(status=503)
    site.pages["/gone"] = Page(status=404)
    for path, retryable in (("/busy", True), ("/gone", False)):
        with pytest.raises(FetchFailed) as failed:
            ask(f"{site.url}{path}", None, {}, 5.0)
        assert failed.value.retryable is retryable
