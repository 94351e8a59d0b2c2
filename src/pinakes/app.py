"""The composition root: from a Config to the domains and their tools. The only place that names a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.code.index import CodeIndexer
from pinakes.domains.code.search import CodeSearch
from pinakes.domains.code.tools import code_tools
from pinakes.store.code import CodeStore
from pinakes.store.migrations import PROJECT
from pinakes.workspace.projects import Projects

if TYPE_CHECKING:
    from pinakes.config import Config
    from pinakes.tool import Tool
    from pinakes.workspace.project_index import ProjectIndex


class App:
    """Everything that a surface can call."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.projects = Projects(config.home, PROJECT, (CodeIndexer(),))

    def tools(self) -> tuple[Tool, ...]:
        """The tools of the enabled toolsets."""
        every = code_tools(self.projects, token_budget=self.config.token_budget)
        return tuple(tool for tool in every if tool.toolset in self.config.toolsets)

    def code_search(self, index: ProjectIndex) -> CodeSearch:
        """Search over one project's code."""
        return CodeSearch(CodeStore(index.database), index.project.root)

    def close(self) -> None:
        """Stop background work and close all files."""
        self.projects.close()
