"""A corpus of made-up secrets: each kind as its issuer writes it, each in the surroundings where agents meet it."""

from __future__ import annotations

import base64
import random
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"


Kinds: TypeAlias = "dict[str, tuple[Callable[[], str], tuple[str, ...]]]"


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with a secret in it."""

    kind: str
    secret: str
    text: str


class Generator:
    """Makes secrets from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, alphabet: str, length: int) -> str:
        """`length` random characters."""
        return "".join(self._random.choice(alphabet) for _ in range(length))

    def uuid(self) -> str:
        """Something like a UUID."""
        return "-".join(self.some(HEX, length) for length in (8, 4, 4, 4, 12))

    def base64(self, count: int) -> str:
        """`count` random bytes in base64."""
        return base64.b64encode(self._random.randbytes(count)).decode()

    def segment(self, fields: str) -> str:
        """A part of a JSON web token."""
        return base64.urlsafe_b64encode(fields.encode()).decode().rstrip("=")

    def jwt(self) -> str:
        """A JSON web token with a random subject and signature."""
        subject = self.some(LOWER, 12)
        return ".".join(
            (
                self.segment('{"alg":"HS256","typ":"JWT"}'),
                self.segment(f'{{"sub":"{subject}","iat":1700000000}}'),
                self.some(URLSAFE, 43),
            )
        )

    def private_key(self, name: str) -> str:
        """A PEM block."""
        lines = "\n".join(self.some(BASE64, 64) for _ in range(6))
        return f"-----BEGIN {name}-----\n{lines}\n-----END {name}-----"

    def choice(self, options: tuple[str, ...]) -> str:
        """One of some options."""
        return self._random.choice(options)


TALK = (
    "I set it up with {secret} and it works now.",
    "curl: (22) 401 while using {secret}",
    'config = {{"key": "{secret}"}}',
    "export CI_VALUE={secret}",
    "the old one was `{secret}`, revoke it",
)
ONLY = ("{secret}",)


def kinds(make: Generator) -> Kinds:
    """Per kind: how to make one, and the texts it is met in."""
    return {**_well_known(make), **_services(make), **_known_by_company(make)}


def _well_known(make: Generator) -> Kinds:
    some = make.some
    return {
        "aws access key": (lambda: "AKIA" + some(UPPER, 16), TALK),
        "aws session key": (lambda: "ASIA" + some(UPPER, 16), TALK),
        "github personal": (lambda: "ghp_" + some(ALNUM, 36), TALK),
        "github fine-grained": (lambda: f"github_pat_{some(ALNUM, 22)}_{some(ALNUM, 59)}", TALK),
        "github app": (lambda: "ghs_" + some(ALNUM, 36), TALK),
        "gitlab personal": (lambda: "glpat-" + some(URLSAFE, 20), TALK),
        "slack bot": (
            lambda: f"xoxb-{some(string.digits, 12)}-{some(string.digits, 12)}-{some(ALNUM, 24)}",
            TALK,
        ),
        "slack user": (
            lambda: "xoxp-" + "-".join(some(string.digits, 12) for _ in range(3)) + "-" + some(HEX, 32),
            TALK,
        ),
        "slack webhook": (
            lambda: f"https://hooks.slack.com/services/T{some(UPPER, 8)}/B{some(UPPER, 10)}/{some(ALNUM, 24)}",
            TALK,
        ),
        "openai": (lambda: f"sk-{some(ALNUM, 20)}T3BlbkFJ{some(ALNUM, 20)}", TALK),
        "openai project": (lambda: f"sk-proj-{some(URLSAFE, 74)}T3BlbkFJ{some(URLSAFE, 73)}A", TALK),
        "anthropic": (lambda: f"sk-ant-api03-{some(URLSAFE, 93)}AA", TALK),
        "google api": (lambda: "AIza" + some(URLSAFE, 35), TALK),
        "google oauth secret": (lambda: "GOCSPX-" + some(URLSAFE, 28), TALK),
        "google access token": (lambda: "ya29." + some(URLSAFE, 120), TALK),
        "stripe live": (lambda: "sk_live_" + some(ALNUM, 24), TALK),
        "stripe restricted": (lambda: "rk_test_" + some(ALNUM, 24), TALK),
        "jwt": (make.jwt, TALK),
    }


