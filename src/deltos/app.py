"""Composition root, which builds the domains and their tools from a `Config`.

Imports that only some callers need are deferred, so that `deltos index` does not load documentation or federation.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from contextlib import ExitStack, suppress
from contextvars import Context
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphIndexer
from deltos.domains.history.index import HistoryIndexer
from deltos.errors import DeltosError, StoreError
from deltos.isolated.process_pool import ProcessPool
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

    from deltos.call_log import CallRecorder
    from deltos.config import Config
    from deltos.domains.apis.domain import Apis
    from deltos.domains.code.search import CodeSearch
    from deltos.domains.docs.domain import Docs
    from deltos.domains.graph.search import GraphSearch
    from deltos.domains.memory.core.memory import Memory
    from deltos.embed.protocol import Embedder
    from deltos.embed.remote import Kind
    from deltos.federation.contracts.workspace import WorkspaceContracts
    from deltos.federation.links import DomainLinks
    from deltos.federation.search import Federation
    from deltos.isolated_parser import IsolatedParser
    from deltos.model import Project
    from deltos.semantic_index import SemanticIndex
    from deltos.store.library import LibraryStore
    from deltos.store.vectors import VectorRecords
    from deltos.tool import Tool
    from deltos.workspace.project_index import ProjectIndex


COMMAND_CHANGES_SECONDS = 60.0  # maximum time of an index update by a command; the next command continues the update


class OpenedDomains:
    """Implementation of the interface `Domains`, which opens each domain on first use."""

    def __init__(
        self, config: Config, workers: ProcessPool | None = None, *, ends_with_its_answer: bool = False
    ) -> None:
        self.config = config
        self._ends_with_its_answer = ends_with_its_answer
        self._closing = ExitStack()
        self._distilling = threading.Lock()  # held while hook events are converted to observations
        self.workers = workers or ProcessPool()
        self._owns_workers = workers is None
        graph = (GraphIndexer(),) if "graph" in config.toolsets else ()
        self.jobs = open_jobs(config.database) if config.leaves_indexing_to_workers else None
        self.projects = Projects(
            open_projects(config.home, config.database),
            (CodeIndexer(makes_vectors=config.searches_by_meaning), *graph),
            first_index_seconds=math.inf if ends_with_its_answer else FIRST_INDEX_SECONDS,
            changes_seconds=math.inf if ends_with_its_answer else CHANGES_SECONDS,
            workers=self.workers,
            follower=HistoryIndexer(workers=self.workers, makes_vectors=config.searches_by_meaning),
            previous_indexers=(
                CodeIndexer(),
                GraphIndexer(),
            ),  # all indexers, even of disabled toolsets; otherwise this server would delete the data that they stored
            workspaces=open_workspaces(config.home, config.database),
            jobs=self.jobs,
        )

    def project_with_stored_identity(self, folder: Path) -> Project:
        """Return the project at `folder`, with the project id that memory uses for it."""
        return self.memory.with_stored_identity(self.projects.identify_project(folder))

    @property
    def memory(self) -> Memory:
        """The memory domain. On first access, all recorded hook events are converted to observations."""
        self._distill()
        return self._opened_memory

    def _distill(self) -> None:
        """Convert recorded hook events to observations in the memory store."""
        from deltos.domains.memory.capture.journal import Journal

        journal = Journal(self.config.home)
        if not journal.names():
            return
        from deltos.domains.memory.capture.distill import distill  # deferred import, because numpy loads slowly

        with self._distilling, suppress(StoreError, OSError):
            # The access limits of the current call must not apply, because the events belong to other calls.
            Context().run(distill, self._opened_memory, journal)

    @cached_property
    def _opened_memory(self) -> Memory:
        from deltos.domains.memory.core.memory import Memory

        store = open_observations(self.config.home, self.config.database)
        self._closing.callback(store.close)
        semantic_index = cache(lambda: self._open_bundled_index(store.vectors))
        memory = Memory(store, semantic_index=semantic_index, files_defining=self._find_defining_files)
        with suppress(StoreError, OSError):  # on a full or read-only disk, memory can still be read
            memory.keep_snapshot()
        return memory

    def _find_defining_files(self, root: Path, names: Sequence[str]) -> list[str]:
        """Return the indexed files that define the given names. Names with definitions in several files are ignored."""
        if all(known.root != root for known in self.projects.stores.indexed_projects()):
            return []
        found: dict[str, None] = {}
        with suppress(DeltosError):  # a broken index must not prevent memory from storing observations
            graph = self.projects.index_of(root).store.graph
            for name in names:
                paths = {symbol.path for symbol in graph.symbols_named(name)}
                found |= dict.fromkeys(paths if len(paths) == 1 else ())
        return list(found)

    def _open_bundled_index(self, vectors: VectorRecords, *, of_apis: bool = False) -> SemanticIndex | None:
        """Return a semantic index with the bundled model, or None if semantic search is off."""
        if self.config.embedding.kind == "off":
            return None
        from deltos.embed.embedders import api_embedder, memory_embedder  # deferred import, because numpy loads slowly

        return self._open_index(api_embedder() if of_apis else memory_embedder(), vectors)

    def _open_index(self, model: Embedder, vectors: VectorRecords) -> SemanticIndex:
        """Return a semantic index with vectors of `model`."""
        from deltos.semantic_index import SemanticIndex  # deferred import: numpy loads slowly

        return SemanticIndex(model, vectors)

    @cached_property
    def library(self) -> LibraryStore:
        """Store of documentation and API descriptions."""
        library = open_library(self.config.home, self.config.database)
        self._closing.callback(library.close)
        return library

    @cached_property
    def parser(self) -> IsolatedParser:
        """Parser of untrusted content, which runs in child processes."""
        from deltos.isolated_parser import IsolatedParser

        return IsolatedParser(self.workers, self.library.unreadable_content)

    @cached_property
    def api_parser(self) -> IsolatedParser:
        """Parser of API descriptions. It runs few tasks at once, to leave child processes for other work."""
        from deltos.domains.apis.domain import MAX_CONCURRENT_PARSES

        return self.parser.taking_turns(threading.BoundedSemaphore(MAX_CONCURRENT_PARSES))

    @cached_property
    def apis(self) -> Apis:
        """The API domain, which indexes and searches API descriptions."""
        from deltos.domains.apis.domain import open_apis
        from deltos.federation.api_adapters import RestrictedNetwork

        network = RestrictedNetwork(self.config.private_hosts)
        semantic_index = cache(lambda: self._open_bundled_index(self.library.api_vectors, of_apis=True))
        return open_apis(
            self.library, network=network, clock=time.time, parser=self.api_parser, semantic_index=semantic_index
        )

    @cached_property
    def embedder(self) -> Embedder | None:
        """The model that embeds documentation, or None if semantic search is off."""
        chosen = self.config.embedding
        if chosen.kind == "off":
            return None
        if chosen.kind == "encoder":
            from deltos.embed.embedders import docs_embedder  # deferred import, because numpy loads slowly

            return docs_embedder()
        if chosen.kind == "static":
            from deltos.embed.static import shared_model  # deferred import: numpy loads slowly

            return shared_model()
        from deltos.embed.remote import Endpoint, RemoteModel  # deferred import: few users configure a remote model
        from deltos.fetch.configured_endpoint import ask

        return RemoteModel(Endpoint(cast("Kind", chosen.kind), chosen.url, chosen.model, chosen.key), ask)

    @cached_property
    def docs(self) -> Docs:
        """The documentation domain, which passes API descriptions found by crawls to the API domain."""
        from deltos.domains.docs.domain import open_docs
        from deltos.federation.api_adapters import SharedApis

        docs = open_docs(
            self.library,
            private_hosts=self.config.private_hosts,
            environments=self.config.environments,
            clones=self.config.home / "clones",
            logins=self.config.logins,
            apis=SharedApis(self, self.api_parser),
            parser=self.parser,
            semantic_index=cache(
                lambda: self._open_index(model, self.library.vectors) if (model := self.embedder) else None
            ),
            jobs=self.jobs,
            changes_seconds=COMMAND_CHANGES_SECONDS if self._ends_with_its_answer else CHANGES_SECONDS,
        )
        self._closing.callback(docs.library.crawls.stop)
        return docs

    def interrupt(self) -> None:
        """Stop child processes, git and crawls, so that threads that wait for them end soon."""
        self.workers.close()
        if git := sys.modules.get("deltos.workspace.git"):
            git.stop_all()
        if "docs" in vars(self):  # the documentation domain was opened
            self.docs.library.crawls.stop()

    def close(self) -> None:
        """Stop background work and close all files."""
        if self._owns_workers:
            self.workers.close()
        if git := sys.modules.get("deltos.workspace.git"):  # a git process was started
            git.stop_all()
        self.projects.close()
        self._closing.close()


class App:
    """Application behind the MCP server, command line and web page.

    `workers` is a shared process pool, which stays open when the app closes. If `ends_with_its_answer` is true, as for
    commands, indexing finishes before the answer instead of in the background.
    """

    def __init__(
        self, config: Config, *, workers: ProcessPool | None = None, ends_with_its_answer: bool = False
    ) -> None:
        self.config = config
        restrict_folder(config.home)
        self.domains = OpenedDomains(config, workers, ends_with_its_answer=ends_with_its_answer)
        self._closing = ExitStack()
        self._distilling = threading.Lock()  # held while hook events are converted to observations

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of the enabled toolsets."""
        from deltos.domains.apis.tools import api_tools
        from deltos.domains.code.tools import code_tools
        from deltos.domains.docs.tools import DocsTools, docs_tools
        from deltos.domains.graph.tools import graph_tools
        from deltos.domains.memory.tools import memory_tools
        from deltos.federation.contracts.tools import ContractTools
        from deltos.federation.explore.tools import explore_tool
        from deltos.federation.review.tools import change_reviewer
        from deltos.federation.tools import federation_tools

        token_budget = self.config.token_budget
        every = (
            *docs_tools(lambda: DocsTools(self.domains.docs, token_budget, self.config.docs_roots)),
            *api_tools(lambda: self.domains.apis, token_budget=token_budget),
            explore_tool(
                self.domains.projects, by_meaning=self.config.searches_by_meaning, related=self.links.related_lines
            ),
            *code_tools(
                self.domains.projects,
                token_budget=token_budget,
                by_meaning=self.config.searches_by_meaning,
                uses=self.links.usage_note,
                alias=self.links.alias_note,
            ),
            *graph_tools(
                self.domains.projects,
                token_budget=token_budget,
                surroundings=self.links,
                review=change_reviewer(self.domains.projects, self.links.observation_texts, token_budget=token_budget),
            ),
            *federation_tools(self.federation, token_budget=token_budget, has_timeline=self.config.profile != "lean"),
            *memory_tools(
                lambda: self.domains.memory, self.domains.projects.identify_project, token_budget=token_budget
            ),
        )
        contracts = ContractTools(
            self.domains.projects, self.contracts, lambda: self.domains.apis, self.config.token_budget
        )
        return contracts.extend([tool for tool in every if tool.toolset in self.config.toolsets])

    @cached_property
    def contracts(self) -> WorkspaceContracts:
        """Links from API operations to the code that implements or calls them."""
        from deltos.federation.contracts.workspace import WorkspaceContracts

        return WorkspaceContracts(lambda: self.domains.apis if "apis" in self.config.toolsets else None)

    @property
    def repeats_excerpts(self) -> bool:
        """Whether answers include excerpts that the session has already seen.

        True if the user configured it, or if there is no `fetch` tool to return these excerpts.
        """
        return self.config.repeat_excerpts or "memory" not in self.config.toolsets

    def code_search(self, index: ProjectIndex) -> CodeSearch:
        """Return the search over the code of one project."""
        from deltos.domains.code.search import CodeSearch

        return CodeSearch(
            index.store, index.project.root, workers=index.workers, by_meaning=self.config.searches_by_meaning
        )

    def graph_search(self, index: ProjectIndex) -> GraphSearch:
        """Return the graph queries of one project."""
        from deltos.domains.graph.search import GraphSearch

        return GraphSearch(index.store, index.project.root)

    @cached_property
    def federation(self) -> Federation:
        """The search across all enabled toolsets."""
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
        return Federation(providers, self.config.toolsets, self._compare_question)

    def _compare_question(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the semantic similarity of each text to a question, or zeros if semantic search is off."""
        if self.config.embedding.kind == "off":
            return [0.0] * len(texts)
        from deltos.embed.static import shared_model  # deferred import, because numpy loads slowly
        from deltos.semantic_index import Comparison

        return Comparison(shared_model())(question, texts)

    @cached_property
    def calls(self) -> CallRecorder | None:
        """The log of recent tool calls, or None if the user disabled it."""
        if not self.config.keeps_calls:
            return None
        from deltos.call_log import CallRecorder

        log = CallRecorder(lambda: open_calls(self.config.home, self.config.database))
        self._closing.callback(log.close)
        return log

    @cached_property
    def links(self) -> DomainLinks:
        """Finder of documentation, observations and commits about a code symbol."""
        from deltos.federation.links import DomainLinks

        return DomainLinks(self.domains, self.config.toolsets)

    def resume(self) -> None:
        """Resume crawls that earlier processes did not finish."""
        if "docs" in self.config.toolsets and has_library(self.config.home, self.config.database):
            self.domains.docs.library.crawls.resume()

    def close(self) -> None:
        """Stop background work and close all files."""
        self.domains.close()
        self._closing.close()
