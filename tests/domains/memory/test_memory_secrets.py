"""No secret reaches the data folder, through any channel and in truncated text; harmless text is not changed."""

from __future__ import annotations

import base64
import io
import json
from random import Random
from typing import TYPE_CHECKING

import pytest
from benchmarks.hook_capture import capture
from benchmarks.memory_secrets import leaked, measure, raw_bytes, substrings_of
from benchmarks.secret_channels import all_channels
from benchmarks.secret_kinds import held_out_names, texts_with_secrets
from benchmarks.secret_values import bip39_words, characters, jwt, mnemonic, saml_response

from deltos.cli import hook
from deltos.domains.memory.capture.payload import MAX_CHARACTERS_PER_TEXT
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.core.transfer import import_lines
from deltos.redaction.redact import redact, redact_long
from tests.files_of import memory_file

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.secret_channels import Channel

    from deltos.domains.memory.core.memory import Memory


def random_characters(alphabet: str, count: int) -> str:
    """Return random characters, the same in every run, because no text in this file may look like a real secret."""
    return characters(Random(f"{alphabet}{count}"), alphabet, count)


TOKEN = f"ghp_{random_characters('A', 36)}"
MIXED, BODY, HEX = random_characters("A", 24), random_characters("A", 43), random_characters("h", 64)
BASIC = base64.b64encode(b"ann:marigold77").decode()
WEBHOOK = f"T{random_characters('U', 10)}/B{random_characters('U', 10)}/{MIXED}"
KEY_LINES = "\n".join(random_characters("b", 64 * 8)[at : at + 64] for at in range(0, 64 * 8, 64))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n-----END RSA PRIVATE KEY-----"
SEED = mnemonic(12, bip39_words())(Random(4))

