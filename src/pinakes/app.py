"""The composition root: from a Config to the domains and their tools. The only place that names a backend.

What only some callers need is imported where it is made: `pinakes index` waits for no documentation, no federation.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pinakes.domains.code.index import CodeIndexer
from pinakes.domains.graph.index import GraphIndexer
from pinakes.store.migrations import LIBRARY, PROJECT
from pinakes.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinakes.config import Config
    from pinakes.domains.apis.apis import Apis
    from pinakes.domains.code.search import CodeSearch
    from pinakes.domains.docs.domain import Docs
    from pinakes.domains.graph.search import GraphSearch
    from pinakes.domains.memory.memory import Memory
    from pinakes.embed.protocol import Embedder
    from pinakes.embed.remote import Kind
    from pinakes.federation.links import Links
    from pinakes.federation.search import Federation
    from pinakes.meaning import Comparison
    from pinakes.model import Project
    from pinakes.store.sqlite import Database
    from pinakes.tool import Prompt, Resource, Tool
    from pinakes.workspace.project_index import ProjectIndex


class App:
    """Everything that a surface can call."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.projects = Projects(config.home, PROJECT, (CodeIndexer(), GraphIndexer()))

    def tools(self) -> tuple[Tool, ...]:
        """The tools of the enabled toolsets."""
        from pinakes.domains.apis.tools import api_tools
        from pinakes.domains.code.tools import code_tools
        from pinakes.domains.docs.tools import DocsTools, docs_tools
        from pinakes.domains.graph.tools import graph_tools
        from pinakes.domains.memory.tools import memory_tools
        from pinakes.federation.tools import federation_tools
        from pinakes.workspace.identity import identify

        token_budget = self.config.token_budget
        every = (
            *docs_tools(lambda: DocsTools(self.docs, token_budget, self.config.docs_roots)),
            *api_tools(lambda: self.apis.library, token_budget=token_budget),
            *code_tools(self.projects, token_budget=token_budget),
            *graph_tools(self.projects, token_budget=token_budget, surroundings=self.links),
            *federation_tools(self.federation, token_budget=token_budget),
            *memory_tools(lambda: self.memory, identify, token_budget=token_budget),
        )
        return tuple(tool for tool in every if tool.toolset in self.config.toolsets)

    def resources(self) -> tuple[Resource, ...]:
        """What clients can read of the enabled toolsets."""
        from pinakes.federation.resources import Resources

        return Resources(self.projects, self.federation, self.config.token_budget).offered(self.config.toolsets)

    def prompts(self) -> tuple[Prompt, ...]:
        """The requests that people can choose."""
        from pinakes.federation.prompts import Prompts

        return Prompts(
            self.projects,
            self.links,
            self.config.token_budget,
            open_docs=self.links.open_docs,
            open_apis=(lambda: self.apis) if "apis" in self.config.toolsets else None,
            open_memory=self.links.open_memory,
        ).offered(self.config.toolsets)

    @property
    def repeats_excerpts(self) -> bool:
        """Whether excerpts are shown again: as the user wishes, and where no `fetch` could bring them back."""
        return self.config.repeat_excerpts or "memory" not in self.config.toolsets

    def code_search(self, index: ProjectIndex) -> CodeSearch:
        """Search over one project's code."""
        from pinakes.domains.code.search import CodeSearch
        from pinakes.store.code import CodeStore

        return CodeSearch(CodeStore(index.database), index.project.root)

    def graph_search(self, index: ProjectIndex) -> GraphSearch:
        """Questions about one project's graph."""
        from pinakes.domains.graph.search import GraphSearch
        from pinakes.store.graph_read import GraphReader

        return GraphSearch(GraphReader(index.database), index.project.root)

    @cached_property
    def federation(self) -> Federation:
        """The search over all enabled toolsets."""
        from pinakes.federation.search import Federation
        from pinakes.federation.shelves.apis import ApiShelf
        from pinakes.federation.shelves.code import CodeShelf
        from pinakes.federation.shelves.docs import DocsShelf
        from pinakes.federation.shelves.memory import MemoryShelf

        shelves = (
            CodeShelf(self.projects),
            DocsShelf(lambda: self.docs),
            ApiShelf(lambda: self.apis),
            MemoryShelf(lambda: self.memory, self._remembered_project),
        )
        return Federation(shelves, self.config.toolsets)

    @cached_property
    def links(self) -> Links:
        """What the enabled domains know about each other's things."""
        from pinakes.federation.links import Links

        return Links(
            self.projects,
            self._remembered_project,
            open_docs=(lambda: self.docs) if "docs" in self.config.toolsets else None,
            open_memory=(lambda: self.memory) if "memory" in self.config.toolsets else None,
            environments=self.config.environments,
        )

    def _remembered_project(self, folder: Path) -> Project:
        """The project at a folder, under the identity that memory has for it."""
        from pinakes.workspace.identity import identify

        return self.memory.as_known(identify(folder))

    @cached_property
    def memory(self) -> Memory:
        """What was learned; its file is opened when first asked for."""
        from pinakes.domains.memory.memory import Memory
        from pinakes.store.memory import MemoryStore

        return Memory(MemoryStore(self.config.home / "memory.db"))

    @cached_property
    def library(self) -> Database:
        """The file of documentation and API descriptions."""
        from pinakes.store.library import open_library

        return open_library(self.config.home, LIBRARY)

    @cached_property
    def apis(self) -> Apis:
        """API descriptions."""
        from pinakes.domains.apis.apis import open_apis
        from pinakes.shelf import GuardedNetwork

        network = GuardedNetwork(allow_private_hosts=self.config.allow_private_hosts)
        compare = self._compare if self.config.embedding.kind == "static" else None
        return open_apis(self.library, network=network, clock=time.time, compare=compare)

    def _compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """How alike texts are to a question; the model is opened when first asked."""
        return self._comparison(question, texts)

    @cached_property
    def _comparison(self) -> Comparison:
        from pinakes.embed.static import shared_model  # deferred: numpy takes a while to import
        from pinakes.meaning import Comparison
        from pinakes.text import shared_words

        return Comparison(shared_model(), shared_words())

    @cached_property
    def embedder(self) -> Embedder | None:
        """The model that compares by meaning; None when the user wants words alone."""
        chosen = self.config.embedding
        if chosen.kind == "off":
            return None
        if chosen.kind == "static":
            from pinakes.embed.static import shared_model  # deferred: numpy takes a while to import

            return shared_model()
        from pinakes.embed.remote import Endpoint, RemoteModel  # deferred: few have one

        return RemoteModel(Endpoint(cast("Kind", chosen.kind), chosen.url, chosen.model, chosen.key))

    @cached_property
    def docs(self) -> Docs:
        """Documentation; API descriptions that it meets go to the APIs."""
        from pinakes.domains.docs.domain import open_docs
        from pinakes.shelf import SharedApis

        return open_docs(
            self.library,
            allow_private_hosts=self.config.allow_private_hosts,
            environments=self.config.environments,
            apis=SharedApis(lambda: self.apis),
            embedder=lambda: self.embedder,
        )

    def resume(self) -> None:
        """Go on with background work that an earlier process left unfinished."""
        from pinakes.store.library import FILE_NAME

        if "docs" in self.config.toolsets and (self.config.home / FILE_NAME).exists():
            self.docs.library.crawls.resume()

    def close(self) -> None:
        """Stop background work and close all files."""
        self.projects.close()
        if "docs" in self.__dict__:
            self.docs.library.crawls.stop()
        if "memory" in self.__dict__:
            self.memory.store.close()
        if "library" in self.__dict__:
            self.library.close()
