"""Redaction removes secrets and leaves other text unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.redaction.redact import redact, redacted_kinds
from deltos.redaction.secret_files import is_secret_file

HEX_TOKEN = "0a1b2c3d4e5f67890a1b2c3d4e5f67890a1b2c3d4e5f67890a1b2c3d4e5f67890a1b2c3d"
MIXED_CASE_TOKEN = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5kM7nP9rS1uV3xY5zA7cD9fG1iL3oR5tU7wX9aB3dE5gH7jK9mN1pQ3sT5v"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"

SECRETS = [
    ("private-key", PEM),
    ("age-secret-key", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2),
    ("jwt", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{MIXED_CASE_TOKEN[:43]}"),
    ("aws-access-key", "AKIAIOSFODNN7EXAMPLE"),
    ("github-pat", "ghp_" + MIXED_CASE_TOKEN[:36]),
    ("github-fine-grained-pat", "github_pat_" + MIXED_CASE_TOKEN[:82]),
    ("gitlab-pat", "glpat-" + MIXED_CASE_TOKEN[:20]),
    ("slack-bot-token", "xoxb-123456789012-123456789012-" + MIXED_CASE_TOKEN[:24]),
    ("slack-webhook", "hooks.slack.com/services/T00000000/B00000000/" + MIXED_CASE_TOKEN[:24]),
    ("discord-webhook", "discord.com/api/webhooks/123456789/" + MIXED_CASE_TOKEN[:60]),
    ("anthropic-api-key", "sk-ant-api03-" + MIXED_CASE_TOKEN[:90]),
    ("openai-key", "sk-proj-" + MIXED_CASE_TOKEN[:60]),
    ("openai-key", "sk-" + MIXED_CASE_TOKEN[:48]),
    ("gcp-api-key", "AIza" + MIXED_CASE_TOKEN[:35]),
    ("google-oauth", "GOCSPX-" + MIXED_CASE_TOKEN[:28]),
    ("stripe-key", "sk_live_" + MIXED_CASE_TOKEN[:24]),
    ("npm-access-token", "npm_" + MIXED_CASE_TOKEN[:36]),
    ("pypi-upload-token", "pypi-AgEIcHlwaS5vcmc" + MIXED_CASE_TOKEN[:80]),
    ("huggingface-token", "hf_" + MIXED_CASE_TOKEN[:34]),
    ("sendgrid-key", f"SG.{MIXED_CASE_TOKEN[:22]}.{MIXED_CASE_TOKEN[:43]}"),
    ("twilio-key", "SK" + HEX_TOKEN[:32]),
    ("mailchimp-key", HEX_TOKEN[:32] + "-us12"),
    ("telegram-token", "1234567890:A" + MIXED_CASE_TOKEN[:34]),
    ("discord-token", f"M{MIXED_CASE_TOKEN[:23]}.{MIXED_CASE_TOKEN[:6]}.{MIXED_CASE_TOKEN[:27]}"),
    ("digitalocean-pat", "dop_v1_" + HEX_TOKEN[:64]),
    ("databricks-api-token", "dapi" + HEX_TOKEN[:32]),
    ("shopify-access-token", "shpat_" + HEX_TOKEN[:32]),
    ("vault-token", "hvs." + MIXED_CASE_TOKEN[:90]),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS, ids=lambda value: value[:12])
def test_a_secret_is_replaced_by_its_kind_in_any_position(kind: str, secret: str) -> None:
    for text in ("we used {} today", "{}", 'config = {{"x": "{}"}}', "({})"):
        done = redact(text.format(secret))
        assert secret not in done.text
        assert f"[redacted:{kind}]" in done.text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgres://app:s3cr3t@db:5432/app", "postgres://app:[redacted:connection-string]@db:5432/app"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted:password]"),
        ("The staging password is hunter2 and it works", "The staging password is [redacted:password] and it works"),
        ("the db password is now Qwerty99.", "the db password is now [redacted:password]."),
        ("Das Passwort ist geheim7", "Das Passwort ist [redacted:password]"),
        ("password=Tr0ub4dor&3xyzzy", "password=[redacted:password]"),
        ("?password=Tr0ub4dor9x&user=bob", "?password=[redacted:password]&user=bob"),
        ("export API_TOKEN='ab4d'", "export API_TOKEN='[redacted:secret]'"),
        ('password: "correct-horse"', 'password: "[redacted:password]"'),
        ("'pwd' => 'letmein1'", "'pwd' => '[redacted:password]'"),
        ("client_secret: 8f7Q9xKpL2", "client_secret: [redacted:secret]"),
        ("mysql --password=hunter -u root", "mysql --password=[redacted:password] -u root"),
        ("deploy --token a8f3k2m9x", "deploy --token [redacted:secret]"),
        ("machine h login me password pw1", "machine h login me password [redacted:netrc-password]"),
        (
            '{"auths": {"r": {"auth": "dXNlcjpwYXNzd29yZA=="}}}',
            '{"auths": {"r": {"auth": "[redacted:docker-auth]"}}}',
        ),
        (f"Authorization: Bearer {MIXED_CASE_TOKEN[:40]}", "Authorization: Bearer [redacted:authorization]"),
        (f"the token is {MIXED_CASE_TOKEN[:32]} now", "the token is [redacted:secret] now"),
        (f"aws_secret_access_key = {MIXED_CASE_TOKEN[:40]}", "aws_secret_access_key = [redacted:secret]"),
        ("pass: MinzeF54Fz", "pass: [redacted:password]"),
        ("pass: hunter2", "pass: [redacted:password]"),
        ('{"pass": "MinzeF54Fz"}', '{"pass": "[redacted:password]"}'),
        ('auth: { user: "me", pass: "marigold" }', 'auth: { user: "me", pass: "[redacted:password]" }'),
        ("user jana and pass huntKu8iS77", "user jana and pass [redacted:password]"),
        ("user/pass: jana / huntKu8iS77", "user/pass: jana / [redacted:password]"),
        ("username/password: jana / huntKu8iS77", "username/password: jana / [redacted:password]"),
        ("the wifi pass is blue-2G8N-sky", "the wifi pass is [redacted:password]"),
        ("The password of the vault is Curry5pyzP7", "The password of the vault is [redacted:password]"),
        ("the passphrase of X is Curry5pyzP7.", "the passphrase of X is [redacted:password]."),
        ("password for Peter's laptop is Curry5pyzP7", "password for Peter's laptop is [redacted:password]"),
        ("the password of db.example.com is Curry5pyzP7", "the password of db.example.com is [redacted:password]"),
        ("set the password to Curry5pyzP7, it is new", "set the password to [redacted:password], it is new"),
        ("wifi passphrase of the office: blue-2G8N-sky-42", "wifi passphrase of the office: [redacted:password]"),
        ("la contraseña del servidor es Pera$aF1Llq1", "la contraseña del servidor es [redacted:password]"),
        ("contraseña: marigold", "contraseña: [redacted:password]"),
        ("contrasen\u0303a: marigold", "contrasen\u0303a: [redacted:password]"),
        ("Das Passwort vom Server ist Birne5pyzP7", "Das Passwort vom Server ist [redacted:password]"),
        ("Das Kennwort des Servers war Birne5pyzP7", "Das Kennwort des Servers war [redacted:password]"),
        ("Das Passwort für den Server lautet: Birne5pyzP7", "Das Passwort für den Server lautet: [redacted:password]"),
        ("le mot de passe du serveur est Poire5pyzP7", "le mot de passe du serveur est [redacted:password]"),
        ("Mot de passe : marigold", "Mot de passe : [redacted:password]"),
        ("a senha do servidor é Pera5pyzP7", "a senha do servidor é [redacted:password]"),
        ("la password del server è Pera5pyzP7", "la password del server è [redacted:password]"),
    ],
)
def test_only_the_secret_part_is_redacted(text: str, kept: str) -> None:
    assert redact(text).text == kept


@pytest.mark.parametrize(
    "text",
    [
        "password = form.cleaned_data",
        "token = get_token(request)",
        "def login(user, password=None):",
        "SECRET_KEY=${SECRET_KEY}",
        "API_KEY=<your key here>",
        "api_key: your-api-key-here",
        "password: changeme",
        "the password is sha256 hashed",
        "the password is now required",
        "the key idea is to split long functions into smaller ones",
        "from django.contrib.auth.views import PasswordChangeDoneView",
        "key_salt = 'django.contrib.auth.tokens.PasswordResetTokenGenerator'",
        "--password option is required",
        "see https://example.com/docs/tokens#creating-a-personal-access-token",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes the parser",
        "secret=secret, token=token",
        "https://host:8080/path@v2",
        "pass: true",
        "pass: 12",
        "pass: yes",
        "all tests pass: 40",
        "if x:\n    pass\nelse:\n    run2Fast()",
        "pass the file to utf8mb4x2 and go on",
        "the second pass is slower than the first",
        "status: { pass: 'green', fail: 'red' }",
        "le test passe: tout va bien",
        "le serveur passe est lent",
        "the password of the vault is in the wallet",
        "passwords of users are hashed with argon2",
        "password for the user: str",
        "user/pass: see the wiki / the vault",
        "[0e88f44547](https://host/commit/0e88f44547) sets USERNAME/PASSWORD more strictly",
        "use htpasswd -b to create the file",
        "`htpasswd -b` takes the password from the command line",
        "htpasswd -nbB jana",
        "rabbitmqctl add_user needs a name and a password",
        "openssl passwd reads the word from the terminal",
    ],
)
def test_harmless_text_is_unchanged(text: str) -> None:
    assert redact(text).text == text


def test_a_truncated_key_is_redacted_to_its_end() -> None:
    assert redact("see\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz").text == "see\n[redacted:private-key]"


def test_unclosed_private_passages_are_removed() -> None:
    assert redact("a <PRIVATE>b</private> c <private> d").text == "a  c "


def test_each_kind_of_redacted_secret_is_listed_once() -> None:
    done = redact("AKIAIOSFODNN7EXAMPLE and AKIAIOSFODNN7EXAMPLF and DB_PASSWORD=hunter2")
    assert done.kinds == ("aws-access-key", "password")


@given(st.text(max_size=300))
def test_redaction_is_idempotent(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env.production",
        "prod.env",
        "id_rsa",
        "~/.ssh/config",
        "certs/server.key",
        "x.pem",
        "C:\\keys\\a.pfx",
        ".aws/credentials",
        "client_secret.json",
        "secrets.yaml",
        ".npmrc",
        ".netrc",
        "service-account-prod.json",
        "terraform.tfvars",
    ],
)
def test_secret_files_are_recognised(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path", ["src/env.py", ".env.example", "monkey.py", "docs/secrets.md", "keys.py", "environment.yml"]
)
def test_ordinary_files_are_not_secret_files(path: str) -> None:
    assert not is_secret_file(path)


def test_kinds_are_read_only_from_redaction_markers() -> None:
    kept = redact(
        f"the key is {'ghp_' + 'a1B2c3D4e5' * 3 + 'f6G7h8'}, again {'ghp_' + 'a1B2c3D4e5' * 3 + 'f6G7h8'}"
    ).text
    assert redacted_kinds(kept) == ["github-pat", "github-pat"]
    assert redacted_kinds("[redacted:] [redacted:not closed [redacted:<b>] [redacted:" + "x" * 60 + "]") == []
