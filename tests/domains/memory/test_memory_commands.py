"""Commands that differ in spelling but have the same effect."""

from __future__ import annotations

import pytest

from deltos.domains.memory.capture.commands import confirms_fix


@pytest.mark.parametrize(
    ("succeeded", "failed"),
    [
        (".venv/bin/python -m pytest", "python -m pytest"),
        ("pytest -q", "python -m pytest"),
        ("uv run pytest tests/a.py -q | tail -5", "pytest tests/a.py"),
        ("pytest", "pytest tests/a.py"),
        ("FOO=1 sudo make install", "make install"),
        ("npx vitest run", "pnpm exec vitest run 2>&1"),
        ("cd /srv/app && npm test", "npm test"),
        ("pytest -n 4", "pytest"),
        ("uv run pytest", "uv lock && uv run pytest"),
        ("psql -f a.sql", "psql -1 -f a.sql"),
        ("pnpm run build", "npm run build"),
        ("yarn build", "pnpm build"),
        ("docker compose -f compose.dev.yml up -d db", "docker compose up -d db"),
    ],
)
def test_a_success_closes_the_error_of_the_same_tool_with_the_same_target(succeeded: str, failed: str) -> None:
    assert confirms_fix(succeeded, failed)


@pytest.mark.parametrize(
    ("succeeded", "failed"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("pytest tests/a.py", "pytest"),
        ("make test", "make install"),
        ("cd web && npm test", "cd api && npm test"),
        ("ls", "make"),
        ("docker compose up -d web", "docker compose up -d db"),
        ("kubectl apply -f b.yml", "kubectl apply -f a.yml"),
        ("psql shop", "psql shop -f a.sql"),
        ("", "make"),
    ],
)
def test_a_success_of_another_command_does_not_close_an_error(succeeded: str, failed: str) -> None:
    assert not confirms_fix(succeeded, failed)
