"""Measure documentation on six real sites: crawl, recrawl, search next to plain FTS5, and installed packages.

    python -m benchmarks.docs [--sites FOLDER] [--home FOLDER] [crawl] [search] [packages PROJECT]

shared/bench/docs/lay_out.py creates the `--sites` folder if it does not exist. Another process serves the sites on
loopback, so the CPU time is that of Deltos alone. Each site is added by add_source; search_docs searches all six.
`packages` takes a folder with a pyproject.toml and a virtual environment. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.request import urlopen

from benchmarks.no_apis import NoApis
from benchmarks.paths import SCRATCH, SHARED
from benchmarks.processes import cpu_seconds_with_children
from deltos.budget import estimate_tokens
from deltos.domains.docs.domain import Docs, open_docs
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.render import render_passage
from deltos.domains.docs.search import DocsRequest
from deltos.embed.embedders import docs_embedder
from deltos.embed.static import shared_model
from deltos.open_stores import open_library
from deltos.private_hosts import PrivateHosts
from deltos.semantic_index import SemanticIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.store.sqlite.docs import SqliteSources

SITES = ("python", "postgresql", "django", "sqlite", "git", "nodejs")
PORT = 8917
MAX_RESULTS = 50
Answers = dict[str, list[dict[str, object]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=Path, default=SCRATCH / "docs-sites")
    parser.add_argument("--home", type=Path, default=SCRATCH / "docs-home")
    parser.add_argument("parts", nargs="*", default=["crawl", "search"])
    arguments = parser.parse_args()
    if not arguments.sites.exists():
        subprocess.run([sys.executable, SHARED / "docs/lay_out.py", arguments.sites], check=True)
    if "crawl" in arguments.parts:
        shutil.rmtree(arguments.home, ignore_errors=True)
        print_crawl_table(open_docs_library(arguments.home), arguments.sites)
    if "search" in arguments.parts:
        print_search_table(open_docs_library(arguments.home), arguments.sites)
    if "packages" in arguments.parts:
        print_packages_table(Path(arguments.parts[arguments.parts.index("packages") + 1]))


def open_docs_library(home: Path) -> Docs:
    """Open a documentation library. Its passages are embedded by the model that DELTOS_EMBED selects."""
    library, name = open_library(home), os.environ.get("DELTOS_EMBED", "encoder")
    semantic_index = None
    if name != "off":
        semantic_index = SemanticIndex(shared_model() if name == "static" else docs_embedder(), library.vectors)
        semantic_index.embed_new()
    hosts = PrivateHosts.parse("127.0.0.1")
    return open_docs(library, apis=NoApis(), private_hosts=hosts, semantic_index=lambda: semantic_index)


# ---------------------------------------------------------------------- crawling


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback from another process."""
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder), str(PORT)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{PORT}"
    try:
        while True:
            try:
                urlopen(url).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


def print_crawl_table(docs: Docs, sites: Path) -> None:
    print("| site | pages | chunks | CPU-s | pages per CPU-s | recrawl CPU-s | times cheaper |")
    print("|---|---|---|---|---|---|---|")
    with serve(sites) as url:
        for site in SITES:
            request = NewSource(f"{url}/{site}/start.html", site, sites, (sites,), max_pages=5_000)
            (source,) = docs.library.add(request).sources
            first = cpu_seconds(docs.library.crawls.run, source.id)
            status = docs.library.status(site)
            docs.library.recrawl(site, full=False)
            again = cpu_seconds(docs.library.crawls.run, source.id)
            print(
                f"| {site} | {status.pages} | {status.chunks} | {first:.1f} | {status.pages / first:.0f}"
                f" | {again:.2f} | {first / again:.0f} |",
                flush=True,
            )


def cpu_seconds(work: Callable[..., object], *arguments: str) -> float:
    before = cpu_seconds_with_children()
    work(*arguments)
    return cpu_seconds_with_children() - before


