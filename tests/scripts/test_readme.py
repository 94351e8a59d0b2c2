"""The commands of the README work, and its claims and examples are true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from scripts.pictures import EXAMPLES, Checkout

from deltos.domains.graph.languages import DECLARED_LANGUAGES
from deltos.languages.table import LANGUAGES
from tests.repositories import make_repository
from tests.server.raw import RawClient, environment
from tests.ui.opened import serve_page

ROOT = Path(__file__).parents[2]
README_TEXT = (ROOT / "README.md").read_text("utf-8")
PROJECT = {
    "shop/passwords.py": 'def check_password(name: str, password: str) -> bool:\n    """Compare a password with its hash."""\n'
    "    return hash(password) == load_hash(name)\n",
    "shop/login.py": "from shop.passwords import check_password\n\n\ndef log_in(name, password):\n"
    "    return check_password(name, password)\n",
    "shop/cart.py": "class Cart:\n    def total_price(self):\n        return 1\n",
    "shop/pay.py": "from shop.cart import Cart\n\n\ndef pay():\n    return Cart().total_price()\n",
    "shop/guess.py": "def guess(thing):\n    return thing.total_price()\n",
}
# Text in the answer of each command under "Try it".
EXPECTED_ANSWERS = {"search": "shop/passwords.py", "graph": "return check_password(name, password)  log_in"}
SEEDS = ("openapi-json/pets.json", "graphql/a.graphql", "asyncapi/three.yaml", "proto/a.proto", "postman/a.json")


def _section(heading: str) -> str:
    return README_TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def _example(name: str) -> list[str]:
    """Return the lines of an example without its fence."""
    block = README_TEXT.partition(f"<!-- example {name}: begin -->")[2].partition(f"<!-- example {name}: end -->")[0]
    return block.strip().splitlines()[1:-1]


class Shell:
    """Shell that runs `deltos` in a project with a separate data folder."""

    def __init__(self, folder: Path) -> None:
        self.root = make_repository(folder / "my-project", PROJECT)
        self.home = folder / "home"

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "deltos", *words],
            cwd=self.root,
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("readme"))


def test_the_commands_under_try_it_answer_from_the_project(shell: Shell) -> None:
    typed = re.findall(r"^\$ deltos (.+?) +# ", _section("Try it"), re.MULTILINE)
    tried = {}
    for words in map(shlex.split, typed):
        if words == ["ui"]:
            served = serve_page(shell.root, shell.home)
            assert served.request("GET", "/").status == 401  # the page can be opened only with the printed link
            assert served.stop() == 0
            served.shut_down()
        else:
            tried[words[0]] = shell.run(*words)
    assert tried.keys() == EXPECTED_ANSWERS.keys()
    for command, answer in EXPECTED_ANSWERS.items():
        assert answer in tried[command]


def test_installation_needs_the_stated_python_and_installs_the_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={re.findall(r'Python (3[.][0-9]+) or newer', README_TEXT)[0]}"
    assert "deltos" in project["scripts"]


@pytest.mark.skipif(sys.platform != "linux", reason="the test reads environments of other processes in /proc")
def test_no_process_is_left_in_the_background(shell: Shell) -> None:
    shell.run("search", "where are passwords checked")
    mark = f"DELTOS_HOME={shell.home}".encode()
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            left += [process.name] if mark in (process / "environ").read_bytes().split(b"\0") else []
        except OSError:  # the process has ended or belongs to another user
            continue
    assert left == []


def test_the_demo_indexes_its_repository_and_answers_three_questions(tmp_path: Path) -> None:
    copy = tmp_path / "deltos"
    for name in ("demo.py", "src/deltos/ranking.py", "src/deltos/store/sqlite/database.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    programs = Path(sys.executable).parent
    search_path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "demo.py"],
        cwd=copy,
        env={**os.environ, "PATH": search_path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    asked = re.split(r"^▶ ", done.stdout, flags=re.MULTILINE)[1:]
    assert [each.split()[0] for each in asked] == ["deltos", "search_code", "find_references", "search_code"]
    assert not re.search(r"^ *(Error:|No results)", done.stdout, re.MULTILINE), done.stdout
    assert list(copy.rglob("*.db")) == []


def test_every_way_to_connect_starts_a_server_with_tools(shell: Shell) -> None:
    rows = dict(re.findall(r"^\| ([A-Z][^|]+) \| `(.+)` \|$", _section("Connect your agent"), re.MULTILINE))
    assert len(rows) == 5
    for client, text in rows.items():
        if start := text.find("{") + 1:
            entry = json.loads(text[start - 1 :].rstrip("'"))
            entry = entry.get("mcpServers", {}).get("deltos") or entry
            command = [entry["command"], *entry["args"]]
        else:
            command = shlex.split(text.replace(" -- ", " "))[-2:]
        assert command == ["deltos", "mcp"], client
    server = RawClient([sys.executable, "-P", "-m", "deltos", "mcp"], home=shell.home, cwd=shell.root)
    server.initialize()
    assert len(server.request("tools/list")["result"]["tools"]) == 24
    assert "check_password" in server.text("search_code", query="where are passwords checked")
    server.shut_down()


def test_install_finds_the_clients_of_this_machine(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / ".codex").mkdir()
    assert "Found here: codex" in shell.run("install", code=2)
    shell.run("install", "codex")
    assert "[mcp_servers.deltos]" in (tmp_path / ".codex" / "config.toml").read_text()
    assert "hook" in (tmp_path / ".codex" / "hooks.json").read_text()


def test_code_is_found_by_name_text_pattern_and_after_a_change(shell: Shell) -> None:
    for query in ("check_password", '"load_hash(name)"', r"/load_\w+\(/"):
        assert "shop/passwords.py" in shell.run("code", "search", query)
    (shell.root / "shop" / "reset.py").write_text("def reset_password(name):\n    return name\n")
    assert "shop/reset.py" in shell.run("code", "search", "reset_password")


def test_references_are_certain_or_possible_and_stated_to_be_complete(shell: Shell) -> None:
    certain, heading, possible = shell.run("graph", "refs", "Cart.total_price").partition("--- 1 possible reference")
    assert heading
    assert "shop/pay.py" in certain
    assert "shop/guess.py" in possible
    assert "No other uses in code" in certain


def test_the_stated_number_of_languages_has_a_resolver() -> None:
    resolved = DECLARED_LANGUAGES | {"python", "typescript", "javascript"}
    assert resolved <= {language.name for language in LANGUAGES}
    assert set(re.findall(r"(\d+) languages(?:\. Certain|, own resolver)", README_TEXT)) == {str(len(resolved))}


@pytest.mark.parametrize("seed", SEEDS)
def test_descriptions_of_every_named_format_become_operations(shell: Shell, seed: str) -> None:
    shutil.copyfile(ROOT / "fuzz" / "seeds" / seed, shell.root / Path(seed).name)
    assert re.search(r"\b[1-9]\d* operations?", shell.run("api", "add", Path(seed).name))


def test_secrets_are_redacted_before_anything_is_written(shell: Shell) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    shell.run("memory", "add", f"The deploy key is {secret}")
    assert "deploy key" in shell.run("memory", "search", "deploy key")
    files = [path for path in shell.home.rglob("*") if path.is_file()]
    assert files
    assert not any(secret.encode() in path.read_bytes() for path in files)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout of the files that the examples are about."""
    return Checkout(tmp_path_factory.mktemp("examples"), "docs", "src/deltos/store", "src/deltos/cli/doctor.py")


