"""Code is found by semantic similarity if query and code share no word."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.embed.embedders import code_embedder
from deltos.embed.identity import model_identity
from tests.calling import ToolClient
from tests.domains.code.code_queries import paths, search
from tests.domains.history.repositories import commit, create_repository
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

LOGIN = '''"""Who may come in."""


def verify_password(user, given):
    """Compare the hash of the given password with the stored one."""
    return hmac.compare_digest(hash_of(given, user.salt), user.digest)
'''
LIMIT = '''class TokenBucket:
    """At most so many calls per minute."""

    def take(self):
        return self.left > 0
'''


def test_semantic_matches_are_found_and_marked(client: ToolClient, project: Path) -> None:
    write_files(project, {"src/login.py": LOGIN, "src/bucket.py": LIMIT})
    answer = client.call("search_code", query="authentication of credentials")
    assert "src/login.py:4-6 verify_password (semantic match)" in answer.text
    assert answer.structured is not None
    assert answer.structured["results"][0]["near_in_meaning"] is True
    assert paths(search(client, "throttling"))[0] == "src/bucket.py"


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("Wo wird das Passwort mit dem gespeicherten verglichen?", "src/login.py"),
        ("¿dónde se compara la contraseña?", "src/login.py"),
        ("密码在哪里校验", "src/login.py"),
        ("パスワードの検証", "src/login.py"),
        ("где сравнивается пароль", "src/login.py"),
        ("비밀번호 검증", "src/login.py"),
        ("où le mot de passe est-il vérifié", "src/login.py"),
        ("wie viele Aufrufe pro Minute sind erlaubt", "src/bucket.py"),
        ("每分钟最多允许多少次调用", "src/bucket.py"),
    ],
)
def test_a_question_of_another_language_finds_english_code(
    client: ToolClient, project: Path, question: str, file: str
) -> None:
    write_files(project, {"src/login.py": LOGIN, "src/bucket.py": LIMIT})
    assert paths(search(client, question))[0] == file


def test_a_name_in_the_project_is_not_translated(client: ToolClient, project: Path) -> None:
    write_files(
        project, {"src/rede.py": "def rede():\n    return 1\n", "src/speech.py": "def speech():\n    return 2\n"}
    )
    answer = client.call("search_code", query="rede")
    assert answer.text.startswith("src/rede.py")
    assert "Translated to English" not in answer.text


def test_code_in_the_language_of_the_question_is_found_by_its_words(client: ToolClient, project: Path) -> None:
    steuer = 'def berechne_steuer(betrag):\n    """Die Steuer auf einen Betrag, auf ganze Cent gerundet."""\n'
    write_files(project, {"src/steuer.py": steuer, "src/login.py": LOGIN})
    answer = search(client, "Wo wird die Steuer auf einen Betrag gerundet?")
    assert paths(answer)[0] == "src/steuer.py"


def test_an_edit_changes_the_vectors_of_a_file(client: ToolClient, project: Path) -> None:
    write_files(project, {"src/thing.py": LOGIN})
    assert paths(search(client, "authentication of credentials"))[0] == "src/thing.py"
    write_files(project, {"src/thing.py": LIMIT, "src/login.py": LOGIN})
    assert paths(search(client, "authentication of credentials"))[0] == "src/login.py"
    (project / "src/login.py").unlink()
    assert "src/login.py" not in paths(search(client, "authentication of credentials"))
    assert paths(search(client, "throttling"))[0] == "src/thing.py"


def test_a_dissimilar_file_is_not_shown(client: ToolClient, project: Path) -> None:
    write_files(project, {"src/login.py": LOGIN, "src/bucket.py": LIMIT})
    for question in ("zebra", "sheet music", "volcanic rock"):
        assert not {"src/login.py", "src/bucket.py"} & set(paths(search(client, question)))


def test_a_semantic_match_shows_a_definition(client: ToolClient, project: Path) -> None:
    imports = "".join(f"import module_{number}\n" for number in range(30))
    write_files(project, {"src/login.py": f'"""Who may come in: passwords."""\n\n{imports}\n\n{LOGIN}'})
    results = search(client, "authentication of credentials")["results"]
    assert next(hit["symbol"] for hit in results if hit["file_path"] == "src/login.py") == "verify_password"


def test_without_a_model_only_words_match(tmp_path: Path, project: Path, workers: ProcessPool) -> None:
    write_files(project, {"src/login.py": LOGIN})
    with closing(App(replace(Config(tmp_path / "off"), embedding=Embedding("off")), workers=workers)) as app:
        off = ToolClient(app.tools(), project)
        assert paths(search(off, "authentication of credentials")) == []
        assert paths(search(off, "verify the password"))[0] == "src/login.py"


def vector_counts(app: App, root: Path) -> tuple[int, int]:
    """Return the number of files and of commits with vectors."""
    index = app.domains.projects.index_of(root)
    index.index()
    index.catch_up()
    return index.store.code.vector_count(code_embedder().identity), index.store.history.vector_count(model_identity())


def test_without_a_model_no_vectors_are_added_and_existing_ones_stay(tmp_path: Path, workers: ProcessPool) -> None:
    root = create_repository(tmp_path / "project")
    commit(root, "Let people in", {"src/login.py": LOGIN})
    home = Config(tmp_path / "home")
    off = replace(home, embedding=Embedding("off"))
    with closing(App(off, workers=workers)) as app:
        assert vector_counts(app, root) == (0, 0)
    with closing(App(home, workers=workers)) as app:
        assert vector_counts(app, root) == (1, 1)
    with closing(App(off, workers=workers)) as app:  # an index that already has vectors is not rebuilt
        commit(root, "Be patient", {"src/bucket.py": LIMIT}, day=2)
        assert vector_counts(app, root) == (2, 2)
        assert paths(search(ToolClient(app.tools(), root), "authentication of credentials")) == []


def test_a_chunk_without_symbol_is_summarised_by_an_informative_line(client: ToolClient, project: Path) -> None:
    states = "const (\n\tWaiting = iota\n\tDelivered\n)\n"
    settings = '{\n  "carriers": ["north", "south"],\n  "cutoff": "18:30"\n}\n'
    write_files(project, {"src/login.py": LOGIN, "track/status.go": f"package track\n\n{states}", "hub.json": settings})
    text = client.call("search_code", query="which companies bring parcels", concise=True).text
    assert text
    assert " — {" not in text
    assert " — const (" not in text
