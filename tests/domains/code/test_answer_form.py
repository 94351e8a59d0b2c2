"""Form of search answers: the code of the first results, and one line for each of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.code.present.excerpt import HitSummary
from tests.domains.code.code_queries import LONG_FUNCTIONS, paths, search
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.calling import ToolClient

TWO_SHORT_FUNCTIONS = '''"""Reads the import statements of a file. Follows none of them."""


def read_clause(text):
    return text.split()


def go_package(text):
    return text.strip('"')
'''


def lines_of(client: ToolClient, query: str, **arguments: Any) -> list[str]:
    return client.call("search_code", query=query, **arguments).text.split("\n")


def test_the_excerpt_begins_with_its_definition(client: ToolClient, project: Path) -> None:
    write_files(project, {"src/clauses.py": TWO_SHORT_FUNCTIONS})
    for query in ("go_package", "how is a go package stripped"):
        lines = lines_of(client, query)
        at = lines.index("src/clauses.py:8-9 go_package")
        assert lines[at + 1 : at + 3] == ["def go_package(text):", "    return text.strip('\"')"]
    lines = lines_of(client, "split a read clause")
    assert lines[lines.index("src/clauses.py:4-5 read_clause") + 1] == "def read_clause(text):"


def test_the_excerpt_keeps_decorators_and_comments_above_the_definition(client: ToolClient, project: Path) -> None:
    source = "X = 1\n\n\n# Zebras are counted\n# twice.\n@cache\ndef count_zebras(herd):\n    return 2 * len(herd)\n"
    write_files(project, {"src/zebra.py": source})
    text = client.call("search_code", query="count_zebras", limit=1).text
    assert text == "src/zebra.py:4-8 count_zebras\n" + "\n".join(source.split("\n")[3:8])


def test_a_long_definition_is_shown_as_its_header_and_the_lines_around_the_answer(
    client: ToolClient, project: Path
) -> None:
    steps = [f"    step_{number} = advance(step_{number - 1}, pace={number})" for number in range(1, 45)]
    steps[38] = '    raise Overflow("the larder is full")'
    write_files(project, {"src/larder.py": "def stow(step_0):\n" + "\n".join(steps) + "\n"})
    [first, *_] = search(client, "overflow of a full larder", limit=1)["results"]
    assert first["content"].startswith("def stow(step_0):\n")
    assert 'raise Overflow("the larder is full")' in first["content"]
    assert first["start_line"] <= 40 <= first["end_line"]
    assert len(first["content"]) <= 2_000


def test_a_variable_does_not_get_the_docstring_of_the_next_definition(client: ToolClient, project: Path) -> None:
    source = 'most_walruses = 3\n\n\ndef feed(seal):\n    """Give a seal its fish."""\n    return seal\n'
    write_files(project, {"src/pool.py": source, "src/walrus.py": "def walrus(walruses):\n    return walruses\n"})
    text = client.call("search_code", query="walrus walruses", concise=True).text
    assert "src/pool.py:1 most_walruses = 3" in text
    assert "Give a seal" not in text


def test_documentation_is_shown_without_tags_and_attributes(client: ToolClient, project: Path) -> None:
    csharp = "/// <summary>\n/// Weighs yaks, e.g. brown ones. Slowly.\n/// </summary>\npublic class YakScales\n{\n    int yak;\n}\n"
    rust = "/// Shears a yak.\n#[inline]\npub fn shear(&self, yak: Yak) -> Option<Wool> {\n    None\n}\n"
    python = 'def weigh_or_shear(yaks):\n    """Weigh or shear yaks, the whole herd."""\n    return yaks\n'
    write_files(project, {"src/Scales.cs": csharp, "src/shear.rs": rust, "src/herd.py": python})
    lines = lines_of(client, "weigh or shear yaks, the whole herd")
    assert "src/Scales.cs:4 YakScales — Weighs yaks, e.g. brown ones." in lines
    assert "src/shear.rs:3 shear(yak: Yak) -> Option<Wool> — Shears a yak." in lines


def test_a_second_chunk_of_the_first_file_comes_after_other_files(client: ToolClient, project: Path) -> None:
    body = "".join(f"    ledger.write({n})\n" for n in range(20))
    source = f"def open_quota(ledger):\n{body}\n\ndef close_quota(ledger):\n{body}"
    others = {f"src/other{n}.py": f"def ledger_quota_{n}():\n    pass\n" for n in range(4)}
    write_files(project, {"src/quota.py": source, **others})
    found = search(client, "quota of the ledger: open or close")["results"]
    own = [rank for rank, hit in enumerate(found) if hit["file_path"] == "src/quota.py"]
    assert own == [0, 3]
    assert {found[rank]["symbol"] for rank in own} == {"open_quota", "close_quota"}


def test_code_comes_before_tests_and_prose_unless_requested(client: ToolClient, project: Path) -> None:
    write_files(
        project,
        {
            "src/parcel.py": "def weigh(parcel):\n    return parcel.weight\n",
            "tests/test_parcel.py": "def test_weigh_parcel():\n    assert weigh(parcel) == parcel.weight\n",
            "docs/parcel.md": "# Parcel\n\nHow to weigh a parcel: put the parcel on the scales and weigh it.\n",
        },
    )
    assert paths(search(client, "weigh a parcel"))[0] == "src/parcel.py"
    assert paths(search(client, "test that a parcel can be weighed"))[0] == "tests/test_parcel.py"


def test_every_line_of_a_concise_answer_has_a_symbol_and_a_summary(client: ToolClient, project: Path) -> None:
    write_files(project, LONG_FUNCTIONS)
    lines = [line for line in lines_of(client, "compute", concise=True) if line.startswith("many/")]
    assert len(lines) == 10
    for line in lines:
        place, name, *summary = line.split(" ")
        assert place.endswith(".py:1")
        assert name.startswith("compute_")
        assert summary or "()" in name


def test_an_undefined_name_is_answered_with_similar_names(client: ToolClient) -> None:
    text = client.call("search_code", query="claerCacheValue").text
    assert text.startswith("Note: no definition is named claerCacheValue; closest by words:")
    assert "\nSimilar names: clear_cache, test_clear_cache.\n" in text


def test_a_long_list_of_imports_in_a_result_is_truncated(client: ToolClient, project: Path) -> None:
    imports = "".join(f"import module_{n}_with_a_long_name\n" for n in range(40))
    write_files(project, {"src/many.py": f'"""Weaves baskets of willow."""\n\n{imports}\n\nX = 1\n'})
    [first] = search(client, "weaves baskets of willow", limit=1)["results"]
    assert first["content"].startswith('"""Weaves baskets of willow."""')
    assert len(first["content"]) <= 500


def test_a_summary_never_contains_a_single_quote_or_bracket_of_a_pair(client: ToolClient, project: Path) -> None:
    write_files(
        project,
        {
            "settings.toml": "[tool.zeppelin.run]\nx = 1\n",
            "src/defaults.py": "DEFAULTS = dict_of({\n" + "    'x': 1,\n" * 12 + '    "ZEPPELIN_NAME": "graf",\n})\n',
        },
    )
    text = client.call("search_code", query="tool.zeppelin.run", concise=True).text
    assert "tool.zeppelin.run]" not in text
    text = client.call("search_code", query='"ZEPPELIN_NAME"', concise=True).text
    assert '"ZEPPELIN_NAME": "graf",' in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (r"/throw new \w+Exception\(/", "throw new OverflowException("),
        ('"throw new OverflowException"', "throw new OverflowException"),
        (r"/public \w+ Stow/", "public Shelf Stow"),
    ],
)
def test_every_concise_line_of_an_exact_search_shows_the_match(
    client: ToolClient, project: Path, query: str, found: str
) -> None:
    room = "if (this.shelves.Where(shelf => shelf.HasRoomFor(jar)).Count() == 0)"
    code = f"        {room} throw new OverflowException(nameof(jar), 1);\n"
    for number in range(12):
        source = (
            f"class Pantry{number} {{\n    public Shelf Stow(Jar jar, int level, string label) {{\n{code}    }}\n}}\n"
        )
        write_files(project, {f"src/a_folder_with_a_name/Pantry{number}.cs": source})
    lines = client.call("search_code", query=query, concise=True, limit=50).text.split("\n")
    assert len(lines) == 12
    assert all(found in line and len(line) <= 200 for line in lines)


C_FILE = """\
/* Copyright Somebody. All rights reserved. */

