"""Sites on which the ranking of documentation search is trained, and questions about them.

The sites are Debian's documentation packages; none belongs to a benchmark. A quarter of the pages is not indexed but
supplies questions: headings and sentences with a link to another page. The link target is the answer. Link texts and
the
entries of the sites' own indexes are questions too. `questions/docs_training.jsonl` has natural questions.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import random
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.docs_questions import QUESTIONS, Target, questions_about, shingles_of, squash_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from selectolax.lexbor import LexborNode

MAX_PAGES_PER_SITE = 600
MAX_QUESTIONS = 16  # maximum number of questions of each kind per site
NATURAL = "natural"


@dataclass(frozen=True, slots=True)
class Site:
    """A documentation site in a Debian package.

    If `only` is given, only pages whose path matches this pattern are used.
    """

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
    ),
)
_EXCLUDED_PAGES = re.compile(r"genindex|modindex|search\.html|_static|_sources|_modules|(?:^|/)index-|404|print\.html")
_CODE = re.compile(r"[_(){}=]|\w\.\w")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Location:
    """Location of an answer: a page, and an anchor or lines on it."""

    page: str
    anchor: str = ""
    lines: Target | None = None

    def is_at(self, anchors: str, position: int, text: str) -> bool:
        """Return whether a passage of the page is at this location."""
        if self.lines:
            return self.lines.is_shown_by(squash_text(text))
        return self.anchor in anchors.split() if self.anchor else position == 0


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with the locations of its answers."""

    kind: str
    site: str
    query: str
    answers: tuple[Location, ...]


# ---------------------------------------------------------------------- sites


def lay_out(site: Site, work: Path, group: Path) -> None:
    """Download and unpack a package.

    The folder pages/ gets the pages to index, asking/ the pages that supply questions, and index/ the site's indexes.
    """
    unpacked = work / "packages" / site.package
    if not unpacked.exists():
        unpacked.mkdir(parents=True)
        subprocess.run(["apt-get", "download", "-q", site.package], cwd=unpacked, check=True)
        subprocess.run(["dpkg-deb", "-x", str(next(unpacked.glob("*.deb"))), str(unpacked)], check=True)
    root = unpacked / "usr/share" / site.root
    pages = [path for path in sorted(root.rglob("*.html")) if path.is_file()]
    wanted = [
        p
        for p in pages
        if not _EXCLUDED_PAGES.search(rel := p.relative_to(root).as_posix()) and re.search(site.only, rel)
    ]
    random.Random(site.name).shuffle(wanted)
    for path in wanted[:MAX_PAGES_PER_SITE]:
        relative = path.relative_to(root).as_posix()
        copy(path, group / site.name / ("asking" if supplies_questions(relative) else "pages") / relative)
    for path in root.glob("genindex*.html"):
        copy(path, group / site.name / "index" / path.name)
    print(f"{site.name}: {min(len(wanted), MAX_PAGES_PER_SITE)} pages")


def supplies_questions(relative: str) -> bool:
    return "faq" in relative.lower() or hashlib.sha256(relative.encode()).digest()[0] < 64


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


# ---------------------------------------------------------------------- natural questions


def natural_questions(site: str) -> list[LabelledQuestion]:
    """Return the natural questions about a site."""
    rows = map(json.loads, (QUESTIONS / "docs_training.jsonl").read_text("utf-8").splitlines())
    return [_natural_question(row) for row in rows if row["site"] == site]


def _natural_question(row: dict[str, Any]) -> LabelledQuestion:
    targets = (Target(target["path"], "", shingles_of([target["text"]])) for target in row["targets"])
    return LabelledQuestion(
        NATURAL, row["site"], row["query"], tuple(Location(each.path, lines=each) for each in targets)
    )