# Formats that once leaked: the text, and the part that must not remain.
LEAKED_FORMATS = {
    "a weak password in YAML": ("db:\n  user: app\n  password: sunshine\n", "sunshine"),
    "a seed phrase that repeats words": ("seed: " + "abandon " * 11 + "about", "abandon about"),
    "a label with an umlaut before a word with one": ("Passwort: Überraschung", "Überraschung"),
    "a passphrase of a wireless network": ("WLAN-Passwort: Sommer im Garten", "Sommer im Garten"),
    "the code of a wireless network": ("WIFI:T:WPA;S:home;P:bluebird;;", "bluebird"),
    "a column of a CSV file": ("name,password,role\nada,marigold,admin\nbob,sunflower,user\n", "marigold"),
    "a label in Chinese": ("数据库密码：苹果香蕉橙子", "苹果香蕉"),
    "credentials of letters alone in prose": ("use admin:pdgyHvCVdMxm for the login", "pdgyHvCVdMxm"),
    "Django's key": (f"SECRET_KEY = 'django-insecure-z$k2!v(h3^x)q9w@{random_characters('l', 20)}'", "z$k2!v(h3^x"),
    "Telegram's address": (
        f"curl https://api.telegram.org/bot1234567890:AA{random_characters('u', 33)}/getMe",
        random_characters("u", 33),
    ),
    "docker login": ("docker login -u ann -p marigold77 registry.example.com", "marigold77"),
    "mysql": ("mysql -u root -pmarigold77 shop < dump.sql", "marigold77"),
    "sshpass": ("sshpass -p marigold77 ssh root@10.0.0.3", "marigold77"),
    "Terraform's default": (
        'variable "db_password" {\n  type = string\n  default = "marigold-swordfish"\n}',
        "marigold",
    ),
    "htpasswd's argument": ("htpasswd -b users jana SecretWord1", "SecretWord1"),
    "htpasswd's argument without a file": ("htpasswd -nb jana marigold", "marigold"),
    "htpasswd's options one by one": ("htpasswd -c -B -C 10 -b users jana 'marigold'", "marigold"),
    "htpasswd in a container": (
        "docker run --entrypoint htpasswd httpd:2 -Bbn jana marigold > auth/htpasswd",
        "marigold",
    ),
    "htpasswd in a sentence": ("run htpasswd -b users jana marigold77 on the host", "marigold77"),
    "mosquitto_passwd": ("mosquitto_passwd -b users jana marigold", "marigold"),
    "rabbitmqctl": ("rabbitmqctl add_user jana marigold", "marigold"),
    "openssl's input": ("openssl rsa -in a.key -passin pass:marigold -out b.key", "marigold"),
    "openssl passwd": ("openssl passwd -6 -salt xyz marigold", "marigold"),
    "kinit": ("echo marigold | kinit jana", "marigold"),
    "smbclient": ("smbclient //host/share -U jana%marigold", "marigold"),
    "redis-cli": ("redis-cli -a marigold ping", "marigold"),
    "psql": ("PGPASSWORD=marigold psql -h db", "marigold"),
    "a sentence": ("the password is marigold77", "marigold77"),
    "another sentence": ("Her password for the staging box is lantern-harbor-89 by the way", "lantern-harbor-89"),
    "signing": (f"RELEASE_SIGNING={MIXED}", MIXED),
    "a key cut by tail": (f"tail -4 key.pem\n{KEY_LINES[200:]}\n-----END RSA PRIVATE KEY-----", KEY_LINES[270:290]),
    "the rest of a line of a key": (f"tail -c 400 key.pem\n{KEY_LINES[220:]}", KEY_LINES[230:250]),
    "bcrypt": (f"ann:$2b$12${random_characters('A', 53)}", random_characters("A", 53)),
    "argon2": (f"hash is $argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQxMjM${BODY}", BODY),
    "scrypt": (f"scrypt:32768:8:1$bQJXFqPIXBl9G0Sn${HEX}", HEX),
    "sha512-crypt": (f"root:$6$rounds=5000$saltsalt${BODY}{BODY}:19700:0:99999:7:::", BODY),
    "htpasswd": (f"ann:$apr1$dHlKq3a1${random_characters('A', 22)}", random_characters("A", 22)),
    "the next line": ("Password:\n  marigold77", "marigold77"),
    "the next line of YAML": ("db:\n  password: >-\n    marigold77", "marigold77"),
    "the next line of JSON": ('{"password":\n    "marigold77"}', "marigold77"),
    "a seed phrase": (f"my wallet: {SEED}", " ".join(SEED.split()[3:6])),
    "a numbered seed phrase": (
        "\n".join(f"{n}. {w}" for n, w in enumerate(SEED.split(), 1)),
        max(SEED.split(), key=len),
    ),
    "a numbered seed phrase in a patch": (
        "\n".join(f"+{n}. {w}" for n, w in enumerate(SEED.split(), 1)),
        max(SEED.split(), key=len),
    ),
    "a seed phrase twice": (f"{SEED}\n{SEED}", " ".join(SEED.split()[3:6])),
    "a word": ("username: admin\npassword: marigold", "marigold"),
    "an at sign": ("postgres://app:p@ss@w0rd@db.internal:5432/shop", "ss@w0rd"),
    "basic": (f"Authorization: Basic {BASIC}", BASIC),
    "digest": (f'Authorization: Digest username="ann", response="{HEX[:32]}"', HEX[:32]),
    "cookies": (f"Cookie: theme=dark; sessionid={MIXED}; lang=en", MIXED),
    "curl": ("curl -u ann:marigold77 https://x.example.com", "marigold77"),
    "netrc": ("machine api.example.com login ann password marigold77", "marigold77"),
    "pgpass": ("db.internal:5432:shop:app:marigold77", "marigold77"),
    "kubectl": ("kubectl create secret generic db --from-literal=password=marigold77", "marigold77"),
    "a Kubernetes secret": ("kind: Secret\ndata:\n  db.conf: bWFyaWdvbGQtc3dvcmRmaXNo", "bWFyaWdvbGQt"),
    "a connection string": (f"AccountName=shop;AccountKey={random_characters('b', 86)}==", random_characters("b", 86)),
    "JDBC": ("jdbc:postgresql://db:5432/shop?user=app&password=marigold77", "marigold77"),
    "ODBC": ("Driver={ODBC};Server=db;Uid=sa;Pwd=marigold77;", "marigold77"),
    "Redis": ("redis://:marigold77@cache:6379/0", "marigold77"),
    "a private key": (PEM, KEY_LINES[:20]),
    "age": (f"AGE-SECRET-KEY-1{random_characters('B', 58)}", random_characters("B", 58)),
    "JWT": (jwt(Random(1)), jwt(Random(1)).rpartition(".")[2]),
    "SAML": (f"SAMLResponse={saml_response(Random(1))}", saml_response(Random(1))),
    "a webhook": (f"https://hooks.slack.com/services/{WEBHOOK}", MIXED),
    "a signed address": (f"https://b.s3.amazonaws.com/k?X-Amz-Signature={HEX}", HEX),
    "a shared access signature": (f"https://s.blob.core.windows.net/c?sv=2022&sig={BODY}%3D", BODY),
    "npm's token": (
        f"//npm.example.com/:_authToken={HEX[:8]}-{HEX[8:12]}-{HEX[12:16]}-{HEX[16:20]}-{HEX[20:32]}",
        HEX[20:32],
    ),
    "Docker's configuration": (f'{{"auths": {{"ghcr.io": {{"auth": "{BASIC}"}}}}}}', BASIC),
    "JSON in JSON": ('"{\\"user\\":\\"ann\\",\\"password\\":\\"marigold77\\"}"', "marigold77"),
    "an escaped address": (f"https://hooks.slack.com/services/{WEBHOOK}".replace("/", "\\/"), MIXED),
    "an escaped key": (json.dumps({"private_key": PEM}), KEY_LINES[:20]),
    "a continued line": ("DB_PASSWORD=\\\nmarigold77", "marigold77"),
    "a diff of two lines": ("-password:\n-  old\n+password:\n+  marigold77", "marigold77"),
}