def print_packages_table(project: Path) -> None:
    """Print the cost of indexing all direct dependencies of a project."""
    with tempfile.TemporaryDirectory() as home:
        docs = open_docs_library(Path(home))

        def index_all() -> None:
            for source in docs.library.add(NewSource("deps:", "", project, (project,), max_pages=1_000)).sources:
                docs.library.crawls.run(source.id)

        seconds = cpu_seconds(index_all)
        statuses = docs.library.statuses()
        chunks = sum(status.chunks for status in statuses)
        print("| packages | pages | chunks | CPU-s |\n|---|---|---|---|")
        print(f"| {len(statuses)} | {sum(status.pages for status in statuses)} | {chunks} | {seconds:.1f} |")


# ---------------------------------------------------------------------- searching


def print_search_table(docs: Docs, sites: Path) -> None:
    queries = [json.loads(line) for line in (SHARED / "docs/queries.jsonl").read_text().splitlines()]
    spent: list[float] = []
    answers: Answers = {}
    for query in queries:
        before = time.process_time()
        found = docs.search.search(DocsRequest(query["query"], MAX_RESULTS)).passages
        spent.append(time.process_time() - before)
        answers[query["id"]] = [
            {
                "page": page_of(passage.url),
                "anchors": list(passage.anchors),
                "tokens": estimate_tokens(render_passage(1, passage, sites)),
            }
            for passage in found
        ]
    plain = plain_fts5_answers(docs, queries)
    print("| | questions | page recall@5 | page NDCG@10 | section recall@5 | in budget |\n|---|---|---|---|---|---|")
    for name, given in (("plain FTS5", plain), ("search_docs", answers)):
        for group, figures in score_answers(given).items():
            if group == "all" or name == "search_docs":
                print(f"| {name}, {group} | {' | '.join(figures)} |")
    spent.sort()
    print(
        f"\nCPU per search: p50 {spent[len(spent) // 2] * 1e3:.0f} ms, p95 {spent[int(len(spent) * 0.95)] * 1e3:.0f} ms"
    )


def plain_fts5_answers(docs: Docs, queries: list[dict[str, str]]) -> Answers:
    """Search the same passages in one FTS5 table with stemming and weighted columns. A single shared word is enough."""
    rows = (
        cast("SqliteSources", docs.library.crawls.store)
        .database.read()
        .execute(
            "SELECT c.id, p.url, c.section, c.anchors, c.text FROM docs_chunk c JOIN docs_page p ON p.id = c.page_id"
        )
    )
    chunks = {chunk_id: (url, section, anchors, text) for chunk_id, url, section, anchors, text in rows}
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE words USING fts5 (title, trail, anchors, body, tokenize = 'porter unicode61')")
    table.executemany(
        "INSERT INTO words (rowid, title, trail, anchors, body) VALUES (?, ?, ?, ?, ?)",
        [(key, s.rpartition(" > ")[2], s.rpartition(" > ")[0], a, t) for key, (_, s, a, t) in chunks.items()],
    )
    answers: Answers = {}
    for query in queries:
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query["query"])))
        found = table.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 4, 3, 2, 1) LIMIT ?",
            (expression, MAX_RESULTS),
        )
        answers[query["id"]] = [
            {
                "page": page_of(chunks[key][0]),
                "anchors": chunks[key][2].split(),
                "tokens": estimate_tokens(chunks[key][3]) + 30,
            }
            for (key,) in found
        ]
    return answers


def page_of(url: str) -> str:
    return url.split("/", 3)[3]


def score_answers(answers: Answers) -> dict[str, list[str]]:
    """Return the figures of the shared benchmark's scoring script by group of questions."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps({"id": key, "results": found}) + "\n" for key, found in answers.items()))
        file.flush()
        command = [sys.executable, str(SHARED / "docs/score.py"), file.name]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    groups = {}
    for line in printed.splitlines():
        figures = re.findall(r"(?:n=\s*|\s)(\d+(?:\.\d+)?)(?=\s|$)", line)
        groups[line.split()[0]] = (figures + ["–"] * 5)[:5]
    return groups


if __name__ == "__main__":
    main()
