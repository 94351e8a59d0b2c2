"""Public and private addresses are distinguished in every notation; private ones are contacted only if allowed."""

from __future__ import annotations

import pytest

from deltos.errors import AddressRefused, BadArgument, DeltosError
from deltos.fetch.address import check_addresses, checked_addresses, is_public, require_web_address
from deltos.fetch.http import HttpClient
from deltos.private_hosts import NO_PRIVATE_HOSTS, PrivateHosts
from tests.loopback import LOOPBACK, Site

PUBLIC = "93.184.216.34"
METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::a9fe:a9fe",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "::ffff:0:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::169.254.169.254",
    "64:ff9b:1:a9fe:a9:fe00::",
    "2002:a9fe:a9fe::1",
    "2001:0:a9fe:a9fe::1",
    "2606:2800::5efe:169.254.169.254",
]


@pytest.mark.parametrize(
    "address", [PUBLIC, "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "8.8.8.8", "192.0.1.1"]
)
def test_public_addresses_are_recognised(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *METADATA,
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "0.0.0.0",
        "0.1.2.3",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fd12::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::10.0.0.1",
        "::93.184.216.34",
        "::ffff:0:10.0.0.1",
        "::ffff:0:93.184.216.34",
        "2002:7f00:1::",
        "2002:5db8:d822::",
        "64:ff9b::7f00:1",
        "64:ff9b:1::93.184.216.34",
        "2001:0:7f00:1::",
        "2001:db8::1",
        "2001:2::1",
        "3fff::1",
        "5f00::1",
        "100::1",
        "2606:2800::5efe:10.0.0.1",
        "2606:2800::200:5efe:127.0.0.1",
    ],
)
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_a_host_on_this_machine_is_refused_unless_allowed() -> None:
    for named in ("127.0.0.1", "127.0.0.0/8", "127.0.0.0/24,wiki.corp"):
        assert checked_addresses("127.0.0.1", 80, PrivateHosts.parse(named)) == ["127.0.0.1"]
    assert "127.0.0.1" in checked_addresses("LOCALHOST", 80, PrivateHosts.parse("localhost"))
    for named in ("", "10.0.0.0/8", "wiki.corp"):
        with pytest.raises(AddressRefused, match=r"DELTOS_ALLOW_PRIVATE_HOSTS=wiki\.corp"):
            checked_addresses("127.0.0.1", 80, PrivateHosts.parse(named))


@pytest.mark.parametrize(
    "spelling",
    [
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.1",
        "0177.0.0.1",
        "0x7f.1",
        "127.0.0.1.",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "::ffff:7f00:1",
        "ｌｏｃａｌｈｏｓｔ",
        "fe80::1%eth0",
        "::1%lo",
    ],
)
def test_every_spelling_of_a_private_address_is_refused(spelling: str) -> None:
    with pytest.raises(DeltosError) as refused:
        checked_addresses(spelling, 80, PrivateHosts.parse("10.0.0.0/8"))
    assert "Cannot resolve the host" in str(refused.value) or isinstance(refused.value, AddressRefused)


def test_a_name_with_a_public_and_a_private_address_is_refused() -> None:
    mixed = [PUBLIC, "10.1.2.3"]
    with pytest.raises(AddressRefused, match="is also on a private network"):
        check_addresses("rebind.example", mixed, NO_PRIVATE_HOSTS)
    with pytest.raises(AddressRefused):
        check_addresses("rebind.example", mixed, PrivateHosts.parse("other.example,10.2.0.0/16"))
    check_addresses("rebind.example", mixed, PrivateHosts.parse("10.1.0.0/16"))
    check_addresses("rebind.example", mixed, PrivateHosts.parse("Rebind.Example."))
    check_addresses("rebind.example", ["::ffff:10.1.2.3"], PrivateHosts.parse("10.1.0.0/16"))


@pytest.mark.parametrize("address", METADATA)
def test_cloud_metadata_addresses_are_always_refused(address: str) -> None:
    everything = PrivateHosts.parse(
        "host.example,0.0.0.0/8,100.0.0.0/8,168.0.0.0/8,169.0.0.0/8,192.0.0.0/8,"
        "fc00::/7,fe80::/10,::/16,2002::/16,2001::/16,2600::/12,64:ff9b::/32"
    )
    with pytest.raises(AddressRefused, match="cloud metadata address"):
        check_addresses("host.example", [PUBLIC, address], everything)


@pytest.mark.parametrize("name", ["metadata.google.internal", "METADATA.GOOGLE.INTERNAL.", "metadata.goog"])
def test_cloud_metadata_names_are_refused_before_they_are_resolved(name: str) -> None:
    with pytest.raises(AddressRefused, match="cloud metadata address"):
        checked_addresses(name, 80, PrivateHosts.parse(f"{name},169.254.0.0/16"))


@pytest.mark.parametrize(
    "host",
    ["1", "true", "YES", "on", "*", "all", "0", "0.0.0.0/0", "::/0", "128.0.0.0/1", "*.corp", "http://wiki", "a:80"],
)
def test_malformed_private_hosts_are_refused_with_an_example(host: str) -> None:
    with pytest.raises(BadArgument, match=r"DELTOS_ALLOW_PRIVATE_HOSTS=wiki\.corp,10\.1\.0\.0/16"):
        PrivateHosts.parse(f"wiki.corp,{host}")


def test_private_hosts_are_printed_as_written() -> None:
    listed = PrivateHosts.parse(" wiki.corp, 10.1.0.0/16 ,[fd00::1],Bücher.example.,")
    assert str(listed) == "wiki.corp,xn--bcher-kva.example,10.1.0.0/16,fd00::1/128"
    assert PrivateHosts.parse(str(listed)) == listed


@pytest.mark.parametrize(
    "url", ["http://a\\@b/", "http://a b/", "http://a\x01b/", "http:///x", "http://[::1/", "http://a:99999/"]
)
def test_ambiguous_addresses_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        require_web_address(url)


def test_a_redirect_to_a_metadata_address_is_refused(site: Site) -> None:
    site.redirect("/a", "http://169.254.169.254/latest/meta-data/")
    client = HttpClient(private_hosts=LOOPBACK)
    with pytest.raises(AddressRefused, match="cloud metadata address"):
        client.get(f"{site.url}/a")
    client.close()