def data_folder_contains(secret: str, home: Path) -> bool:
    raw = raw_bytes(home)
    return any(piece in raw for piece in substrings_of(secret))


@pytest.mark.parametrize("name", LEAKED_FORMATS)
def test_a_format_that_once_leaked_is_redacted(name: str) -> None:
    text, secret = LEAKED_FORMATS[name]
    assert secret in text
    assert secret not in redact(f"Note:\n{text}").text


@pytest.mark.parametrize("name", LEAKED_FORMATS)
def test_a_secret_never_reaches_the_disk_through_tools_imports_and_hooks(
    name: str, memory: Memory, tmp_path: Path
) -> None:
    text, secret = LEAKED_FORMATS[name]
    memory.remember(Draft(f"Note one\n{text}", source=text), ObservationOrigin("p", tmp_path))
    import_lines(memory, [json.dumps({"text": f"Note two\n{text}", "source": text})], project_id="p")
    output = {"stdout": f"error: boom\n{text}\nerror: three", "exit_code": 1}
    run_hook(
        memory, tmp_path, "PostToolUse", tool_name="Bash", tool_input={"command": "make four"}, tool_response=output
    )
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=f"Always note five\n{text}")
    content = {"file_path": "six.txt", "content": text}
    run_hook(memory, tmp_path, "PostToolUse", tool_name="Write", tool_input=content, tool_response={})
    assert len(list(memory.store.all())) == 5
    assert not data_folder_contains(secret, memory_file(memory).parent)


def run_hook(memory: Memory, root: Path, event: str, **payload: object) -> None:
    raw = json.dumps({"session_id": "s", "cwd": str(root), **payload}).encode()
    capture(memory, event, raw, folder=root, identify=lambda _: "p")


def stored_answer(memory: Memory, root: Path, question: str, answer: str, *labels: str, note: str = "") -> str:
    """Return the stored text of a user's answer to a question of the agent."""
    asked = [{"question": question, "header": "", "options": [{"label": label} for label in labels]}]
    response = {"questions": asked, "answers": {question: answer}, "annotations": {question: {"notes": note}}}
    given = {"questions": asked}
    run_hook(memory, root, "PostToolUse", tool_name="AskUserQuestion", tool_input=given, tool_response=response)
    [row] = memory.store.all()
    return row.text.partition("\n")[2].removeprefix("The user decided: ")


