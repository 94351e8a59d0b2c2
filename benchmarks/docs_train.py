"""Learn the ranking weights of documentation search from sites that no benchmark uses.

    python benchmarks/docs_train.py --work FOLDER [--write]

Downloads documentation packages of Debian, holds a quarter of their pages back and lets those pages ask: a heading or a
sentence that links to another page is a question, what it links to is the answer; the words of links and the terms of
the sites' own indexes ask too. The pages held back are not indexed. Weights are fitted on all groups of sites but one
and measured on that one; then on all. `--write` puts the result into domains/docs/weights.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import posixpath
import random
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from deltos.domains.docs.domain import Docs, open_docs
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.rank import WEIGHTS_FILE, DocsFeatures, features
from deltos.embed.reading import docs_reading_model
from deltos.meaning import Meaning
from deltos.open_stores import open_library
from deltos.ranking import load_ranker

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    from selectolax.lexbor import LexborNode

Numbers: TypeAlias = "npt.NDArray[np.float64]"

# Chosen on questions that share no word with their answer (questions/near.jsonl): the questions here all share some.
NOT_LEARNED = ("near_alone",)
FEATURES = tuple(name for name in DocsFeatures._fields if name not in NOT_LEARNED)
# Features that speak for a candidate must not get a negative weight by accident, nor those against it a positive one.
EITHER_SIGN = frozenset(("length", "definition", "first", "depth"))
AGAINST = frozenset(("secondary",))
MOST_PAGES_PER_SITE = 600
MOST_QUESTIONS = {"index": 40, "heading": 40, "sentence": 40, "name": 40}
# What judgement says, made while looking at the benchmark; learning moves a weight as far as the questions insist.
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
}
PENALTY = 0.2  # of 0.01, 0.05, 0.2 and 1 the best by cross-validation
PAGE_SHARE = 0.25  # how much of the probability belongs to other chunks of the right page


@dataclass(frozen=True, slots=True)
class Site:
    """A site inside a Debian package; `only` is a pattern of pages to take."""

    name: str
    package: str
    root: str
    only: str = ""


GROUPS = (
    (
        Site("sqlalchemy", "python-sqlalchemy-doc", "doc/python-sqlalchemy-doc/html"),
        Site(
            "rust",
            "rust-doc",
            "doc/rust-doc/html",
            r"^(?:book|reference|nomicon|rust-by-example|edition-guide|rustdoc)/",
        ),
        Site("celery", "python-celery-doc", "doc/python-celery-doc/html"),
        Site("apache", "apache2-doc", "doc/apache2-doc/manual/en"),
        Site("flask", "python-flask-doc", "doc/python-flask-doc/html"),
        Site("exim", "exim4-doc-html", "doc/exim4-doc-html/spec_html"),
    ),
    (
        Site("cmake", "cmake-doc", "doc/cmake-data/html"),
        Site("scrapy", "python-scrapy-doc", "doc/python-scrapy-doc/html"),
        Site("pytest", "python-pytest-doc", "doc/python-pytest-doc/html"),
        Site("borg", "borgbackup-doc", "doc/borgbackup/html"),
        Site("sphinx", "sphinx-doc", "doc/sphinx-doc/html"),
        Site("tornado", "python-tornado-doc", "doc/python-tornado-doc/html"),
    ),
    (
        Site("buildbot", "buildbot-doc", "doc/buildbot/html"),
        Site("ghc", "ghc-doc", "doc/ghc-doc/html/users_guide"),
        Site("dask", "python-dask-doc", "doc/python-dask-doc/html", r"^(?!generated)"),
        Site("werkzeug", "python-werkzeug-doc", "doc/python-werkzeug-doc/html"),
        Site("drf", "python-djangorestframework-doc", "doc/python3-djangorestframework/html"),
        Site("varnish", "varnish-doc", "doc/varnish/html"),
        Site("aiohttp", "python-aiohttp-doc", "doc/python-aiohttp-doc/html"),
        Site("setuptools", "python-setuptools-doc", "doc/python-setuptools-doc/html"),
    ),
    (
        Site("postfix", "postfix-doc", "doc/postfix/html"),
        Site("gimp", "gimp-help-en", "gimp/2.0/help/en"),
        Site("handbook", "debian-handbook", "doc/debian-handbook/html/en-US"),
        Site("zsh", "zsh-doc", "doc/zsh-common/html"),
        Site("libvirt", "libvirt-doc", "doc/libvirt-doc/html"),
        Site("slurm", "slurm-wlm-doc", "doc/slurm-wlm/html"),
        Site("glib", "libglib2.0-doc", "gtk-doc/html"),
        Site("qt", "qtbase5-doc-html", "qt5/doc/qtcore"),
    ),
)
_NOT_PAGES = re.compile(r"genindex|modindex|search\.html|_static|_sources|_modules|(?:^|/)index-|404|print\.html")
_CODE = re.compile(r"[_(){}=]|\w\.\w")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answers: (page path, anchor or nothing)."""

    kind: str
    site: str
    query: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Example:
    """One question's candidates as numbers: features by row, and the share of right that each row has."""

    values: Numbers
    right: Numbers
    asked: Asked
    pages: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder for downloads and indexes")
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    groups = [examples_of_group(number, sites, arguments.work) for number, sites in enumerate(GROUPS)]
    print("| measured on | questions | page recall@5 before | after |\n|---|---|---|---|")
    current = np.array(load_ranker(WEIGHTS_FILE, FEATURES).weights)
    for number, held_out in enumerate(groups):
        others = [example for other, group in enumerate(groups) if other != number for example in group]
        learned = fit(others)
        names = ", ".join(site.name for site in GROUPS[number])
        before, after = page_recall(held_out, current), page_recall(held_out, learned)
        print(f"| {names} | {len(held_out)} | {before:.3f} | {after:.3f} |", flush=True)
    weights = fit([example for group in groups for example in group])
    for name, weight in zip(FEATURES, weights, strict=True):
        print(f"{name}: {weight:.3f}")
    if arguments.write:
        write_weights(weights)


