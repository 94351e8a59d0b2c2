"""Configuration by environment variables."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from deltos.config import DEFAULT_TOKEN_BUDGET, MIN_TOKEN_BUDGET, TOOLSETS, Config, parse_toolsets
from deltos.data_folder import data_folder
from deltos.errors import BadArgument


def test_an_empty_environment_selects_the_platform_folder_and_defaults() -> None:
    config = Config.from_environment({})
    assert config.home.name == "deltos"
    assert (config.token_budget, config.toolsets) == (DEFAULT_TOKEN_BUDGET, TOOLSETS)


def test_environment_variables_override_the_defaults() -> None:
    environ = {"DELTOS_HOME": "/data", "DELTOS_TOKEN_BUDGET": "800", "DELTOS_TOOLSETS": "code"}
    assert Config.from_environment(environ) == Config(Path("/data"), 800, ("code",))


def test_a_relative_home_and_a_tilde_are_resolved() -> None:
    assert Config.from_environment({"DELTOS_HOME": "data"}).home == Path.cwd() / "data"
    assert Config.from_environment({"DELTOS_HOME": "~/data"}).home == Path.home() / "data"


def test_given_toolsets_take_precedence_over_the_environment() -> None:
    config = Config.from_environment({"DELTOS_HOME": "/d", "DELTOS_TOOLSETS": "nonsense"}, toolsets="code")
    assert config.toolsets == ("code",)


def test_a_tiny_budget_is_raised_to_the_minimum() -> None:
    environ = {"DELTOS_HOME": "/d", "DELTOS_TOKEN_BUDGET": "-3"}
    assert Config.from_environment(environ).token_budget == MIN_TOKEN_BUDGET


def test_a_budget_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(BadArgument, match="DELTOS_TOKEN_BUDGET is not a number: 'lots'"):
        Config.from_environment({"DELTOS_HOME": "/d", "DELTOS_TOKEN_BUDGET": "lots"})


def test_toolsets_are_listed_in_a_fixed_order() -> None:
    assert parse_toolsets("") == TOOLSETS
    assert parse_toolsets(", ".join(reversed(TOOLSETS)).upper() + ",,") == TOOLSETS


def test_an_unknown_toolset_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(BadArgument, match=r"Unknown toolset: kitchen\. Choose from"):
        parse_toolsets("code,kitchen")


def test_the_bundled_model_is_used_unless_another_one_or_none_is_selected() -> None:
    assert Config.from_environment({"DELTOS_HOME": "/x"}).embedding.kind == "encoder"
    assert Config.from_environment({"DELTOS_HOME": "/x", "DELTOS_EMBED": "Off"}).embedding.kind == "off"
    chosen = {"DELTOS_EMBED": "ollama", "DELTOS_EMBED_URL": "http://host", "DELTOS_EMBED_MODEL": "m"}
    embedding = Config.from_environment({"DELTOS_HOME": "/x", **chosen, "DELTOS_EMBED_KEY": "k"}).embedding
    assert (embedding.kind, embedding.url, embedding.model, embedding.key) == ("ollama", "http://host", "m", "k")
    assert "'k'" not in repr(embedding)


def test_an_unknown_model_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(BadArgument, match="ollama"):
        Config.from_environment({"DELTOS_HOME": "/x", "DELTOS_EMBED": "magic"})


@pytest.mark.skipif(sys.platform != "linux", reason="other platforms use platformdirs directly")
@pytest.mark.parametrize("chosen", ["", "/srv/data"])
def test_the_data_folder_equals_the_folder_chosen_by_platformdirs(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", chosen)
    expected = Path(platformdirs.user_data_dir("deltos", appauthor=False))
    assert data_folder({"XDG_DATA_HOME": chosen}) == expected
