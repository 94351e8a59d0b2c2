"""Learn the ranking weights of documentation search from sites that no benchmark uses.

    python -m benchmarks.docs_train --work FOLDER [--write]

docs_dataset.py provides the sites and questions; the development half of `questions/docs.jsonl` is one more group.
The first run indexes and embeds every site, which takes an hour on one core. Natural questions are asked about
their own site and about all sites of their group. There are two sets of weights, for keywords and for sentences;
queries in between use a mixture of both. For evaluation, weights are fitted on all groups except one and measured on
the remaining group. The final weights are fitted on all groups. `--write` saves them to domains/docs/weights.json.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.docs_dataset import (
    GROUPS,
    NATURAL,
    LabelledQuestion,
    development_questions,
    lay_out,
    link_questions,
    natural_questions,
)
from benchmarks.docs_questions import QUESTIONS
from benchmarks.docs_questions import lay_out as lay_out_open
from benchmarks.no_apis import NoApis
from deltos.domains.docs.domain import Docs, open_docs
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.rank import WEIGHTS, WEIGHTS_FILE, DocsFeatures, describe_candidates
from deltos.embed.embedders import docs_embedder
from deltos.open_stores import open_library
from deltos.ranking import load_ranker
from deltos.semantic_index import SemanticIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Numbers: TypeAlias = "npt.NDArray[np.float64]"

FEATURES = DocsFeatures._fields
# All other weights must be positive, or negative if they are in NEGATIVE_WEIGHTS. Otherwise, noise could give them the
# wrong sign.
UNSIGNED_WEIGHTS = frozenset(("length", "definition", "first", "depth"))
NEGATIVE_WEIGHTS = frozenset(("secondary",))
# Values near which the weights should stay. They were set by hand on the development set.
PRIOR = {
    "heading": 0.5,
    "trail": 0.5,
    "anchors": 0.3,
    "links": 0.5,
    "body": 1.0,
    "page": 2.0,
    "covered": 1.5,
    "covered_with_trail": 0.5,
    "covered_by_anchors": 1.0,
    "heading_answered": 1.3,
    "phrases": 0.7,
    "exact_name": 1.3,
    "source_named": 1.7,
    "links_in": 0.5,
    "page_links_in": 0.2,
    "length": -0.1,
    "definition": 0.3,
    "first": 0.3,
    "depth": -0.2,
    "meaning": 0.3,
    "secondary": -1.0,
    "near_alone": 200.0,
}
# Questions from links contain no code names and have headings as answers, so they hardly help to rank body text. The
# last value was chosen on questions that share no terms with their answers (questions/semantic.jsonl); this set has
# none.
MIN_WEIGHTS = {"exact_name": 1.3, "body": 0.2, "near_alone": 200.0}
PENALTY = 0.05  # the results are almost the same for 0.01, 0.02, 0.05 and 0.2
PAGE_SHARE = 0.1  # target probability of the other chunks on the right page
# Statements are rarer than questions; a smaller weight makes results worse for the statements of the benchmark.
QUESTION_WEIGHTS = {"sentence": 2.0}


OWN_SITE, ALL_SITES, DEVELOPMENT = "natural, own site", "natural, all sites", "development half, own site"
KINDS = (OWN_SITE, ALL_SITES, DEVELOPMENT, "heading", "index", "name", "sentence")


@dataclass(frozen=True, slots=True)
class Example:
    """Candidates of one question: features by row, target probabilities, and the weight of the sentence ranker."""

    values: Numbers
    right: Numbers
    exact: npt.NDArray[np.bool_]
    pages: tuple[str, ...]
    asked: LabelledQuestion
    sentence_degree: float
    is_own: bool  # whether the question is searched only in its own site

    @property
    def doubled_features(self) -> Numbers:
        """Return the features for both rankers, each multiplied by the share of the ranker."""
        return np.hstack([self.values * (1 - self.sentence_degree), self.values * self.sentence_degree])


def main() -> None:
    """Prepare the sites, fit and cross-validate the weights, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for downloads and indexes")
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    groups = [examples_of_group(number, arguments.work) for number in range(len(GROUPS))]
    groups.append(development_examples(arguments.work))
    current = np.concatenate([load_ranker(WEIGHTS_FILE, FEATURES, which).weights for which in WEIGHTS])
    learned = [fit([each for other in groups if other is not group for each in other]) for group in groups]
    print_table(groups, [current] * len(groups), learned)
    weights = fit([example for group in groups for example in group])
    for name, few_words, sentence in zip(FEATURES, *np.split(weights, 2), strict=True):
        print(f"{name}: {few_words:.3f} {sentence:.3f}")
    if arguments.write:
        write_weights(weights)