def _services(make: Generator) -> Kinds:
    some = make.some
    return {
        "npm": (lambda: "npm_" + some(ALNUM, 36), TALK),
        "pypi": (lambda: "pypi-AgEIcHlwaS5vcmc" + some(URLSAFE, 90), TALK),
        "huggingface": (lambda: "hf_" + some(ALNUM, 34), TALK),
        "sendgrid": (lambda: f"SG.{some(URLSAFE, 22)}.{some(URLSAFE, 43)}", TALK),
        "twilio": (lambda: "SK" + some(HEX, 32), TALK),
        "mailgun": (lambda: "key-" + some(HEX, 32), TALK),
        "mailchimp": (lambda: some(HEX, 32) + "-us14", TALK),
        "telegram bot": (lambda: f"{some('123456789', 10)}:AA{some(URLSAFE, 32)}Q", TALK),
        "discord bot": (lambda: f"M{some(ALNUM, 23)}.{some(ALNUM, 6)}.{some(ALNUM, 27)}", TALK),
        "digitalocean": (lambda: "dop_v1_" + some(HEX, 64), TALK),
        "databricks": (lambda: "dapi" + some(HEX, 32), TALK),
        "shopify": (lambda: "shpat_" + some(HEX, 32), TALK),
        "docker": (lambda: "dckr_pat_" + some(URLSAFE, 27), TALK),
        "vault": (lambda: "hvs." + some(ALNUM, 95), TALK),
        "linear": (lambda: "lin_api_" + some(ALNUM, 40), TALK),
        "new relic": (lambda: "NRAK-" + some(UPPER, 27), TALK),
    }


def _known_by_company(make: Generator) -> Kinds:
    """Secrets without a form of their own: what stands beside them tells."""
    some = make.some
    return {
        "aws secret key": (
            lambda: some(BASE64, 40),
            (
                "aws_secret_access_key = {secret}",
                "AWS_SECRET_ACCESS_KEY={secret}",
                '"SecretAccessKey": "{secret}",',
            ),
        ),
        "azure storage": (
            lambda: make.base64(64),
            ("DefaultEndpointsProtocol=https;AccountName=acct;AccountKey={secret};EndpointSuffix=core.windows.net",),
        ),
        "azure client secret": (
            lambda: f"{some(ALNUM, 3)}8Q~{some(ALNUM, 34)}",
            ("client_secret: {secret}", "the secret {secret} expires soon"),
        ),
        "heroku": (make.uuid, ("HEROKU_API_KEY={secret}", "heroku auth token: {secret}")),
        "postgres url": (
            lambda: some(ALNUM, 14),
            (
                "DATABASE_URL=postgres://app:{secret}@db.internal:5432/app",
                "connect to postgresql://app:{secret}@10.0.0.3/app first",
            ),
        ),
        "mongodb url": (
            lambda: some(ALNUM, 16),
            ("mongodb+srv://admin:{secret}@cluster0.ab1cd.mongodb.net/test",),
        ),
        "redis url": (lambda: some(ALNUM, 20), ("redis://:{secret}@cache:6379/0",)),
        "basic auth url": (
            lambda: some(ALNUM, 12),
            ("git clone https://bot:{secret}@git.example.com/team/app.git",),
        ),
        "bearer header": (
            lambda: some(URLSAFE, 40),
            ('curl -H "Authorization: Bearer {secret}" https://api.example.com',),
        ),
        "basic header": (lambda: make.base64(24), ("Authorization: Basic {secret}",)),
        "env password": (
            lambda: some(LOWER, 9),
            ("DB_PASSWORD={secret}", "export POSTGRES_PASSWORD='{secret}'"),
        ),
        "env token": (lambda: some(ALNUM, 30), ("SERVICE_TOKEN={secret}", "MY_APP_API_KEY={secret}")),
        "yaml password": (lambda: some(ALNUM, 12) + "7", ("  password: {secret}", 'password: "{secret}"')),
        "json secret": (
            lambda: some(ALNUM, 32),
            ('{{"client_secret": "{secret}"}}', '"api_key": "{secret}",'),
        ),
        "code literal": (
            lambda: some(ALNUM, 20) + "9",
            ('API_TOKEN = "{secret}"', "const apiKey = '{secret}';", "token := `{secret}`"),
        ),
        "flag": (
            lambda: some(ALNUM, 14),
            ("mysql --password={secret} -u root", "deploy --token {secret} --env prod"),
        ),
        "netrc": (lambda: some(ALNUM, 12), ("machine api.example.com login me password {secret}",)),
        "npmrc": (make.uuid, ("//registry.example.com/:_authToken={secret}",)),
        "prose": (
            lambda: some(ALNUM, 28) + "3",
            ("the secret is {secret} for now", "use token {secret} to log in"),
        ),
        "rsa key": (lambda: make.private_key("RSA PRIVATE KEY"), ONLY),
        "openssh key": (lambda: make.private_key("OPENSSH PRIVATE KEY"), ONLY),
        "ec key": (lambda: make.private_key("EC PRIVATE KEY"), ONLY),
        "pgp key": (lambda: make.private_key("PGP PRIVATE KEY BLOCK"), ONLY),
    }


def corpus(seed: int, per_kind: int) -> Iterator[Sample]:
    """`per_kind` samples of every kind."""
    make = Generator(seed)
    for kind, (secret, texts) in kinds(make).items():
        for _ in range(per_kind):
            value = secret()
            yield Sample(kind, value, make.choice(texts).format(secret=value))
