"""Measure how well the confidence of `search_docs` separates answers from questions without an answer.

    python -m benchmarks.docs_confidence --home HOME --sites FOLDER [--held-out] [--fit]

HOME is a data folder with the sites of `questions/docs_sites.json` as sources with all passages embedded (`home-open`
in the work folder of `docs_train`); FOLDER has their files. Each question is asked of its own site and of a randomly
chosen other one, which does not answer it. `--fit` prints a new logistic regression for `answers` in
domains/docs/weights.json, which predicts whether one of the first three passages answers the question.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.docs_questions import QUESTIONS, Question, questions_about, squash_text
from benchmarks.no_apis import NoApis
from deltos.domains.docs.domain import Docs, open_docs
from deltos.domains.docs.rank import ANSWER_FEATURES, describe_candidates, known_share, rank_candidates, ranker_for
from deltos.domains.docs.search import MIN_ANSWER_PROBABILITY
from deltos.embed.embedders import docs_embedder
from deltos.open_stores import open_library
from deltos.semantic_index import SemanticIndex

if TYPE_CHECKING:
    import numpy.typing as npt

Numbers: TypeAlias = "npt.NDArray[np.float64]"
SHRINKAGE = 0.01


@dataclass(frozen=True, slots=True)
class QuestionFeatures:
    """A question asked about one site.

    The fields are the features of the first result, and whether the first result, or one of the first three, answers
    the question.
    """

    is_own: bool
    row: tuple[float, ...]
    answer_probability: float
    first: bool
    among_three: bool


def search_site(docs: Docs, question: Question, site: str, source_id: str) -> QuestionFeatures | None:
    """Search one site for a question. Return the features of the first result, or None if nothing is found."""
    found = docs.search.candidates(question.query, [source_id])
    if not found.candidates or found.similarities is None:
        return None
    ranked = rank_candidates(found.query, found.candidates, found.page_scores, found.similarities)[:3]
    rows = describe_candidates(found.query, found.candidates, found.page_scores, found.similarities)
    facts = zip(found.candidates, rows, found.similarities.cosines, strict=True)
    row, cosine = next((row, cosine) for each, row, cosine in facts if each is ranked[0].candidate)
    texts = {chunk.id: chunk.text for chunk in docs.search.chunks([each.candidate.chunk_id for each in ranked])}
    right = [
        site == question.site
        and any(
            each.candidate.url.endswith(f"/{target.path}")
            and target.is_shown_by(squash_text(texts[each.candidate.chunk_id]))
            for target in question.targets
        )
        for each in ranked
    ]
    by_words = ranker_for(found.query).score(row._replace(near_alone=0.0))
    known = known_share(found.query, found.candidates)
    values = (by_words, known, cosine, row.covered_with_trail, found.query.sentence_degree, 1.0)
    return QuestionFeatures(site == question.site, values, ranked[0].answer_probability, right[0], any(right))


def fit(asked: list[QuestionFeatures]) -> Numbers:
    """Fit a logistic regression by Newton's method, with shrinkage of all weights except the bias."""
    rows, right = np.array([each.row for each in asked]), np.array([each.among_three for each in asked], float)
    penalty = np.array([SHRINKAGE] * (len(ANSWER_FEATURES) - 1) + [0.0])
    weights = np.zeros(len(ANSWER_FEATURES))
    for _ in range(60):
        probabilities = 1 / (1 + np.exp(-rows @ weights))
        curvature = rows.T @ (rows * (probabilities * (1 - probabilities))[:, None]) + np.diag(penalty)
        weights += np.linalg.solve(curvature, rows.T @ (right - probabilities) - penalty * weights)
    return weights


def main() -> None:
    """Ask the questions, and print the share of answers with a note about a weak match."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--sites", type=Path, required=True)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    library = open_library(given.home)
    semantic_index = SemanticIndex(docs_embedder(), library.vectors)
    docs = open_docs(library, apis=NoApis(), semantic_index=lambda: semantic_index)
    ids = {source.name: source.id for source in docs.library.sources()}
    every = json.loads((QUESTIONS / "docs_sites.json").read_text("utf-8"))
    names = [name for name, site in every.items() if site["held_out"] == given.held_out]
    chance = random.Random(1)
    asked: list[QuestionFeatures] = []
    for question in questions_about(names, given.sites):
        other = chance.choice([name for name in names if name != question.site])
        made = (search_site(docs, question, site, ids[site]) for site in (question.site, other))
        asked += [each for each in made if each is not None]
    print("| questions | n | a weak match |\n|---|--:|--:|")
    groups = {
        "the first passage answers": [each for each in asked if each.first],
        "one of the first three answers": [each for each in asked if each.among_three],
        "none of the first three answers": [each for each in asked if each.is_own and not each.among_three],
        "asked of a site that does not answer": [each for each in asked if not each.is_own],
    }
    for name, group in groups.items():
        share = np.mean([each.answer_probability < MIN_ANSWER_PROBABILITY for each in group])
        print(f"| {name} | {len(group)} | {share:.3f} |")
    if given.fit:
        print({name: round(float(weight), 2) for name, weight in zip(ANSWER_FEATURES, fit(asked), strict=True)})


if __name__ == "__main__":
    main()
