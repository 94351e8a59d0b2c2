"""Projects that a question leaves out though they import what it is about: an answer about one project is not complete
beside them. Knows who imports whom, not what they refer to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from deltos.domains.graph.across import Member
from deltos.errors import DeltosError
from deltos.workspace.selection import projects_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from deltos.domains.graph.across import Crossroads
    from deltos.workspace.projects import Projects
    from deltos.workspace.selection import Beside

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Importers:
    """Projects that import another one and were not asked; `asked_by` is what asks them too."""

    names: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """Their names, the first few."""
        more = f" and {len(self.names) - _NAMED} more" if len(self.names) > _NAMED else ""
        return ", ".join(self.names[:_NAMED]) + more

    def note(self, imported: str) -> str:
        """That they import a project, and how they are asked; empty where there are none."""
        if not self.names:
            return ""
        is_one = len(self.names) == 1
        how = f"project_path={','.join(self.asked_by)} asks" if self.asked_by else "a call without project_path asks"
        text = f"Note: {self.named} {'imports' if is_one else 'import'} {imported} and {'was' if is_one else 'were'}"
        return f"{text} not asked: {how} {'it' if is_one else 'them'} too."


class Unasked:
    """The projects beside those that one call asks, which are brought up to date by nobody."""

    def __init__(
        self, projects: Projects, crossroads: Crossroads, asked: Collection[Path], session_roots: Sequence[Path] = ()
    ) -> None:
        self._projects = projects
        self._crossroads = crossroads
        self._asked = frozenset(asked)
        self._session_roots = session_roots

    def importing(self, provider: Member, paths: Collection[str]) -> Importers:
        """Who imports a package of a project that contains one of some files, directly or through others."""
        numbers = self._crossroads.importers(provider, [member for _, member in self._beside], paths)
        found = [self._beside[number][0] for number in numbers]
        asked_by = dict.fromkeys(each.asked_by for each in found if each.asked_by)
        return Importers(tuple(each.name for each in found), tuple(asked_by))

    @cached_property
    def _beside(self) -> list[tuple[Beside, Member]]:
        found = []
        for each in projects_beside(self._projects, self._asked, self._session_roots):
            try:
                found.append((each, Member.of(each.name, each.index.store, each.index.workers)))
            except DeltosError:  # it cannot be asked either: whoever asks it is told why
                continue
        return found