# ---------------------------------------------------------------------- sites


def examples_of_group(number: int, sites: tuple[Site, ...], work: Path) -> list[Example]:
    """Lay out the sites of a group, index what is not held back, and describe the candidates of every question."""
    group = work / f"group{number}"
    for site in sites:
        if not (group / site.name).exists():
            lay_out(site, work, group)
    home = work / f"home{number}"
    library = open_library(home)
    meaning = Meaning(docs_reading_model(), library.vectors)
    meaning.catch_up()
    docs = open_docs(library, meaning=lambda: meaning)
    for site in sites:
        if site.name not in {source.name for source in docs.library.sources()}:
            index_site(docs, group / site.name / "pages", site.name)
    asked = [question for site in sites for question in questions(site, group / site.name)]
    return [example for question in asked if (example := describe(docs, group, question)) is not None]


def lay_out(site: Site, work: Path, group: Path) -> None:
    """Download and unpack a package; its pages go to pages/, those held back to asking/, indexes to index/."""
    unpacked = work / "packages" / site.package
    if not unpacked.exists():
        unpacked.mkdir(parents=True)
        subprocess.run(["apt-get", "download", "-q", site.package], cwd=unpacked, check=True)
        subprocess.run(["dpkg-deb", "-x", str(next(unpacked.glob("*.deb"))), str(unpacked)], check=True)
    root = unpacked / "usr/share" / site.root
    pages = [path for path in sorted(root.rglob("*.html")) if path.is_file()]
    wanted = [
        p for p in pages if not _NOT_PAGES.search(rel := p.relative_to(root).as_posix()) and re.search(site.only, rel)
    ]
    random.Random(site.name).shuffle(wanted)
    for path in wanted[:MOST_PAGES_PER_SITE]:
        relative = path.relative_to(root).as_posix()
        copy(path, group / site.name / ("asking" if holds_back(relative) else "pages") / relative)
    for path in root.glob("genindex*.html"):
        copy(path, group / site.name / "index" / path.name)
    print(f"{site.name}: {min(len(wanted), MOST_PAGES_PER_SITE)} pages")