def _first_citation(lines: list[str]) -> str:
    """Return the file, operation or observation that an answer names first."""
    found = re.search(r"[\w./-]+\.(?:py|md|yaml)|[A-Z]+ /[\w/{}]+|decision", "\n".join(lines))
    assert found, lines
    return found[0]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_command_and_the_right_result(checkout: Checkout, name: str) -> None:
    """Run `make pictures` if this fails."""
    command, *shown = _example(name)
    assert command == f"$ {EXAMPLES[name]}"
    assert _first_citation(checkout.run(EXAMPLES[name]).splitlines()) == _first_citation(shown)


def test_code_in_the_examples_equals_the_code_in_its_files() -> None:
    """Run `make pictures` if this fails."""
    example = _example("code")
    first = next(number for number, line in enumerate(example) if re.match(r"\S+:\d", line))
    place, *code = example[first:]
    source = (ROOT / place.partition(":")[0]).read_text("utf-8")
    assert [line for line in code if line and not line.startswith("… (") and line not in source] == []
    path = ""
    for line in _example("graph")[1:]:
        if (ROOT / line).is_file():
            path = line
        elif path and (use := re.match(r" \d+ \w+ (.+)  \w+", line)):
            assert use[1] in (ROOT / path).read_text("utf-8")
    assert path