@pytest.mark.parametrize(
    ("question", "answer", "kept"),
    [
        ("Which password?", "New: IngwerbV3Ay!", "New: [redacted:password]"),
        ("Which password?", "marigold", "[redacted:password]"),
        ("Wie lautet das Passwort?", "birnenmus", "[redacted:password]"),
        ("¿Cuál es la contraseña?", "Pera$aF1Llq1", "[redacted:password]"),
        ("Quel est le mot de passe ?", "Poire5pyzP7", "[redacted:password]"),
        ("What is the PIN of the card?", "4711", "[redacted:password]"),
        ("What is the API key?", "take abcd-8f7Q9xKpL2 for now", "take [redacted:secret] for now"),
        ("Which secret?", "DB_PASSWORD=marigold", "DB_PASSWORD=[redacted:password]"),
    ],
)
def test_an_answer_to_a_question_for_a_secret_is_redacted(
    memory: Memory, tmp_path: Path, question: str, answer: str, kept: str
) -> None:
    assert stored_answer(memory, tmp_path, question, answer) == kept


def test_passwords_in_offered_options_and_notes_are_redacted(memory: Memory, tmp_path: Path) -> None:
    kept = stored_answer(
        memory, tmp_path, "Which password?", "Keep it", "Keep it", "Use Curry5pyzP7", note="not Minze77!"
    )
    assert kept == "Keep it. In the user's words: not [redacted:password]\nOffered as well: Use [redacted:password]"


@pytest.mark.parametrize(
    ("question", "answer", "labels"),
    [
        ("Which password hash?", "PBKDF2-SHA256", ()),
        ("Which token format?", "UUIDv7", ("UUIDv7",)),
        ("Which token formats?", "UUIDv7, ES256K", ("UUIDv7", "ES256K")),
        ("Should the password be stored?", "later", ()),
        ("Which password?", "generate a random one and put it into .env", ()),
        ("Which GPIO pin?", "17", ()),
        ("Which database?", "PostgreSQL16x2", ()),
    ],
)
def test_other_answers_are_unchanged(
    memory: Memory, tmp_path: Path, question: str, answer: str, labels: tuple[str, ...]
) -> None:
    assert stored_answer(memory, tmp_path, question, answer, *labels).partition("\n")[0] == answer


def test_generated_secrets_of_every_kind_are_redacted_in_one_pass() -> None:
    # Held-out kinds are excluded: a failing test would reveal them to the author of the rules.
    samples = dict(
        enumerate(sample for sample in texts_with_secrets(per_kind=2, seed=1) if sample.kind not in held_out_names())
    )
    assert len({sample.kind for sample in samples.values()}) >= 80
    left = []
    for number, sample in samples.items():
        done = redact(sample.text).text
        assert redact(done).text == done
        if leaked(done.lower().encode(), {number: sample}):
            left.append((sample.kind, sample.context, sample.text))
    assert left == []


@pytest.mark.parametrize("channel", all_channels(), ids=lambda channel: channel.name)
def test_no_channel_leaks_a_secret_even_in_truncated_text(channel: Channel) -> None:
    samples = [sample for sample in texts_with_secrets(per_kind=1, seed=2) if sample.kind not in held_out_names()][::12]
    result = measure(channel, samples)
    # Sessions store only their names; commands that touch secret files are not stored at all.
    assert result.kept >= 0.6 * result.sent or channel.short
    assert [samples[number] for number in result.leaked] == []


def test_secrets_with_a_known_format_are_redacted_in_names(memory: Memory, tmp_path: Path) -> None:
    place = ObservationOrigin(f"host/{TOKEN}", tmp_path, f"session {TOKEN}", f"agent {TOKEN}")
    memory.remember(Draft("A note", kind=TOKEN, source=TOKEN, files=(f"src/{TOKEN}/a.py",)), place)
    [row] = memory.store.all()
    assert row.files == ("[redacted:github-pat]",)
    assert (row.project_id, row.session_id) == ("host/[redacted:github-pat]", "session [redacted:github-pat]")
    assert not data_folder_contains(TOKEN, memory_file(memory).parent)


def test_random_looking_session_ids_and_paths_are_unchanged(memory: Memory, tmp_path: Path) -> None:
    session = random_characters("U", 26)
    path = f"cache/{random_characters('A', 31)}/a.py"
    memory.remember(Draft("A note", files=(path,)), ObservationOrigin("p", tmp_path, session))
    [row] = memory.store.all()
    assert (row.session_id, row.files) == (session, (path,))