def print_table(groups: Sequence[Sequence[Example]], before: Sequence[Numbers], after: Sequence[Numbers]) -> None:
    """Print the figures for each kind of question, with the current weights and with cross-validated weights."""
    print("| questions | n | first passage, page recall@5 before | after, cross-validated |\n|---|--:|--:|--:|")
    names = [
        "natural, own site",
        "natural, all sites",
        "heading",
        "index",
        "name",
        "sentence",
        "development half, own site",
    ]
    for name in names:
        chosen = [(number, example) for number, group in enumerate(groups) for example in group]
        chosen = [(number, each) for number, each in chosen if row_name(each, is_open=number == len(GROUPS)) == name]
        if not chosen:
            continue
        columns = []
        for weights in (before, after):
            scored = [accuracy(example, weights[number]) for number, example in chosen]
            columns.append(" / ".join(f"{share:.3f}" for share in np.mean(scored, axis=0)))
        print(f"| {name} | {len(chosen)} | {' | '.join(columns)} |", flush=True)


def row_name(example: Example, *, is_open: bool) -> str:
    """Return the name of the table row to which an example belongs."""
    if example.asked.kind != NATURAL:
        return example.asked.kind
    if is_open and example.is_own:
        return DEVELOPMENT
    return OWN_SITE if example.is_own else ALL_SITES


# ---------------------------------------------------------------------- examples


def examples_of_group(number: int, work: Path) -> list[Example]:
    """Write the sites of a group, index their pages, and return the candidates of every question."""
    group = work / f"group{number}"
    for site in GROUPS[number]:
        if not (group / site.name).exists():
            lay_out(site, work, group)
    docs = open_sites(work / f"home{number}", {site.name: group / site.name / "pages" for site in GROUPS[number]})
    asked = [each for site in GROUPS[number] for each in link_questions(site, group / site.name)]
    asked += [each for site in GROUPS[number] for each in natural_questions(site.name)]
    return describe_examples(docs, asked)


def development_examples(work: Path) -> list[Example]:
    """Return the examples of the development sites."""
    every = json.loads((QUESTIONS / "docs_sites.json").read_text("utf-8"))
    sites = {name: work / "open" / name for name, site in every.items() if not site["held_out"]}
    for name, folder in sites.items():
        lay_out_open(name, every[name], folder)
    return describe_examples(open_sites(work / "home-open", sites), development_questions([*sites], work / "open"))


def open_sites(home: Path, sites: dict[str, Path]) -> Docs:
    """Open a documentation library with all passages of the sites embedded."""
    library = open_library(home)
    semantic_index = SemanticIndex(docs_embedder(), library.vectors)
    docs = open_docs(library, apis=NoApis(), semantic_index=lambda: semantic_index)
    for name, folder in sites.items():
        if name not in {source.name for source in docs.library.sources()}:
            added = docs.library.add(NewSource(folder.as_posix(), name, folder, (folder,), max_pages=10_000))
            docs.library.crawls.run(added.sources[0].id)
            print(f"{name}: {docs.library.status(name).chunks} chunks", flush=True)
    semantic_index.embed_new()
    return docs


def describe_examples(docs: Docs, questions: Sequence[LabelledQuestion]) -> list[Example]:
    """Describe each question over all sites, and natural questions also over their own site; drop questions without
    a right candidate.
    """
    ids = {source.name: source.id for source in docs.library.sources()}
    scopes = [(asked, list(ids.values())) for asked in questions]
    scopes += [(asked, [ids[asked.site]]) for asked in questions if asked.kind == NATURAL]
    return [each for asked, scope in scopes if (each := describe(docs, asked, scope)) is not None]


