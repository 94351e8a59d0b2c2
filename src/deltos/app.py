"""The composition root: from a Config to the domains and their tools. Stores come from `open_stores`.

What only some callers need is imported where it is made: `deltos index` waits for no documentation, no federation.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from contextlib import ExitStack, suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphIndexer
from deltos.domains.history.index import HistoryIndexer
from deltos.errors import DeltosError, StoreError
from deltos.isolated.process import Workers
from deltos.open_stores import (
    has_library,
    open_calls,
    open_jobs,
    open_library,
    open_observations,
    open_projects,
    open_workspaces,
)
from deltos.store.private_files import restrict_folder
from deltos.workspace.project_index import CHANGES_SECONDS, FIRST_INDEX_SECONDS
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.call_log import CallLog
    from deltos.config import Config
    from deltos.domains.apis.domain import Apis
    from deltos.domains.code.search import CodeSearch
    from deltos.domains.docs.domain import Docs
    from deltos.domains.graph.search import GraphSearch
    from deltos.domains.memory.memory import Memory
    from deltos.embed.protocol import Embedder
    from deltos.embed.remote import Kind
    from deltos.federation.links import DomainLinks
    from deltos.federation.search import Federation
    from deltos.guarded import GuardedParser
    from deltos.meaning import Meaning
    from deltos.model import Project
    from deltos.store.library import LibraryStore
    from deltos.store.vectors import VectorRecords
    from deltos.tool import Prompt, Resource, Tool
    from deltos.workspace.project_index import ProjectIndex


COMMAND_CHANGES_SECONDS = 60.0  # for documentation: what is not read by then the next question goes on with


class OpenedDomains:
    """Implements `federation.model.Domains`: each is opened when it is first asked for, and closed with all others."""

    def __init__(self, config: Config, workers: Workers | None = None, *, ends_with_its_answer: bool = False) -> None:
        self.config = config
        self._ends_with_its_answer = ends_with_its_answer
        self._closing = ExitStack()  # what was opened, closed in the opposite order
        self.workers = workers or Workers()
        self._owns_workers = workers is None
        graph = (GraphIndexer(),) if "graph" in config.toolsets else ()  # who only searches does not pay for it
        self.jobs = open_jobs(config.database) if config.leaves_indexing_to_workers else None
        self.projects = Projects(
            open_projects(config.home, config.database, config.standbys),
            (CodeIndexer(makes_vectors=config.searches_by_meaning), *graph),
            first_index_seconds=math.inf if ends_with_its_answer else FIRST_INDEX_SECONDS,
            changes_seconds=math.inf if ends_with_its_answer else CHANGES_SECONDS,
            workers=self.workers,
            follower=HistoryIndexer(workers=self.workers, makes_vectors=config.searches_by_meaning),
            kept=(CodeIndexer(), GraphIndexer()),  # so that two servers of which one does without do not take turns
            workspaces=open_workspaces(config.home, config.database),
            jobs=self.jobs,
        )

    def remembered_project(self, folder: Path) -> Project:
        """The project at a folder, under the identity that memory has for it."""
        return self.memory.with_stored_identity(self.projects.identified(folder))

    @cached_property
    def memory(self) -> Memory:
        """What was learned; its file is opened when first asked for."""
        from deltos.domains.memory.memory import Memory

        store = open_observations(self.config.home, self.config.database, self.config.standbys)
        self._closing.callback(store.close)
        meaning = cache(lambda: self._inner_meaning(store.vectors))
        memory = Memory(store, meaning=meaning, files_defining=self._files_defining)
        with suppress(StoreError, OSError):  # a full or read-only disk: what is there can still be read
            memory.keep_snapshot()
        return memory

    def _files_defining(self, root: Path, names: Sequence[str]) -> list[str]:
        """The files of a project that define these names, as far as it is indexed; names of several files are left
        out."""
        if all(known.root != root for known in self.projects.stores.known()):
            return []
        found: dict[str, None] = {}
        with suppress(DeltosError):  # memory keeps what it is told, whatever is wrong with an index
            graph = self.projects.at(root).store.graph
            for name in names:
                paths = {symbol.path for symbol in graph.symbols_named(name)}
                found |= dict.fromkeys(paths if len(paths) == 1 else ())
        return list(found)

    def _inner_meaning(self, vectors: VectorRecords, *, of_apis: bool = False) -> Meaning | None:
        """Compares with the model in the wheel, whichever the user chose for documentation; None for words alone."""
        if self.config.embedding.kind == "off":
            return None
        from deltos.embed.embedders import api_embedder, memory_embedder  # deferred: numpy takes a while

        return self._compared_by(api_embedder() if of_apis else memory_embedder(), vectors)

    def _compared_by(self, model: Embedder, vectors: VectorRecords) -> Meaning:
        """What a model compares; where it reads texts as a whole, their words are compared until then."""
        from deltos.embed.embedders import CombinedEmbedder  # deferred, as above
        from deltos.meaning import Meaning

        at_once = model.words_only if isinstance(model, CombinedEmbedder) else None
        meaning = Meaning(model, vectors, at_once, ends_soon=self._ends_with_its_answer)
        self._closing.callback(meaning.stop)
        return meaning

    @cached_property
    def library(self) -> LibraryStore:
        """The store of documentation and API descriptions."""
        library = open_library(self.config.home, self.config.database, self.config.standbys)
        self._closing.callback(library.close)
        return library

    @cached_property
    def parser(self) -> GuardedParser:
        """Parses what comes from outside, in child processes."""
        from deltos.guarded import GuardedParser

        return GuardedParser(self.workers, self.library.unreadable_content)

    @cached_property
    def api_parser(self) -> GuardedParser:
        """The same for API descriptions, few at a time, so that adding many leaves children for other work."""
        from deltos.domains.apis.domain import MAX_CONCURRENT_PARSES

        return self.parser.taking_turns(threading.BoundedSemaphore(MAX_CONCURRENT_PARSES))

    @cached_property
    def apis(self) -> Apis:
        """API descriptions."""
        from deltos.domains.apis.domain import open_apis
        from deltos.federation.api_adapters import GuardedNetwork

        network = GuardedNetwork(self.config.private_hosts)
        meaning = cache(lambda: self._inner_meaning(self.library.api_vectors, of_apis=True))
        return open_apis(self.library, network=network, clock=time.time, parser=self.api_parser, meaning=meaning)

    @cached_property
    def embedder(self) -> Embedder | None:
        """The model that compares documentation by meaning; None when the user wants words alone."""
        chosen = self.config.embedding
        if chosen.kind == "off":
            return None
        if chosen.kind == "encoder":
            from deltos.embed.embedders import docs_embedder  # deferred: numpy takes a while to import

            return docs_embedder()
        if chosen.kind == "static":
            from deltos.embed.static import shared_model  # deferred, as above

            return shared_model()
        if chosen.kind in ("minilm", "folder"):
            from deltos.embed.sentence_encoder import open_encoder  # deferred: few have one

            return open_encoder(chosen.model)
        from deltos.embed.remote import Endpoint, RemoteModel  # deferred: few have one
        from deltos.fetch.configured_endpoint import ask

        return RemoteModel(Endpoint(cast("Kind", chosen.kind), chosen.url, chosen.model, chosen.key), ask)

    @cached_property
    def docs(self) -> Docs:
        """Documentation; API descriptions that it meets go to the APIs."""
        from deltos.domains.docs.domain import open_docs
        from deltos.federation.api_adapters import SharedApis

        docs = open_docs(
            self.library,
            private_hosts=self.config.private_hosts,
            environments=self.config.environments,
            clones=self.config.home / "clones",
            logins=self.config.logins,
            browser=self.config.browser,
            apis=SharedApis(self, self.api_parser),
            parser=self.parser,
            meaning=cache(lambda: self._compared_by(model, self.library.vectors) if (model := self.embedder) else None),
            jobs=self.jobs,
            changes_seconds=COMMAND_CHANGES_SECONDS if self._ends_with_its_answer else CHANGES_SECONDS,
        )
        self._closing.callback(docs.library.crawls.stop)
        return docs

    def interrupt(self) -> None:
        """Let work in other threads end as soon as it can: nothing that it waits for goes on."""
        self.workers.close()
        if git := sys.modules.get("deltos.workspace.git"):
            git.stop_all()
        if "docs" in vars(self):  # else it was never opened
            self.docs.library.crawls.stop()

    def close(self) -> None:
        """Stop background work and close all files. Whoever waits for a child of ours stops waiting first."""
        if self._owns_workers:
            self.workers.close()
        if git := sys.modules.get("deltos.workspace.git"):  # else none was ever started
            git.stop_all()
        self.projects.close()
        self._closing.close()


class App:
    """Everything that a surface can call. Children that are passed in serve others too, and stay when this closes.

    A process that `ends_with_its_answer` waits for the index however long that takes: nothing goes on after it.
    """

    def __init__(self, config: Config, *, workers: Workers | None = None, ends_with_its_answer: bool = False) -> None:
        self.config = config
        restrict_folder(config.home)
        self.domains = OpenedDomains(config, workers, ends_with_its_answer=ends_with_its_answer)
        self._closing = ExitStack()

    def tools(self) -> tuple[Tool, ...]:
        """The tools of the enabled toolsets."""
        from deltos.domains.apis.tools import api_tools
        from deltos.domains.code.tools import code_tools
        from deltos.domains.docs.tools import DocsTools, docs_tools
        from deltos.domains.graph.tools import graph_tools
        from deltos.domains.memory.tools import memory_tools
        from deltos.federation.tools import federation_tools

        token_budget = self.config.token_budget
        every = (
            *docs_tools(lambda: DocsTools(self.domains.docs, token_budget, self.config.docs_roots)),
            *api_tools(lambda: self.domains.apis, token_budget=token_budget),
            *code_tools(
                self.domains.projects,
                token_budget=token_budget,
                by_meaning=self.config.searches_by_meaning,
                uses=self.links.uses,
                alias=self.links.alias,
            ),
            *graph_tools(self.domains.projects, token_budget=token_budget, surroundings=self.links),
            *federation_tools(self.federation, token_budget=token_budget, has_timeline=self.config.profile != "lean"),
            *memory_tools(lambda: self.domains.memory, self.domains.projects.identified, token_budget=token_budget),
        )
        return tuple(tool for tool in every if tool.toolset in self.config.toolsets)

    def resources(self) -> tuple[Resource, ...]:
        """What clients can read of the enabled toolsets."""
        from deltos.federation.resources import Resources

        return Resources(self.domains.projects, self.federation, self.config.token_budget).offered(self.config.toolsets)

    def prompts(self) -> tuple[Prompt, ...]:
        """The requests that people can choose."""
        from deltos.federation.prompts import Prompts

        prompts = Prompts(self.domains, self.links, self.config.token_budget, self.config.toolsets)
        return prompts.offered()

    @property
    def repeats_excerpts(self) -> bool:
        """Whether excerpts are shown again: as the user wishes, and where no `fetch` could bring them back."""
        return self.config.repeat_excerpts or "memory" not in self.config.toolsets

    def code_search(self, index: ProjectIndex) -> CodeSearch:
        """Search over one project's code."""
        from deltos.domains.code.search import CodeSearch

        return CodeSearch(
            index.store, index.project.root, workers=index.workers, by_meaning=self.config.searches_by_meaning
        )

    def graph_search(self, index: ProjectIndex) -> GraphSearch:
        """Questions about one project's graph."""
        from deltos.domains.graph.search import GraphSearch

        return GraphSearch(index.store, index.project.root)

    @cached_property
    def federation(self) -> Federation:
        """The search over all enabled toolsets."""
        from deltos.federation.providers.apis import ApiProvider
        from deltos.federation.providers.code import CodeProvider
        from deltos.federation.providers.docs import DocsProvider
        from deltos.federation.providers.history import HistoryProvider
        from deltos.federation.providers.memory import MemoryProvider
        from deltos.federation.search import Federation

        providers = (
            CodeProvider(self.domains.projects, by_meaning=self.config.searches_by_meaning),
            DocsProvider(self.domains),
            ApiProvider(self.domains),
            MemoryProvider(self.domains),
            HistoryProvider(self.domains.projects),
        )
        return Federation(providers, self.config.toolsets, self._compare)

    def _compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """The similarity of texts to a question; nothing is similar where the user wants words alone."""
        if self.config.embedding.kind == "off":
            return [0.0] * len(texts)
        from deltos.embed.static import shared_model  # deferred: numpy takes a while to import
        from deltos.meaning import Comparison

        return Comparison(shared_model())(question, texts)

    @cached_property
    def calls(self) -> CallLog | None:
        """The ring of the last calls; None where the user wants none kept."""
        if not self.config.keeps_calls:
            return None
        from deltos.call_log import CallLog

        log = CallLog(lambda: open_calls(self.config.home, self.config.database))
        self._closing.callback(log.close)
        return log

    @cached_property
    def links(self) -> DomainLinks:
        """What the enabled domains know about each other's things."""
        from deltos.federation.links import DomainLinks

        return DomainLinks(self.domains, self.config.toolsets, self.config.environments)

    def resume(self) -> None:
        """Go on with background work that an earlier process left unfinished."""
        if "docs" in self.config.toolsets and has_library(self.config.home, self.config.database):
            self.domains.docs.library.crawls.resume()

    def close(self) -> None:
        """Stop background work and close all files."""
        self.domains.close()
        self._closing.close()