def holds_back(relative: str) -> bool:
    return "faq" in relative.lower() or hashlib.sha256(relative.encode()).digest()[0] < 64


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def index_site(docs: Docs, folder: Path, name: str) -> None:
    added = docs.library.add(NewSource(folder.as_posix(), name, folder, (folder,), max_pages=10_000))
    docs.library.crawls.run(added.sources[0].id)
    print(f"{name}: {docs.library.status(name).chunks} chunks")


# ---------------------------------------------------------------------- questions


def questions(site: Site, folder: Path) -> list[Asked]:
    """A sample of what the held-back pages and the index of a site ask."""
    found: dict[str, list[Asked]] = defaultdict(list)
    for path in sorted((folder / "asking").rglob("*.html")):
        for question in page_questions(site.name, folder, path):
            found[question.kind].append(question)
    for path in sorted((folder / "index").glob("*.html")):
        found["index"].extend(index_questions(site.name, folder, path))
    sample: list[Asked] = []
    for kind, asked in found.items():
        unique = list({question.query: question for question in asked}.values())
        random.Random(site.name).shuffle(unique)
        sample += unique[: MOST_QUESTIONS[kind]]
    return sample


def page_questions(site: str, folder: Path, path: Path) -> Iterator[Asked]:
    """Headings over links, and sentences with one link; half of the sentences lose the link's own words."""
    base = path.relative_to(folder / "asking").as_posix()
    heading = ""
    under_heading: list[tuple[str, str]] = []
    for node in elements(path, "h1, h2, h3, h4, p, li, dd"):
        if node.tag and node.tag.startswith("h"):
            yield from heading_question(site, heading, under_heading)
            heading, under_heading = clean(node.text()), []
            continue
        links = [(clean(a.text()), answer(folder, base, a.attributes.get("href"))) for a in node.css("a[href]")]
        links = [(text, place) for text, place in links if place[0] and text]
        under_heading += [place for _, place in links]
        for text, place in links:
            if 2 <= len(text.split()) <= 8 and not _CODE.search(text):
                yield Asked("name", site, text, (place,))
        for sentence in _SENTENCE.split(clean(node.text())):
            inside = [(text, place) for text, place in links if text in sentence]
            if len(inside) == 1 and 5 <= len(sentence.split()) <= 30:
                text, place = inside[0]
                query = sentence if len(sentence) % 2 else sentence.replace(text, " ")
                yield Asked("sentence", site, query, (place,))
    yield from heading_question(site, heading, under_heading)


def heading_question(site: str, heading: str, places: list[tuple[str, str]]) -> Iterator[Asked]:
    answers = tuple(dict.fromkeys(place for place in places if place[1]))
    if len(heading.split()) >= 3 and 1 <= len(answers) <= 5:
        yield Asked("heading", site, heading, answers)


def index_questions(site: str, folder: Path, path: Path) -> Iterator[Asked]:
    """Terms of an index that are words, not names of code."""
    for link in elements(path, "table.indextable li > a[href]"):
        term = clean(link.text())
        place = answer(folder, "", link.attributes.get("href"))
        if place[0] and " " in term and not _CODE.search(term):
            yield Asked("index", site, term, (place,))


def elements(path: Path, selector: str) -> list[LexborNode]:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(path.read_bytes())
    for node in tree.css("nav, footer, script, style, .headerlink, .sphinxsidebar, .related"):
        node.decompose()
    main = tree.css_first("main, [role=main], article, #page-content") or tree.body
    return main.css(selector) if main is not None else []