def describe(docs: Docs, asked: LabelledQuestion, source_ids: list[str]) -> Example | None:
    """Return the candidates of a question as features, or None if no candidate is right."""
    found = docs.search.candidates(asked.query, source_ids)
    if not found.candidates:
        return None
    rows = describe_candidates(found.query, found.candidates, found.page_scores, found.similarities)
    texts = {chunk.id: chunk.text for chunk in docs.search.chunks([each.chunk_id for each in found.candidates])}
    places = [
        [place for place in asked.answers if each.source == asked.site and each.url.endswith(f"/{place.page}")]
        for each in found.candidates
    ]
    exact = np.array(
        [
            any(place.is_at(each.anchors, each.position, texts.get(each.chunk_id, "")) for place in on_page)
            for each, on_page in zip(found.candidates, places, strict=True)
        ]
    )
    right = target_probabilities(exact, np.array(list(map(bool, places))) & ~exact)
    pages = tuple(candidate.url for candidate in found.candidates)
    if not right.any():
        return None
    return Example(np.array(rows), right, exact, pages, asked, found.query.sentence_degree, len(source_ids) == 1)


def target_probabilities(exact: npt.NDArray[np.bool_], same_page: npt.NDArray[np.bool_]) -> Numbers:
    """Return target probabilities. The right chunks get most of it, and other chunks of the same pages the rest."""
    share = PAGE_SHARE if exact.any() else 1.0
    right: Numbers = exact / max(exact.sum(), 1) * (1.0 - PAGE_SHARE) + same_page / max(same_page.sum(), 1) * share
    total: float = right.sum()
    return right / total if total else right


# ---------------------------------------------------------------------- learning


def fit(examples: Sequence[Example], *, steps: int = 400, rate: float = 0.05) -> Numbers:
    """Minimise the cross-entropy of a softmax over the candidates of each question."""
    spread = np.tile(np.concatenate([each.values for each in examples]).std(axis=0) + 1e-9, 2)
    values = np.concatenate([each.doubled_features for each in examples]) / spread
    right = np.concatenate([each.right for each in examples])
    lengths = [len(each.values) for each in examples]
    starts, of = np.cumsum([0, *lengths[:-1]]), np.repeat(np.arange(len(examples)), lengths)
    importance = np.array([QUESTION_WEIGHTS.get(each.asked.kind, 1.0) for each in examples])
    importance = (importance / importance.sum())[of]
    signs = np.tile([0 if name in UNSIGNED_WEIGHTS else -1 if name in NEGATIVE_WEIGHTS else 1 for name in FEATURES], 2)
    prior = np.tile([PRIOR[name] for name in FEATURES], 2) * spread
    least = np.tile([MIN_WEIGHTS.get(name, -np.inf) for name in FEATURES], 2) * spread
    weights, first, second = prior, np.zeros(len(prior)), np.zeros(len(prior))
    for step in range(1, steps + 1):
        scores = values @ weights
        probabilities = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        probabilities /= np.add.reduceat(probabilities, starts)[of]
        gradient = values.T @ ((probabilities - right) * importance) + PENALTY * (weights - prior)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        moved = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = weights - rate * (1 - step / (steps + 1)) * moved
        weights = np.maximum(np.where(weights * signs < 0, 0.0, weights), least)
    result: Numbers = weights / spread
    return result


def accuracy(example: Example, weights: Numbers) -> tuple[float, float]:
    """Return whether the first passage is right, and the recall of right pages among the first five."""
    order = np.argsort(-(example.doubled_features @ weights), kind="stable")
    ranked = list(dict.fromkeys(example.pages[place] for place in order))
    right = {page for page, share in zip(example.pages, example.right, strict=True) if share > 0}
    return float(example.exact[order[0]]), len(right & set(ranked[:5])) / len(right)


def write_weights(weights: Numbers) -> None:
    """Replace both sets of weights in the weights file. The calibration of the confidence stays unchanged."""
    stored = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    for which, values in zip(WEIGHTS, np.split(weights, 2), strict=True):
        stored[which] = {name: round(float(value), 3) for name, value in zip(FEATURES, values, strict=True)}
    WEIGHTS_FILE.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
