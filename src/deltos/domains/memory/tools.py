"""The MCP tools of memory, except `search` and `fetch`, which serve memory and all other domains."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from deltos.confinement import may_recall_all
from deltos.domains.memory.core.memory import random_id
from deltos.domains.memory.core.model import KINDS, NOTE, Draft, ObservationOrigin, format_id
from deltos.domains.memory.render import (
    forget_summary,
    observations_answer,
    remembered_text,
    timeline_answer,
)
from deltos.errors import BadArgument, NotFound
from deltos.redaction.redact import redact_tags
from deltos.text.dates import parse_moment
from deltos.text.tags import with_tags
from deltos.tool import ANY_OBJECT, Answer, Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory, ObservationLookup, Timeline
    from deltos.model import Project
    from deltos.store.observations import Observation
    from deltos.tool import Call, JsonObject, Session

MAX_SESSION_ROWS = 200  # maximum number of observations in a session's timeline
_MAX_LISTED_IDS = 10
_MAX_LISTED_CHARACTERS = 500

_PROJECT_PARAMETER = Parameter("project_id", "string", "Default: the session's; or 'personal'", default="")
_IDS_PARAMETER = Parameter("ids", "array", "From search")


def memory_tools(
    open_memory: Callable[[], Memory],
    identify: Callable[[Path], Project],
    *,
    token_budget: int,
) -> tuple[Tool, ...]:
    """Return the memory tools; memory is opened at the first call, so that a damaged file does not affect other
    tools."""
    return _MemoryTools(open_memory, identify, token_budget).tools()


class _SessionIds:
    """Assigns a session id to an MCP conversation on first use, because MCP over stdio has no session ids."""

    def __init__(self) -> None:
        self._ids: WeakKeyDictionary[Session, str] = WeakKeyDictionary()

    def get(self, session: Session) -> str:
        """Return the session id of an MCP conversation; assign an id at the first call."""
        return self._ids.setdefault(session, f"mcp-{random_id()}")


class _MemoryTools:
    """The definitions and handlers of the memory tools."""

    def __init__(
        self,
        open_memory: Callable[[], Memory],
        identify: Callable[[Path], Project],
        token_budget: int,
    ) -> None:
        self._open_memory = open_memory
        self._identify = identify
        self._token_budget = token_budget
        self._session_ids = _SessionIds()

    @property
    def _memory(self) -> Memory:
        return self._open_memory()

    def tools(self) -> tuple[Tool, ...]:
        """Return the four memory tools in the order of the documented tool list."""
        return (
            self._get_tool(),
            self._timeline_tool(),
            self._remember_tool(),
            self._forget_tool(),
        )

    def get_observations(self, call: Call) -> Answer:
        """Return the full text of observations by their ids."""
        lookup = self._look_up(call, call.texts("ids"))
        return observations_answer(
            lookup, self._rows_with_changed_code(call, lookup.found), token_budget=self._token_budget
        )

    def timeline(self, call: Call) -> Answer:
        """Return the observations around an observation or a moment, or the observations of one session."""
        middle, timeline = self._timeline_rows(call)
        if not timeline.rows:
            raise NotFound(
                "The timeline contains no observations", hint="Use search to find an observation to start from."
            )
        changed = self._rows_with_changed_code(call, timeline.rows)
        return timeline_answer(timeline, changed, middle=middle, token_budget=self._token_budget)

    def remember(self, call: Call) -> Answer:
        """Store a text durably as an observation."""
        project = self._identify(call.session.project_root())
        given = call.text("project_id")
        if given and may_recall_all():  # an error for a restricted caller must not reveal whether a project exists
            given = given if given == project.project_id else self._memory.expect_project(given)
        here = given in ("", project.project_id)
        session_id = self._session_ids.get(call.session) if here else None
        origin = ObservationOrigin(given or project.project_id, project.root if here else None, session_id)
        draft = Draft(
            with_tags(call.text("text"), redact_tags(call.texts("tags"))),
            kind=call.text("kind"),
            source=call.text("source"),
            files=tuple(call.texts("files")),
        )
        done = self._memory.remember(draft, origin, supersedes=call.texts("supersedes"))
        data: JsonObject = {"id": format_id(done.id)}
        if done.merged:
            data["merged"] = True
        if done.superseded:
            data["superseded"] = [format_id(each) for each in done.superseded]
        if done.conflicts:
            data["possible_conflicts"] = [format_id(row.id) for row in done.conflicts]
        if done.redacted:
            data["redacted"] = list(done.redacted)
        return Answer(remembered_text(done), data)

    def forget(self, call: Call) -> Answer:
        """Hide observations from all answers, or restore them."""
        ids, restore = call.texts("ids"), call.flag("restore")
        lookup = self._memory.forget(ids, restore=restore, project_id=self._project(call).project_id)
        if not lookup.found:
            raise _unknown_ids_error(ids)
        return Answer(forget_summary(lookup, restored=restore))

    def _timeline_rows(self, call: Call) -> tuple[int | None, Timeline]:
        """Return the timeline, preceded by the row number of its middle observation (or None)."""
        session_id, around = call.text("session_id"), call.text("around")
        before, after = call.number("before"), call.number("after")
        if session_id:
            return None, self._memory.session_timeline(session_id, limit=MAX_SESSION_ROWS)
        if not around:
            raise BadArgument("Pass `around` (an id or a time) or `session_id`", hint="Ids come from search.")
        if (moment := parse_moment(around, self._memory.clock())) is not None:
            return None, self._memory.timeline_at_time(
                moment, self._project(call).project_id, before=before, after=after
            )
        observation = self._look_up(call, [around]).found[0]
        return observation.place, self._memory.timeline_around(observation, before=before, after=after)

    def _look_up(self, call: Call, ids: Sequence[str]) -> ObservationLookup:
        """Return the observations with the given ids; raise NotFound if there are none."""
        lookup = self._memory.look_up(ids, self._project(call).project_id)
        if not lookup.found:
            raise _unknown_ids_error(ids)
        return lookup

    def _project(self, call: Call) -> Project:
        return self._memory.with_stored_identity(self._identify(call.session.project_root()))

    def _rows_with_changed_code(self, call: Call, rows: Iterable[Observation]) -> set[int]:
        """Return the row numbers of observations whose anchored code has changed."""
        project = self._project(call)
        return self._memory.changed_places(list(rows), {project.project_id: project.root})

    def _get_tool(self) -> Tool:
        return Tool(
            "get_observations",
            "memory",
            "Observations",
            "Show in full.",
            (_IDS_PARAMETER,),
            self.get_observations,
        )

    def _timeline_tool(self) -> Tool:
        return Tool(
            "timeline",
            "memory",
            "Timeline",
            "Show the observations around one.",
            (
                Parameter("around", "string", "Id or time", default=""),
                Parameter("session_id", "string", "Show this session instead", default=""),
                Parameter("before", "integer", "0-50", default=5, minimum=0, maximum=50),
                Parameter("after", "integer", "0-50", default=5, minimum=0, maximum=50),
            ),
            self.timeline,
        )

    def _remember_tool(self) -> Tool:
        return Tool(
            "remember",
            "memory",
            "Remember",
            "Keep facts for later sessions, secrets redacted; not what code or git already says.",
            (
                Parameter("text", "string", "Self-contained"),
                Parameter("kind", "string", "Default: judged", default="", choices=(*KINDS, NOTE)),
                Parameter("supersedes", "array", "Ids it replaces", default=[]),
                Parameter("tags", "array", "Kept as #tag", default=[]),
                Parameter("files", "array", "Files it is about", default=[]),
                Parameter("source", "string", "Where it comes from", default=""),
                _PROJECT_PARAMETER,
            ),
            self.remember,
            read_only=False,
            output_schema=ANY_OBJECT,
            always_loaded=True,
        )

    def _forget_tool(self) -> Tool:
        return Tool(
            "forget",
            "memory",
            "Forget",
            "Hide observations.",
            (_IDS_PARAMETER, Parameter("restore", "boolean", "Bring them back instead", default=False)),
            self.forget,
            read_only=False,
            destructive=True,
        )


def _unknown_ids_error(ids: Sequence[str]) -> NotFound:
    """Return an error that lists unknown ids."""
    shown = ", ".join(ids[:_MAX_LISTED_IDS])[:_MAX_LISTED_CHARACTERS] or "(none given)"
    shown += f" and {len(ids) - _MAX_LISTED_IDS} more" if len(ids) > _MAX_LISTED_IDS else ""
    return NotFound(
        f"No observation with id {shown}",
        hint="Ids come from search; forget with restore=true restores forgotten observations.",
    )
