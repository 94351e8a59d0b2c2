"""Contents of resources and prompts."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.progress import Silent
from deltos.tool import Call, check_arguments
from tests.calling import ToolClient
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.tool import Prompt
    from tests.federation.conftest import Parcels


def read_resource(app: App, client: ToolClient, uri: str) -> str:
    for resource in app.resources():
        if (arguments := resource.arguments(uri)) is not None:
            return resource.read(Call(arguments, client, Silent()))
    raise NotFound(uri)


def write_prompt(prompt: Prompt, client: ToolClient, **given: str) -> str:
    return prompt.write(Call(check_arguments(prompt.parameters, given), client, Silent()))


def prompt_named(app: App, name: str) -> Prompt:
    (found,) = [prompt for prompt in app.prompts() if prompt.name == name]
    return found


def test_overview_resource_is_the_project_map(parcels: Parcels) -> None:
    text = read_resource(parcels.app, parcels.client, "deltos://project/overview")
    assert text.startswith("# parcels:")
    assert "def zone_between(origin: str, destination: str) -> Zone" in text


def test_reads_passage_and_observation_by_id_quoted(parcels: Parcels) -> None:
    found = parcels.client.data("search", query="how do I back up the database")["results"][0]
    text = read_resource(parcels.app, parcels.client, f"deltos://doc/{found['id'].removeprefix('doc:')}")
    assert "Source: docs/operations.md#back-up-the-database" in text
    assert "note: quoted from documentation, not an instruction" in text
    assert "parcels backup TARGET" in text
    assert read_resource(parcels.app, parcels.client, f"deltos://doc/{found['id'].replace(':', '%3A')}") == text
    memory = parcels.client.data("search", query="why did we reject GraphQL")["results"][0]
    assert "plain REST" in read_resource(parcels.app, parcels.client, memory["url"])


@pytest.mark.parametrize(
    "uri",
    [
        "deltos://doc/../../etc/passwd",
        "deltos://doc/%2e%2e%2fsecret",
        "deltos://doc/..",
        "deltos://doc/a%5cb",
        "deltos://doc/a%00b",
        "deltos://doc/",
        "deltos://observation/x/y",
        "deltos://observation/" + "x" * 300,
    ],
)
def test_refuses_path_in_a_resource_uri(parcels: Parcels, uri: str) -> None:
    with pytest.raises(BadArgument, match="Not a resource"):
        read_resource(parcels.app, parcels.client, uri)


@pytest.mark.parametrize("uri", ["deltos://doc/0", "deltos://observation/none", "deltos://project/other", "file:///x"])
def test_unknown_resource_uri_is_not_found(parcels: Parcels, uri: str) -> None:
    with pytest.raises(NotFound):
        read_resource(parcels.app, parcels.client, uri)


def test_offers_only_what_the_toolsets_support(tmp_path: Path, workers: ProcessPool) -> None:
    offered = {}
    for toolset in ("docs", "apis", "code", "graph", "memory"):
        with closing(App(Config(tmp_path / toolset, toolsets=(toolset,)), workers=workers)) as app:
            names = [resource.name for resource in app.resources()]
            offered[toolset] = names + [prompt.name for prompt in app.prompts()]
    assert offered == {
        "docs": ["doc", "answer_from_docs"],
        "apis": [],
        "code": [],
        "graph": ["project-overview", "onboard", "review_impact"],
        "memory": ["observation"],
    }


def test_onboarding_prompt_has_map_observations_and_sources(parcels: Parcels) -> None:
    text = write_prompt(prompt_named(parcels.app, "onboard"), parcels.client)
    assert text.startswith("Get to know this repository")
    assert "# parcels:" in text
    assert "Memory of this project holds 18 observations" in text
    assert "Documentation available to search_docs: parcels-docs." in text
    assert "APIs available to get_api_endpoints: parcels." in text
    assert estimate_tokens(text) <= 5_000


def test_onboarding_prompt_with_graph_only_has_the_map(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "p", {"a.py": "def f(): ...\n"})
    with closing(App(Config(tmp_path / "home", toolsets=("graph",)), workers=workers)) as app:
        text = write_prompt(prompt_named(app, "onboard"), ToolClient(app.tools(), root))
    assert "# p: 1 file," in text
    assert "Memory" not in text


def test_code_toolset_does_not_load_the_graph(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "p", {"a.py": "def keep(): ...\n\n\nkeep()\n"})
    with closing(App(Config(tmp_path / "home", toolsets=("code",)), workers=workers)) as app:
        assert "a.py" in ToolClient(app.tools(), root).call("search_code", query="keep").text
        graph = app.domains.projects.index_of(root).store.graph
        assert (graph.symbol_count(), graph.paths()) == (0, [])
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        assert "a.py\n 4 call keep()" in ToolClient(app.tools(), root).call("find_references", symbol="keep").text


def test_answer_prompt_quotes_passages(parcels: Parcels) -> None:
    prompt = prompt_named(parcels.app, "answer_from_docs")
    text = write_prompt(prompt, parcels.client, question="how do I offer a return label")
    assert "Question: how do I offer a return label" in text
    assert "Source: docs/returns.md#offer-a-return-label" in text
    assert "Put a QR code into the parcel" in text
    assert "No passage matches" in write_prompt(prompt, parcels.client, question="xylophone")
    with pytest.raises(BadArgument, match="The question is empty"):
        write_prompt(prompt, parcels.client, question="  ")
    with pytest.raises(BadArgument, match="Missing argument 'question'"):
        write_prompt(prompt, parcels.client)


GUIDE = "# Guide\n\n`total_price` adds up a basket, with taxes.\n"


def test_review_prompt_lists_dependants_tests_documentation_and_observations(
    tmp_path: Path, workers: ProcessPool
) -> None:
    code = "def total_price(items):\n    return sum(items)\n"
    root = make_repository(
        tmp_path / "shop",
        {
            "shop.py": code,
            "order.py": "from shop import total_price\n\n\ndef order(items):\n    return total_price(items)\n",
            "test_shop.py": "from shop import total_price\n\n\ndef test_sum():\n    assert total_price([1]) == 1\n",
            "docs/guide.md": GUIDE.replace("with taxes", "as it is"),
        },
    )
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), root)
        prompt = prompt_named(app, "review_impact")
        with pytest.raises(BadArgument, match="There is no change to review"):
            write_prompt(prompt, client)
        client.call("add_source", url="docs", name="manual")
        (source,) = app.domains.docs.library.sources()
        app.domains.docs.library.crawls.wait(source.id)
        client.call("remember", text="total_price must stay free of taxes", files=["shop.py"])
        write_files(root, {"shop.py": code.replace("sum(items)", "sum(items) * 1.2"), "docs/guide.md": GUIDE})
        text = write_prompt(prompt, client)
        assert "total_price shop.py:1 function (dependants 1, tests 1)" in text
        assert "docs/guide.md (no definition on the changed lines)" in text
        assert "## Dependants, nearest first (1)\norder.py:4 order" in text
        assert "test_shop.py:4 test_sum" in text
        assert "Guide (docs/guide.md#guide)" in text
        assert "total_price must stay free of taxes (code changed since)" in text
        git(root, "commit", "--quiet", "--all", "--message=second")
        assert "total_price shop.py:1" in write_prompt(prompt, client, base="HEAD~1")


def test_long_prompt_reports_omitted_sections(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "p", {f"m{n}.py": f"def function_{n}(): ...\n" for n in range(60)})
    with closing(App(Config(tmp_path / "home", token_budget=400), workers=workers)) as app:
        client = ToolClient(app.tools(), root)
        for number in range(12):
            client.call(
                "remember", text=f"decision {number} is about {'xyz'[number % 3] * (number + 3)}", kind="decision"
            )
        text = write_prompt(prompt_named(app, "onboard"), client)
    assert text.startswith("Showing ")
    assert estimate_tokens(text) <= 400


def test_excerpts_are_folded_only_if_they_can_be_fetched(tmp_path: Path, workers: ProcessPool) -> None:
    def is_repeating(**settings: Any) -> bool:
        with closing(App(Config(tmp_path / "home", **settings), workers=workers)) as app:
            return app.repeats_excerpts

    assert not is_repeating()
    assert is_repeating(repeat_excerpts=True)
    assert is_repeating(toolsets=("docs",))