def development_questions(sites: Sequence[str], place: Path) -> list[LabelledQuestion]:
    """Return the development questions about the benchmark sites."""
    return [
        LabelledQuestion(
            NATURAL, each.site, each.query, tuple(Location(target.path, lines=target) for target in each.targets)
        )
        for each in questions_about(sites, place)
    ]


# ---------------------------------------------------------------------- questions from links


def link_questions(site: Site, folder: Path) -> list[LabelledQuestion]:
    """Return a sample of the questions from a site's index and from its pages that are not indexed."""
    found: dict[str, list[LabelledQuestion]] = defaultdict(list)
    for path in sorted((folder / "asking").rglob("*.html")):
        for question in page_questions(site.name, folder, path):
            found[question.kind].append(question)
    for path in sorted((folder / "index").glob("*.html")):
        found["index"].extend(index_questions(site.name, folder, path))
    sample: list[LabelledQuestion] = []
    for asked in found.values():
        unique = list({question.query: question for question in asked}.values())
        random.Random(site.name).shuffle(unique)
        sample += unique[:MAX_QUESTIONS]
    return sample


def page_questions(site: str, folder: Path, path: Path) -> Iterator[LabelledQuestion]:
    """Yield headings above links, link texts, and sentences with one link.

    In half of the sentences, the link text is removed.
    """
    base = path.relative_to(folder / "asking").as_posix()
    heading = ""
    under_heading: list[Location] = []
    for node in select_elements(path, "h1, h2, h3, h4, p, li, dd"):
        if node.tag and node.tag.startswith("h"):
            yield from heading_question(site, heading, under_heading)
            heading, under_heading = clean_text(node.text()), []
            continue
        links = [
            (clean_text(a.text()), link_target(folder, base, a.attributes.get("href"))) for a in node.css("a[href]")
        ]
        links = [(text, place) for text, place in links if place.page and text]
        under_heading += [place for _, place in links]
        for text, place in links:
            if 2 <= len(text.split()) <= 8 and not _CODE.search(text):
                yield LabelledQuestion("name", site, text, (place,))
        for sentence in _SENTENCE.split(clean_text(node.text())):
            inside = [(text, place) for text, place in links if text in sentence]
            if len(inside) == 1 and 5 <= len(sentence.split()) <= 30:
                text, place = inside[0]
                query = sentence if len(sentence) % 2 else sentence.replace(text, " ")
                yield LabelledQuestion("sentence", site, query, (place,))
    yield from heading_question(site, heading, under_heading)


def heading_question(site: str, heading: str, places: list[Location]) -> Iterator[LabelledQuestion]:
    answers = tuple(dict.fromkeys(place for place in places if place.anchor))
    if len(heading.split()) >= 3 and 1 <= len(answers) <= 5:
        yield LabelledQuestion("heading", site, heading, answers)


def index_questions(site: str, folder: Path, path: Path) -> Iterator[LabelledQuestion]:
    """Yield the entries of a site's index that consist of words, not of names in code."""
    for link in select_elements(path, "table.indextable li > a[href]"):
        term = clean_text(link.text())
        place = link_target(folder, "", link.attributes.get("href"))
        if place.page and " " in term and not _CODE.search(term):
            yield LabelledQuestion("index", site, term, (place,))


def select_elements(path: Path, selector: str) -> list[LexborNode]:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(path.read_bytes())
    for node in tree.css("nav, footer, script, style, .headerlink, .sphinxsidebar, .related"):
        node.decompose()
    main = tree.css_first("main, [role=main], article, #page-content") or tree.body
    return main.css(selector) if main is not None else []


def link_target(folder: Path, base: str, href: str | None) -> Location:
    """Return the location of a link target; the path is empty if the target is not an indexed page."""
    if not href or "://" in href or href.startswith(("#", "mailto:")):
        return Location("")
    target, _, fragment = href.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), target))
    return Location(path, fragment) if (folder / "pages" / path).is_file() else Location("")


def clean_text(text: str) -> str:
    return " ".join(text.replace("¶", " ").split())
