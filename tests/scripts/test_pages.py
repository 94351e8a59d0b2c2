"""Links, commands, options, variables and figures in the documentation pages are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deltos.cli.main import main
from deltos.config import Config
from deltos.hook_settings import CONTEXT_TOKENS
from deltos.wording import COMMITS_MARK, SEMANTIC_MATCH_MARK

ROOT = Path(__file__).parents[2]
GENERATED_PAGES = ("modules.md", "tools.md")  # `make check` compares them with the source
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted((ROOT / "docs").glob("*.md"))
HAND_WRITTEN_PAGES = [page for page in PAGES if page.name not in GENERATED_PAGES]


def _page_text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _anchor(heading: str) -> str:
    """Return the GitHub anchor of a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return kept.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", there.read_text("utf-8"), re.MULTILINE)
            assert anchor in map(_anchor, headings), target


def _commands_in(text: str) -> list[list[str]]:
    found = re.findall(r"`deltos ([a-z][^`]*)`|^\$ deltos ([^#\n]+)", text, re.MULTILINE)
    return [(quoted or typed).split() for quoted, typed in found]


def _help_text(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        code: object = main([*words, "--help"])
    except SystemExit as ending:
        code = ending.code
    assert code == 0, words
    return capsys.readouterr().out


@pytest.mark.parametrize("page", HAND_WRITTEN_PAGES, ids=lambda page: str(page.name))
def test_every_command_and_option_is_known(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = page.read_text("utf-8")
    unknown = set(re.findall(r"(?:no such option|Unknown option): (--\w+)", text))  # shown as examples of mistakes
    helps: dict[str, str] = {}
    for words in _commands_in(text):
        command, *rest = words if "--http" not in words else ["mcp --http", *words[1:]]
        helps[command] = helps.get(command) or _help_text(command.split(), capsys)
        verb = rest[0] if rest and re.search(rf"^ {{4}}{re.escape(rest[0])}\b", helps[command], re.MULTILINE) else ""
        named = " ".join(filter(None, (command, verb)))
        helps[named] = helps.get(named) or _help_text(named.split(), capsys)
        options = {word.strip("[],").partition("=")[0] for word in rest if word.strip("[],").startswith("--")}
        for option in options - unknown - {"--"}:
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", helps[named]), words


@pytest.mark.parametrize("page", HAND_WRITTEN_PAGES, ids=lambda page: str(page.name))
def test_every_make_target_exists(page: Path) -> None:
    makefile = _page_text("Makefile")
    for target in set(re.findall(r"`make (\w+)`", page.read_text("utf-8"))):
        assert f"\n{target}:" in makefile


def test_every_documented_variable_is_read_and_has_the_documented_default() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src" / "deltos").rglob("*.py"))
    for page in HAND_WRITTEN_PAGES:
        for name in re.findall(r"`(DELTOS_[A-Z_]+)`", page.read_text("utf-8")):
            prefix = name.rpartition("_")[0]  # some names are composed, such as f"DELTOS_EMBED_{name}"
            assert name.removesuffix("NAME") in source or f"{prefix}_{{" in source, (page.name, name)
    defaults = dict(
        re.findall(r"^\| `(DELTOS_\w+)` \|.*\| ([^|]+) \|$", _page_text("docs/configuration.md"), re.MULTILINE)
    )
    assert defaults["DELTOS_TOKEN_BUDGET"] == str(Config.from_environment({}).token_budget)
    assert defaults["DELTOS_CONTEXT_TOKENS"] == str(CONTEXT_TOKENS)


def test_every_measured_figure_of_the_readme_is_in_the_results() -> None:
    text, results = _page_text("README.md"), _page_text("benchmarks/RESULTS.md")
    claims = "".join(part.partition(": end -->")[2] or part for part in text.split("<!-- example "))
    figures = set(re.findall(r"(?<![\w.])\d\.\d+(?=×| |\*|,|;|\.\s|\)|\n)|(?<![\d,.])\d{1,3},\d{3}(?![\d,])", claims))
    figures |= set(re.findall(r"\b(\d+) (?:questions|labelled queries)", claims))
    assert len(figures) >= 7
    for figure in figures - {"3.11"}:
        assert re.search(rf"(?<![\d.,]){re.escape(figure)}", results), figure


def test_the_markers_in_search_results_are_documented() -> None:
    for mark in (SEMANTIC_MATCH_MARK, COMMITS_MARK):
        assert f"`{mark}`" in _page_text("docs/code.md")
    assert f"`{SEMANTIC_MATCH_MARK}`" in _page_text("docs/apis.md")
    assert f"`{SEMANTIC_MATCH_MARK}`" in _page_text("docs/memory.md")
