"""Every command, option, tool, variable, link and figure in the README exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deltos.cli.completion import completion_contexts
from deltos.cli.main import parser
from deltos.clients.table import CLIENTS
from deltos.config import Config
from deltos.hook_settings import CONTEXT_TOKENS
from deltos.languages.table import LANGUAGES
from deltos.server.manifest import MANIFEST_PATH

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted((ROOT / "docs").glob("*.md"))
# The transcript and its figures are made by `make pictures`.
CLAIMS = TEXT.partition("<!-- transcript: begin -->")[0] + TEXT.partition("<!-- transcript: end -->")[2]


def _anchor(heading: str) -> str:
    """Anchor of a heading on GitHub."""
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


def test_every_command_and_option_is_known() -> None:
    places = {place.words: place for place in completion_contexts(parser())}
    commands = re.findall(r"`deltos ([a-z][^`]*)`|^\$ deltos ([^#\n]+)", TEXT, re.MULTILINE)
    assert len(commands) > 10
    for quoted, typed in commands:
        words = (quoted or typed).split()
        if words[0] == "mcp":
            continue  # has its own parser, with its own tests
        named = tuple(word for word in words[:2] if re.fullmatch(r"[a-z-]+", word))
        place = places.get(named) or places.get(named[:1])
        assert place is not None, words
        for option in (word for word in words if word.startswith("--")):
            assert option in place.options or option in place.values, words


def test_the_table_of_tools_is_the_list_of_tools() -> None:
    listed = {
        tool["listing"]["name"]: tool["toolset"] for tool in json.loads(MANIFEST_PATH.read_text("utf-8"))["tools"]
    }
    rows = re.findall(r"^\| (docs|apis|code|graph|memory) \| ([^|]+) \|", TEXT, re.MULTILINE)
    shown = {name: toolset for toolset, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert shown == listed


def test_every_documented_variable_is_read_and_has_the_documented_default() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src" / "deltos").rglob("*.py"))
    for name in re.findall(r"`(DELTOS_[A-Z_]+)`", TEXT):
        assert name.removesuffix("NAME") in source, name
    defaults = dict(re.findall(r"^\| `(DELTOS_\w+)` \|.*\| ([^|]+) \|$", TEXT, re.MULTILINE))
    assert defaults["DELTOS_TOKEN_BUDGET"] == str(Config.from_environment({}).token_budget)
    assert defaults["DELTOS_CONTEXT_TOKENS"] == str(CONTEXT_TOKENS)


def test_every_measured_figure_is_in_the_results() -> None:
    figures = set(re.findall(r"(?<![\w.])\d\.\d+(?=×| |\*|,|;|\.\s|\)|\n)|(?<![\d,.])\d{1,3},\d{3}(?![\d,])", CLAIMS))
    assert len(figures) > 25
    rounded = {"5,000"}  # rounded from 5,256 in the results
    for figure in figures - rounded - {"3.11"}:
        assert re.search(rf"(?<![\d.,]){re.escape(figure)}", RESULTS), figure


def test_named_languages_clients_and_targets_exist() -> None:
    assert f"{sum(language.sample != '' for language in LANGUAGES)} languages by their syntax" in TEXT
    named = re.search(r"\*\*Clients\*\*: ([^(]+) and others", TEXT)
    assert named
    assert set(named[1].split(", ")) <= {client.title for client in CLIENTS}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"`make (\w+)`", TEXT)):
        assert f"\n{target}:" in makefile


def test_the_answer_in_the_readme_is_existing_code() -> None:
    shown = re.search(r"^(src/\S+):\d+-\d+ move_aside\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert shown
    assert shown[2] in (ROOT / shown[1]).read_text("utf-8")


def test_every_kind_of_query_has_an_example_with_results() -> None:
    asked = re.search(
        r"by name \(`(\w+)\.(\w+)`\), for an exact text \(`\"(.+?)\"`\) or with .*?\(`/(.+?)/`\)", TEXT, re.DOTALL
    )
    assert asked is not None
    container, member, text, pattern = asked.groups()
    sources = [path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py"))]
    assert any(f"class {container}" in source and f"def {member}(" in source for source in sources)
    assert any(text in source for source in sources)
    assert sum(len(re.findall(pattern, source)) for source in sources) > 1


def test_the_code_in_the_example_is_that_of_its_file() -> None:
    example = TEXT.partition("<!-- example: begin -->")[2].partition("<!-- example: end -->")[0]
    place, *code = example.partition("(raise --limit for more)\n")[2].removesuffix("```\n").rstrip().split("\n")
    assert "\n".join(code) in (ROOT / place.partition(":")[0]).read_text("utf-8")
