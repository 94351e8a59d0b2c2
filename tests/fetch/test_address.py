"""Public addresses are told from all others, however they are written."""

from __future__ import annotations

import pytest

from deltos.errors import AddressRefused
from deltos.fetch.address import checked_addresses, is_public


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "2001:0:7f00:1::",
    ],
)
def test_all_others_are_not(address: str) -> None:
    assert not is_public(address)


def test_a_host_with_only_private_addresses_is_refused_unless_allowed() -> None:
    assert checked_addresses("127.0.0.1", 80, allow_private=True) == ["127.0.0.1"]
    with pytest.raises(AddressRefused, match="DELTOS_ALLOW_PRIVATE_HOSTS"):
        checked_addresses("127.0.0.1", 80, allow_private=False)
