"""Symbols are linked to documentation and observations that mention them, and to packages that define them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.errors import NotFound
from deltos.text.mentions import mentions
from tests.calling import ToolClient
from tests.domains.docs.test_packages import install_web_kit
from tests.relevance.parcels import add_documentation
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

FILES = {
    "src/shop.py": "def total_price(items):\n    return sum(items)\n\n\ndef run():\n    return total_price([1])\n",
    "src/web.py": "import web_kit\n\n\ndef load():\n    return web_kit.Client().get('/')\n",
    "docs/guide.md": "# Guide\n\n## Prices\n\nCall `total_price` for a sum.\n\n## Running\n\nrun the shop. Use `shop.run()` in code.\n",
    "docs/other.md": "# Other\n\nWe run and run and sum up prices.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


@pytest.fixture
def client(tmp_path: Path, root: Path, workers: ProcessPool) -> Iterator[ToolClient]:
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        add_documentation(app, root, "docs", "manual")
        yield ToolClient(app.tools(), root)


def test_get_context_lists_documentation_that_mentions_a_symbol(client: ToolClient) -> None:
    text = client.call("get_context", symbol="total_price").text
    assert "--- documentation (1, quoted) ---" in text
    assert "Guide > Prices (docs/guide.md#prices)" in text
    assert "Call `total_price` for a sum." in text


def test_plain_word_is_a_mention_only_if_written_as_code(client: ToolClient) -> None:
    text = client.call("get_context", symbol="run").text
    assert "docs/guide.md#running" in text
    assert "docs/other.md" not in text
    assert mentions("see total_price here", "total_price")
    assert not mentions("see total_prices here", "total_price")
    assert mentions("call run() now", "run")
    assert mentions("call `run now` then", "run")
    assert not mentions("`call` \nrun` now", "run")
    assert not mentions("run now", "run")


def test_observation_without_a_file_is_linked_by_symbol_name(client: ToolClient, root: Path) -> None:
    client.call("get_context", symbol="total_price")  # this call indexes the project
    client.call("remember", text="`total_price` ignores taxes on purpose", kind="decision")
    write_files(root, {"src/web.py": "import web_kit\n"})
    assert "code changed since" not in client.call("get_context", symbol="total_price").text
    write_files(root, {"src/shop.py": FILES["src/shop.py"].replace("sum(items)", "sum(items) * 2")})
    assert "on purpose (code changed since)" in client.call("get_context", symbol="total_price").text


def test_get_context_lists_observations_and_marks_changed_code(client: ToolClient, root: Path) -> None:
    client.call("remember", text="total_price ignores taxes on purpose", files=["src/shop.py"], kind="decision")
    text = client.call("get_context", symbol="total_price").text
    assert "--- memory (1, quoted) ---" in text
    assert "decision: total_price ignores taxes on purpose" in text
    assert "code changed since" not in text
    write_files(root, {"src/shop.py": FILES["src/shop.py"].replace("sum(items)", "sum(items) * 2")})
    assert "on purpose (code changed since)" in client.call("get_context", symbol="total_price").text


def test_get_context_without_other_toolsets_has_graph_only(tmp_path: Path, root: Path, workers: ProcessPool) -> None:
    with closing(App(Config(tmp_path / "other", toolsets=("graph",)), workers=workers)) as app:
        alone = ToolClient(app.tools(), root)
        assert "quoted" not in alone.call("get_context", symbol="total_price").text
        assert app.links.observation_lines([], root) == []
        with pytest.raises(NotFound):
            alone.call("find_references", symbol="web_kit.Client.get")


def test_an_indexed_package_symbol_shows_its_documented_signature(
    tmp_path: Path, root: Path, workers: ProcessPool
) -> None:
    install_web_kit(root)
    with closing(App(Config(tmp_path / "other"), workers=workers)) as app:
        agent = ToolClient(app.tools(), root)
        agent.call("add_source", url="pypi:web-kit", name="kit")
        (source,) = app.domains.docs.library.sources()
        app.domains.docs.library.crawls.wait(source.id)
        assert "timeout: float = 5.0" in agent.call("find_references", symbol="Client.get").text
        for tool in ("find_references", "get_impact", "get_context"):
            text = agent.call(tool, symbol="web_kit.Client.get").text
            assert text.startswith("'web_kit.Client.get' is not defined in this project but in an installed package:")
            assert "documented in pypi:web-kit@2.1.0/web_kit/_client.py (quoted)" in text
            assert "Fetch a url with a timeout." in text
            assert "src/web.py: 5" in text


@pytest.mark.parametrize("symbol", ["web_kit.Nothing", "web_kit.broken.x", "no_such_package.thing", "nowhere"])
def test_undocumented_symbol_is_not_found(client: ToolClient, root: Path, symbol: str) -> None:
    install_web_kit(root)
    with pytest.raises(NotFound, match="not found"):
        client.call("find_references", symbol=symbol)


def test_damaged_library_does_not_break_graph_answers(tmp_path: Path, root: Path, workers: ProcessPool) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "memory.db").mkdir()  # the library is not a readable database
    with closing(App(Config(tmp_path / "other"), workers=workers)) as app:
        agent = ToolClient(app.tools(), root)
        text = agent.call("get_context", symbol="total_price").text
        assert "--- callers (1) ---" in text
        assert "documentation and memory could not be read" in text
