"""Random secrets in the formats that vendors document, independent of the redaction rules.

secret_kinds.py lists the kinds and their contexts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING

import deltos.redaction.secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "2": string.ascii_uppercase + "234567",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "u": string.ascii_letters + string.digits + "-_",
    "w": string.ascii_letters + string.digits + "_",
    "B": "qpzry9x8gf2tvdw0s3jn54khce6mua7l".upper(),
    "k": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}
# Alphabet of WordPress salts, without the characters that end a PHP string.
PRINTABLE = string.ascii_letters + string.digits + "!@#$%^&*()-_ []{}<>~`+=,.;:/?|"
_BIP39 = Path(deltos.redaction.secrets.__file__).with_name("seed_words.txt")
_FIELD = re.compile(r"\{(uuid|[AlU2hHdbuwBk])(\d*)\}")


def generator_for(pattern: str) -> Callable[[Random], str]:
    """Return a generator for a pattern such as `ghp_{A36}`, which is a prefix and 36 letters or digits."""

    def make(random: Random) -> str:
        return _FIELD.sub(lambda field: _random_field(random, field[1], field[2]), pattern)

    return make


def characters(random: Random, alphabet: str, count: int) -> str:
    """Return random characters of an alphabet."""
    return "".join(random.choices(_ALPHABETS[alphabet], k=count))


def _random_field(random: Random, alphabet: str, count: str) -> str:
    if alphabet == "uuid":
        return "-".join(characters(random, "h", size) for size in (8, 4, 4, 4, 12))
    return characters(random, alphabet, int(count))


_WORDS = """marigold swordfish gadget falcon bramble winter saffron pumpkin harbor velvet thunder copper orchid
    badger lantern meadow quartz tundra walrus zephyr cobalt dragon ember fjord glacier hazel indigo juniper""".split()


def password(random: Random) -> str:
    """Return a typical password: a word with digits and symbols, several words, or random characters."""
    first, other = random.sample(_WORDS, 2)
    digits = characters(random, "d", random.randint(2, 4))
    return random.choice(
        (
            f"{first.capitalize()}{digits}!",
            f"{first}-{other}-{digits}",
            f"{first[:3].upper()}{digits}{other}",
            f"{first}{digits}#{other[:4]}",
            characters(random, "A", random.randint(10, 20)),
            characters(random, "A", 6) + random.choice("!%^*_+.~") + characters(random, "A", 6),
        )
    )


def url_password(random: Random) -> str:
    """Return a password for a URL. It does not contain `/`, `?` and `#`, and is sometimes percent-encoded."""
    value = re.sub(r"[#%^+~*!/]", "", password(random))
    return random.choice((value, value + "%21", value[:4] + "%40" + value[4:]))


def word_password(random: Random) -> str:
    """Return a password that is an ordinary word."""
    return random.choice(_WORDS)


def random_base64(random: Random, size: int) -> str:
    """Return the given number of random bytes in base64."""
    return base64.b64encode(random.randbytes(size)).decode("ascii")


def _jwt_segment(value: Mapping[str, object] | bytes) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def jwt(random: Random) -> str:
    """Return a signed JSON Web Token (RFC 7519)."""
    head = _jwt_segment({"alg": "HS256", "typ": "JWT"})
    body = _jwt_segment(
        {"sub": characters(random, "d", 10), "name": random.choice(_WORDS), "iat": random.randrange(10**9)}
    )
    return f"{head}.{body}.{_jwt_segment(random.randbytes(32))}"


def _wrap_lines(text: str, width: int) -> str:
    return "\n".join(text[start : start + width] for start in range(0, len(text), width))


def armoured_key(label: str, size: int, *, width: int = 64, head: str = "") -> Callable[[Random], str]:
    """Return a generator for a key between BEGIN and END lines (RFC 7468, RFC 4880)."""

    def make(random: Random) -> str:
        body = _wrap_lines(head + random_base64(random, size), width)
        return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"

    return make


def pgp_key(random: Random) -> str:
    """Return a generated OpenPGP private key with its checksum line."""
    label = "PGP PRIVATE KEY BLOCK"
    body = _wrap_lines(random_base64(random, 700), 64)
    return f"-----BEGIN {label}-----\n\n{body}\n={random_base64(random, 3)}\n-----END {label}-----"


def putty_key(random: Random) -> str:
    """Return the private part of PuTTY's file format 3."""
    key = _wrap_lines(random_base64(random, 600), 64)
    return f"Private-Lines: 14\n{key}\nPrivate-MAC: {characters(random, 'h', 64)}"