def answer(folder: Path, base: str, href: str | None) -> tuple[str, str]:
    """The indexed page, and the place in it, that a link leads to; nothing when it leads elsewhere."""
    if not href or "://" in href or href.startswith(("#", "mailto:")):
        return ("", "")
    target, _, fragment = href.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), target))
    return (path, fragment) if (folder / "pages" / path).is_file() else ("", "")


def clean(text: str) -> str:
    return " ".join(text.replace("¶", " ").split())


# ---------------------------------------------------------------------- learning


def describe(docs: Docs, group: Path, asked: Asked) -> Example | None:
    """The question's candidates as features; None when the answer is not among them."""
    ids = [source.id for source in docs.library.sources()]
    found = docs.search.candidates(asked.query, ids)
    if not found.candidates:
        return None
    best = max(found.page_scores.values(), default=1.0)
    meanings = found.similarities.standardised if found.similarities else [0.0] * len(found.candidates)
    rows = [
        features(found.asked, c, found.page_scores.get(c.page_id, 0.0) / best, meaning)[: len(FEATURES)]
        for c, meaning in zip(found.candidates, meanings, strict=True)
    ]
    urls = {(group / asked.site / "pages" / page).as_posix(): anchor for page, anchor in asked.answers if page}
    exact = np.array(
        [c.url in urls and is_place(urls[c.url], c.anchors, c.position) for c in found.candidates], dtype=float
    )
    same_page = np.array([c.url in urls for c in found.candidates], dtype=float) - exact
    right = right_shares(exact, same_page)
    pages = tuple(candidate.url for candidate in found.candidates)
    return Example(np.array(rows), right, asked, pages) if right.any() else None


def is_place(anchor: str, anchors: str, position: int) -> bool:
    return anchor in anchors.split() if anchor else position == 0


def right_shares(exact: Numbers, same_page: Numbers) -> Numbers:
    share = PAGE_SHARE if exact.any() else 1.0
    right: Numbers = exact / max(exact.sum(), 1.0) * (1.0 - PAGE_SHARE) + same_page / max(same_page.sum(), 1.0) * share
    total: float = right.sum()
    return right / total if total else right


def fit(examples: list[Example], *, steps: int = 300, rate: float = 0.05) -> Numbers:
    """Weights under which right candidates are likeliest: a softmax over the candidates of each question."""
    everything = np.concatenate([example.values for example in examples])
    spread = everything.std(axis=0) + 1e-9
    signs = np.array([0 if name in EITHER_SIGN else -1 if name in AGAINST else 1 for name in FEATURES])
    prior = np.array([PRIOR[name] for name in FEATURES]) * spread
    weights, first, second = prior, np.zeros(len(FEATURES)), np.zeros(len(FEATURES))
    for step in range(1, steps + 1):
        gradient = PENALTY * (weights - prior)
        for example in examples:
            scaled = example.values / spread
            scores = scaled @ weights
            likely = np.exp(scores - scores.max())
            gradient += scaled.T @ (likely / likely.sum() - example.right) / len(examples)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        moved = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = weights - rate * (1 - step / (steps + 1)) * moved
        weights = np.where(weights * signs < 0, 0.0, weights)
    result: Numbers = weights / spread
    return result


def page_recall(examples: list[Example], weights: Numbers) -> float:
    total = 0.0
    for example in examples:
        ranked = list(dict.fromkeys(example.pages[i] for i in np.argsort(-(example.values @ weights), kind="stable")))
        right = {page for page, share in zip(example.pages, example.right, strict=True) if share > 0}
        total += len(right & set(ranked[:5])) / len(right)
    return total / len(examples)


def write_weights(weights: Numbers) -> None:
    named = {name: round(float(weight), 3) for name, weight in zip(FEATURES, weights, strict=True)}
    named |= dict(zip(NOT_LEARNED, load_ranker(WEIGHTS_FILE, NOT_LEARNED).weights, strict=True))
    WEIGHTS_FILE.write_text(json.dumps({"weights": named}, indent=1) + "\n")


if __name__ == "__main__":
    main()
