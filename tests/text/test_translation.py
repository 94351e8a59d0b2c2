"""Queries in other languages are translated to English word by word; English, code and names stay unchanged."""

from __future__ import annotations

import time

import pytest

from deltos.text.translation import translate_to_english


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Wo wird das Passwort geprüft?", "where password check"),
        ("Benutzerverwaltung", "user management"),
        ("Fehlerbehandlung beim Hochladen", "error handling upload"),
        ("E-Mail-Adresse ändern", "address change"),
        ("¿Dónde se comprueba la contraseña?", "where check password"),
        ("prevención del fraude", "prevention fraud"),
        ("Où est vérifié le mot de passe ?", "where check password"),
        ("l'utilisateur supprime son mot de passe", "user delete password"),
        ("onde a senha é verificada", "where password verify"),
        ("用户登录失败时重试几次", "user login failed retry"),
        ("パスワードはどこで検証されますか", "password where verify"),
        ("비밀번호는 어디에서 검증하나요", "password where verify"),
        ("где проверяется пароль пользователя", "where check password user"),
    ],
)
def test_a_question_is_translated_to_english(text: str, words: str) -> None:
    english = (translate_to_english(text) or "").split()
    assert [word for word in english if word in words.split()] == words.split()


@pytest.mark.parametrize(
    "text",
    [
        "where is the password checked",
        "how do I ship a kubernetes manifest with helm",
        "Rate limits",
        "lag compensation",
        "redeem",
        "getUserById",
        "parse_query",
        "src/deltos/semantic_index.py:12",
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        "pnpm --filter web vitest run",
        "σφάλμα κατά τη σύνδεση",
        "خطأ في تسجيل الدخول",
        "12345 !?",
        "",
    ],
)
def test_english_code_and_unknown_languages_are_not_translated(text: str) -> None:
    assert translate_to_english(text) is None


def test_identifiers_in_a_translated_question_are_kept() -> None:
    assert "parse_query" in (translate_to_english("Wo wird parse_query aufgerufen und warum so oft?") or "").split()
    assert "Redis" in (translate_to_english("为什么我们用 Redis 缓存会话") or "").split()
    assert "src/main/app.py" in (translate_to_english("wo wird src/main/app.py geladen") or "").split()


def test_negations_are_translated() -> None:
    assert "not" in (translate_to_english("Bitte die Migrationen nicht ändern") or "").split()
    assert "never" in (translate_to_english("Nunca subimos archivos generados a este repositorio") or "").split()


@pytest.mark.parametrize(
    "text",
    [
        "datendatendatendatendatendatendatendat " * 5_000,
        "satzlaufwertpunktstellequotefristlager" * 5_000,
        "測" * 200_000,
        "ä" * 200_000,
        "'-/" * 100_000,
        "a" + "'" * 200_000,
        "ж" * 200_000,
        "비밀" * 100_000,
        "a'b-c/d" * 50_000,
        "der " * 100_000,
    ],
)
def test_hostile_text_is_translated_quickly(text: str) -> None:
    began = time.process_time()
    translate_to_english(text)
    assert time.process_time() - began < 5