def saml_response(random: Random) -> str:
    """Return a SAML response as a browser sends it."""
    xml = f'<samlp:Response ID="_{characters(random, "h", 32)}"><ds:SignatureValue>{random_base64(random, 128)}'
    return base64.b64encode(xml.encode()).decode("ascii")


def docker_auth(random: Random) -> str:
    """Return a user and password as stored by Docker."""
    return base64.b64encode(f"{random.choice(_WORDS)}:{password(random)}".encode()).decode("ascii")


def telegram_token(random: Random) -> str:
    """Return a Telegram bot token: the bot number and 35 characters."""
    return f"{characters(random, 'd', 10)}:AA{characters(random, 'u', 33)}"


def discord_token(random: Random) -> str:
    """Return a Discord bot token: the bot number in base64, a time and a code."""
    number = base64.b64encode(characters(random, "d", 18).encode()).decode("ascii").rstrip("=")
    return f"{number}.{characters(random, 'u', 6)}.{characters(random, 'u', 38)}"


def bcrypt(random: Random) -> str:
    """Return a bcrypt hash in modular crypt format."""
    salted = "".join(random.choices("./" + _ALPHABETS["A"], k=53))
    return f"$2{random.choice('aby')}${random.choice(('10', '12'))}${salted}"


def crypt_hash(name: str, salt: int, size: int, options: str = "") -> Callable[[Random], str]:
    """Return a generator for a hash of crypt(3): `$6$salt$hash`."""

    def make(random: Random) -> str:
        letters = "./" + _ALPHABETS["A"]
        return f"${name}${options}{''.join(random.choices(letters, k=salt))}${''.join(random.choices(letters, k=size))}"

    return make


def argon2(random: Random) -> str:
    """Return an encoded Argon2 hash."""
    salt, digest = random_base64(random, 16).rstrip("="), random_base64(random, 32).rstrip("=")
    return f"$argon2id$v=19$m=65536,t=3,p=4${salt}${digest}"


def django_hash(random: Random) -> str:
    """Return a password hash as stored by Django."""
    return f"pbkdf2_sha256$600000${characters(random, 'A', 22)}${random_base64(random, 32)}"


def scrypt(random: Random) -> str:
    """Return a scrypt hash in the format of passlib and Werkzeug."""
    if random.random() < 0.5:
        return f"scrypt:32768:8:1${characters(random, 'A', 16)}${characters(random, 'h', 128)}"
    return f"$scrypt$ln=16,r=8,p=1${random_base64(random, 16).rstrip('=')}${random_base64(random, 32).rstrip('=')}"


def bip39_words() -> tuple[str, ...]:
    """Return the English word list of BIP-39."""
    return tuple(_BIP39.read_text("ascii").split())


def mnemonic(count: int, words: Sequence[str]) -> Callable[[Random], str]:
    """Return a generator for a BIP-39 phrase with a valid checksum."""

    def make(random: Random) -> str:
        entropy_bits = count * 32 // 3
        entropy = random.randbytes(entropy_bits // 8)
        check = hashlib.sha256(entropy).digest()
        bits = f"{int.from_bytes(entropy, 'big'):0{entropy_bits}b}" + f"{check[0]:08b}"[: count // 3]
        return " ".join(words[int(bits[at : at + 11], 2)] for at in range(0, len(bits), 11))

    return make


def openai_old(random: Random) -> str:
    """Return an OpenAI key in the older format, with a marker in the middle."""
    return f"sk-{characters(random, 'A', 20)}T3BlbkFJ{characters(random, 'A', 20)}"


def sentry_org(random: Random) -> str:
    """Return a Sentry organisation token: JSON in base64 and a code."""
    payload = {"iat": random.randrange(10**9), "url": "https://sentry.io", "region_url": "https://us.sentry.io"}
    return f"sntrys_{base64.b64encode(json.dumps(payload).encode()).decode()}_{characters(random, 'b', 43)}"


def one_password(random: Random) -> str:
    """Return an access token of a 1Password service account."""
    return "ops_" + _jwt_segment({"signInAddress": "my.1password.com", "secret": characters(random, "A", 180)})


def grafana_cloud(random: Random) -> str:
    """Return a Grafana Cloud access policy token."""
    value = {
        "o": characters(random, "d", 6),
        "n": "stack-api",
        "k": characters(random, "A", 24),
        "m": {"r": "eu"},
    }
    return "glc_" + base64.b64encode(json.dumps(value).encode()).decode("ascii")