/* We lean on the fact that walruses are counted elsewhere. */

#include "zoo.h"
#ifdef _WIN32
# include "win/zoo.h"
#else
# include "unix/zoo.h"
#endif

/* Feeds the seals. */

int feed_otters(int fish) {
  return give(fish);
}

# define MOST_FISH 3
int weigh_otters(int fish) {
  return fish;
}

/* Wakes
 * the otters up.
 *
 * @param fish how many they get
 */
int wake_otters(int fish) {
  return fish;
}
"""


def test_a_definition_is_not_summarised_by_an_unrelated_sentence(client: ToolClient, project: Path) -> None:
    write_files(project, {"src/zoo.c": C_FILE, "src/otters.c": "int otters(int fish) {\n  return fish;\n}\n"})
    for name, summary in {
        "feed_otters": "feed_otters(int fish)",
        "weigh_otters": "weigh_otters(int fish)",
        "wake_otters": "wake_otters(int fish) — Wakes the otters up.",
    }.items():
        line = client.call("search_code", query=name, concise=True, limit=1).text.split("\n")[-1]
        assert line.endswith(f" {summary}"), line


def test_the_label_of_an_exact_match_names_the_code_around_it(client: ToolClient, project: Path) -> None:
    write_files(
        project, {"src/gnu.py": "import zebra_tools\n\n\ndef gallop(herd):\n    return zebra_tools.run(herd)\n"}
    )
    hits = search(client, '"zebra_tools"')["results"]
    assert [(hit["start_line"] <= 1, hit["symbol"]) for hit in hits] == [(True, ""), (False, "gallop")]


def test_an_excerpt_ends_where_a_statement_ends(client: ToolClient, project: Path) -> None:
    steps = "".join(f"    stow_jar(\n        shelf_{n},\n        jar_of_marmalade_{n},\n    )\n" for n in range(12))
    write_files(project, {"src/larder.py": f"def fill_larder():\n{steps}" + "    pass\n" * 200})
    [first, *_] = search(client, "stow a jar of marmalade in the larder", limit=1)["results"]
    assert first["content"].removesuffix("…").rstrip().endswith((")", "pass"))


def test_shortened_text_ends_at_a_word() -> None:
    words = " ".join(["marmalade"] * 40)
    line = HitSummary(1, "(jar)", words, is_sentence=True).line(100)
    assert len(line) <= 100
    assert set(line.removeprefix("(jar) — ").removesuffix("…").split()) == {"marmalade"}


def test_a_summary_line_keeps_the_whole_signature_if_part_of_the_sentence_still_fits() -> None:
    signature = "(shelf: Shelf, jar: Jar, label: str = '', *, level: int = 0, force: bool = False) -> None"
    summary = HitSummary(1, signature, "Stow a jar on a shelf of the pantry and write its label.", is_sentence=True)
    assert summary.line(180).startswith(f"{signature} — Stow a jar")
    assert len(summary.line(100)) <= 100