def test_a_token_in_a_folder_name_is_redacted(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / TOKEN
    (folder / ".git").mkdir(parents=True)
    run_hook(memory, folder, "UserPromptSubmit", prompt="Always use tabs here")
    assert [row.text for row in memory.store.all()] == ["Always use tabs here"]
    assert not data_folder_contains(TOKEN, memory_file(memory).parent)


def test_an_imported_vector_that_spells_a_secret_is_rejected(memory: Memory) -> None:
    record = {"text": "A note", "embedding": base64.b64encode(f"password={TOKEN}".encode()).decode()}
    done = import_lines(memory, [json.dumps(record)], project_id="p")
    assert (done.added, done.failed) == (0, 1)
    assert TOKEN not in done.problems[0]


def test_problems_of_an_import_do_not_repeat_secrets(memory: Memory) -> None:
    done = import_lines(memory, [json.dumps({"type": f"password={TOKEN}"})], project_id="p")
    assert "unknown type" in done.problems[0]
    assert TOKEN not in done.problems[0]


@pytest.mark.parametrize(
    "position", ["in the head", "at the first cut", "left out", "at the second cut", "in the tail"]
)
def test_a_long_text_is_never_truncated_inside_a_secret(position: str) -> None:
    half = MAX_CHARACTERS_PER_TEXT // 2
    before = {
        "in the head": 100,
        "at the first cut": half - 15,
        "left out": 60_000,
        "at the second cut": 0,
        "in the tail": 0,
    }
    after = {"at the second cut": half - 15, "in the tail": 100}
    pad = "the parser reads a line and goes on to the next one\n"
    for secret, context in (
        (TOKEN, f"use {TOKEN} now"),
        (KEY_LINES[300:340], PEM),
        ("marigold77", "password: marigold77"),
    ):
        first = (pad * 3_000)[: before[position] or 60_000]
        last = (pad * 3_000)[: after.get(position, 60_000)]
        done = redact_long(f"{first}\n{context}\n{last}", max_characters=MAX_CHARACTERS_PER_TEXT)
        assert "characters left out]" in done
        assert len(done) <= MAX_CHARACTERS_PER_TEXT + 200
        assert not any(piece in done.lower().encode() for piece in substrings_of(secret))


def test_a_text_without_blanks_is_dropped_instead_of_truncated(memory: Memory, tmp_path: Path) -> None:
    done = redact_long("x" * 100_000 + TOKEN + "y" * 100_000, max_characters=MAX_CHARACTERS_PER_TEXT)
    assert "x" not in done.replace("characters", "")
    run_hook(memory, tmp_path, "PostCompact", compact_summary="note " + "z" * 7_000_000)
    assert "7,000,00" in next(iter(memory.store.all())).text


def test_private_passages_across_a_truncation_are_removed() -> None:
    pad = "a line of text\n" * 4_000
    done = redact_long(f"start <private>{pad} hidden-here {pad}</private> end", max_characters=MAX_CHARACTERS_PER_TEXT)
    assert done == "start  end"


def test_a_secret_found_in_one_text_of_an_event_is_redacted_in_all(memory: Memory, tmp_path: Path) -> None:
    """Test an edit without the line that identifies the secret, and command output without its revealing option."""
    block = 'variable "db_password" {\n  type = string\n  default = "marigold-swordfish"\n}'
    inner = "\n".join(block.split("\n")[1:-1])
    for old, new in ((inner, block), (block, inner)):
        given = {"file_path": "main.tf", "old_string": old, "new_string": new}
        run_hook(memory, tmp_path, "PostToolUse", tool_name="Edit", tool_input=given, tool_response={})
    words = "\n".join(f"{number}. {word}" for number, word in enumerate(SEED.split(), 1))
    given = {"file_path": "words.txt", "old_string": words.partition("\n")[2], "new_string": words}
    run_hook(memory, tmp_path, "PostToolUse", tool_name="Edit", tool_input=given, tool_response={})
    output = {"stderr": "error: no such user: lantern-harbor-89", "exit_code": 1}
    command = {"command": "mysql -u root -plantern-harbor-89 shop"}
    run_hook(memory, tmp_path, "PostToolUse", tool_name="Bash", tool_input=command, tool_response=output)
    assert len(list(memory.store.all())) >= 3
    for secret in ("marigold-swordfish", "lantern-harbor-89", max(SEED.split(), key=len)):
        assert not data_folder_contains(secret, memory_file(memory).parent)


def test_a_secret_split_by_nul_is_found(memory: Memory, tmp_path: Path) -> None:
    parted = f"{TOKEN[:12]}\0{TOKEN[12:]}"
    memory.remember(Draft(f"Use {parted} here"), ObservationOrigin("p", tmp_path))
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=f"Always use {parted}")
    assert [row.text for row in memory.store.all()] == [
        "Use [redacted:github-pat] here",
        "Always use [redacted:github-pat]",
    ]


