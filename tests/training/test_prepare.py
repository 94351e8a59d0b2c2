from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from training.data import MAX_TEXT_WORDS, Bags, Pairs, batches, load_pairs, load_word_splitter, vocabulary
from training.prepare import COUNTING_INTERVAL, prepare

from deltos.text.words import Words
from tests.training.packages import GUIDE, INSTALL, SHAPES

REAL_TEXTS = [
    *(path.read_text("utf-8") for path in sorted(Path(__file__).parents[2].glob("training/*.py"))),
    "parseHTTPRequest snake_case_names v2Beta 你好世界 naïve Übergröße " + "x" * 70,
    *(GUIDE, INSTALL, SHAPES),
]
WORDNET = '00001740 03 n 02 circle 0 round_shape 0 000 | a shape that has one radius; "they draw many circles"\n'
FOLDOC = "circle area\n\n   What a shape covers: compute it\n   from the radius.\n\n"


def write_mined_pairs(folder: Path) -> Path:
    """Write mined pairs with each text in several packages, so that all words are in the vocabulary and some pairs held out."""
    folder.mkdir()
    with gzip.open(folder / "part-000.jsonl.gz", "wt", encoding="utf-8") as sink:
        for number in range(len(REAL_TEXTS) * COUNTING_INTERVAL):
            row = {"package": f"package-{number}", "kind": "doc", "query": f"question about package-{number}"}
            sink.write(json.dumps({**row, "text": REAL_TEXTS[number // COUNTING_INTERVAL]}) + "\n")
    return folder


def write_dictionaries(folder: Path) -> Path:
    """Write the two dictionaries in the layout of their packages."""
    (folder / "usr/share/wordnet").mkdir(parents=True)
    (folder / "usr/share/wordnet/data.noun").write_text("  1 a licence\n" + WORDNET, "utf-8")
    (folder / "usr/share/dictd").mkdir()
    (folder / "usr/share/dictd/foldoc.dict.dz").write_bytes(gzip.compress(FOLDOC.encode()))
    return folder


@pytest.fixture(scope="module")
def prepared_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder / "data", [write_mined_pairs(folder / "pairs")], write_dictionaries(folder / "dictionary"))
    return folder / "data"


@pytest.fixture(scope="module")
def loaded_pairs(prepared_data: Path) -> tuple[Pairs, Pairs]:
    return load_pairs(prepared_data, most=10_000, workers=1)


def test_training_loads_the_prepared_pairs(prepared_data: Path, loaded_pairs: tuple[Pairs, Pairs]) -> None:
    pairs, held_out = loaded_pairs
    assert len(pairs) + len(held_out) == len(REAL_TEXTS) * COUNTING_INTERVAL + 3
    assert set(pairs.texts) > set(REAL_TEXTS)
    glossary = {query: text for query, text in zip(pairs.queries, pairs.texts, strict=True) if "package" not in query}
    assert glossary == {
        "circle round shape": "a shape that has one radius",
        "they draw many circles": "circle round shape a shape that has one radius",
        "circle area": "What a shape covers: compute it from the radius.",
    }
    words, number = vocabulary(prepared_data), pairs.queries.index("they draw many circles")
    assert [words[n] for n in pairs.query_bags.row(number)] == ["draw", "mani", "circl"]


def test_no_package_is_in_both_the_training_and_the_held_out_pairs(loaded_pairs: tuple[Pairs, Pairs]) -> None:
    pairs, held_out = loaded_pairs
    names = [
        {query.split()[-1] for query in side.queries if query.startswith("question")} for side in (pairs, held_out)
    ]
    assert names[1]
    assert not names[0] & names[1]


@pytest.mark.parametrize("text", REAL_TEXTS)
def test_listed_words_equal_the_words_of_the_index(prepared_data: Path, text: str) -> None:
    known = vocabulary(prepared_data)
    expected = [word for word in Words().of(text).split() if word in set(known)]
    listed = load_word_splitter(prepared_data)
    assert [known[number] for number in listed.counted(text, 1_000_000)] == expected
    assert [known[number] for number in listed.distinct(text, 1_000_000)] == list(dict.fromkeys(expected))


def test_a_text_keeps_repeated_words_and_a_question_does_not(prepared_data: Path) -> None:
    listed = load_word_splitter(prepared_data)
    assert len(listed.counted("circle circle radius", 10)) == 3
    assert listed.counted("circle circle radius", 2) == listed.counted("circle circle", 10)
    assert len(listed.distinct("circle circle radius", 10)) == 2


def test_about_half_of_the_training_texts_can_begin_with_their_question(loaded_pairs: tuple[Pairs, Pairs]) -> None:
    plain, _ = loaded_pairs
    joined = plain.with_questions(np.random.default_rng(0))
    assert 0.3 < joined.joined.mean() < 0.7
    for number, front in enumerate(joined.joined):
        question, text = (plain.query_bags.row(number), plain.queries[number]), plain.text_bags.row(number)
        assert joined.text_bags.row(number) == ((question[0] + text)[:MAX_TEXT_WORDS] if front else text)
        assert joined.texts[number].startswith(question[1]) == front


def test_a_bag_of_words_table_returns_selected_rows_and_counts_the_rows_of_each_word() -> None:
    bags = Bags.of([[3, 3, 1], [], [1, 2]])
    ids, offsets = bags.take(np.array([2, 0]))
    assert (ids.tolist(), offsets.tolist()) == ([1, 2, 3, 3, 1], [0, 2])
    assert bags.rows_with(5).tolist() == [0, 2, 1, 1, 0]
    assert len(bags) == 3


def test_each_block_of_a_batch_comes_from_one_package(loaded_pairs: tuple[Pairs, Pairs]) -> None:
    pairs, _ = loaded_pairs
    rows = next(batches(pairs, 32, np.random.default_rng(0)))
    packages = pairs.packages[rows]
    assert len(set(rows.tolist())) == 32
    assert np.count_nonzero(np.diff(packages)) + 1 == len(set(packages.tolist()))