def test_names_that_are_too_long_are_dropped_instead_of_truncated(memory: Memory, tmp_path: Path) -> None:
    for length in (3_980, 3_990, 4_000):
        path = f"{'x' * length}/{TOKEN}/a.py"
        import_lines(memory, [json.dumps({"text": f"Note {length}", "files": [path]})], project_id="p")
        run_hook(memory, tmp_path, "UserPromptSubmit", prompt=f"Always use {length}", session_id=path)
    assert len(list(memory.store.all())) == 6
    assert not data_folder_contains(TOKEN, memory_file(memory).parent)


def test_errors_of_hooks_contain_no_secrets() -> None:
    stderr = io.StringIO()
    environ = {"DELTOS_HOME": f"~{TOKEN}/nowhere"}
    assert hook.main(["SessionEnd"], stdin=io.BytesIO(b"{}"), stderr=stderr, environ=environ) == 0
    assert "DELTOS_HOME is not a valid path" in stderr.getvalue()
    assert not any(piece.decode() in stderr.getvalue().lower() for piece in substrings_of(TOKEN))


@pytest.mark.parametrize("cwd", ["\0", "x" * 5_000, "/nowhere/\ud800"])
def test_an_invalid_folder_is_ignored(cwd: str, memory: Memory, tmp_path: Path) -> None:
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt="Always use tabs here", cwd=cwd, session_id="\ud800")
    assert [row.text for row in memory.store.all()] == ["Always use tabs here"]


@pytest.mark.parametrize(
    "attack",
    ["password=", "password='", 'key: "', "://a:", "sig=", "$2b$", "eyJ.", "curl -u ", "-----BEGIN RSA PRIVATE KEY-----\n",
     "\\", "\\n", "<private>", "kind: Secret\ndata:\n", "variable \"key\" {", "authorization: ", "cookie: a=", "abandon ",
     "A1b2C3d4/", "a" * 63 + "\n", ":5432:", "private-lines:", "login a/", "echo 'x' | ", "password is ", "pass\n\n"],
)  # fmt: skip
def test_repetitive_text_takes_linear_time(attack: str) -> None:
    # A hook redacts at most 120,000 characters; quadratic time would take hours.
    text = attack * (120_000 // len(attack))
    assert len(redact(text).text) <= 10 * len(text)


@pytest.mark.parametrize(
    "text",
    [
        "name,type,password\nstring,string,string\n",
        "| field | password |\n|---|---|\n| kind | string |\n",
        "The wifi password is on the fridge",
        "密码：请在设置中修改，然后重启",
    ],
)
def test_tables_and_sentences_about_passwords_are_not_changed(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("WiFi password: correct horse battery", "horse"),
        ("the wlan key is Regenbogen", "Regenbogen"),
        ("Kennwort = Straßenbahn!", "Straßenbahn"),
        ("| user | password |\n|---|---|\n| bob | marigold |\n", "marigold"),
        ("database:\n  user: app\n  password: sommer\n", "sommer"),
        ("name,email,password\nbob,bob@x.io,sunflower\n", "sunflower"),
    ],
)
def test_passwords_that_are_words_are_redacted_next_to_their_label(text: str, secret: str) -> None:
    assert secret not in redact(text).text
