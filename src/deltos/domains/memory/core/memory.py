"""Store, merge, search, supersede and forget observations."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from deltos.confinement import is_inside, may_recall, may_recall_all, visible_location
from deltos.domains.memory.core import anchors
from deltos.domains.memory.core.conflicts import MAX_STATEMENTS_COMPARED, STATEMENT_KINDS, find_conflicts, is_statement
from deltos.domains.memory.core.duplicates import find_duplicate
from deltos.domains.memory.core.model import (
    ALL_PROJECTS,
    MAX_TEXT_CHARACTERS,
    PERSONAL,
    Draft,
    ObservationOrigin,
    RememberResult,
    format_id,
    possible_ids,
)
from deltos.errors import BadArgument, Forbidden, NotFound
from deltos.model import NO_FILTERS, Clean
from deltos.redaction.redact import redact, redact_name, storable
from deltos.store.observations import NewObservation
from deltos.text.identifiers import names_in_prose, words_inside
from deltos.text.times import micros, moment_of
from deltos.text.unspaced_scripts import unspaced_words
from deltos.workspace.identity import path_in_checkout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deltos.domains.memory.core.model import Clock
    from deltos.domains.memory.search.search import MemoryResults
    from deltos.model import Filters, Project
    from deltos.semantic_index import SemanticIndex
    from deltos.store.observations import Observation, Observations, ObservationsWriter
    from deltos.store.observations import ProjectRow as KnownProject

_MAX_DUPLICATE_CANDIDATES = 40  # number of recent observations that are compared with a new one
_ID_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, which omits i, l, o and u
_ID_LENGTH = 10
MAX_QUERY_CHARACTERS = 500
MAX_SNAPSHOTS = 7
_MAX_OBSERVATIONS_TO_STATEMENT = 12  # number of observations before an edit that are searched for its reason
_LASTING_KINDS = ("decision", "preference")
_TEMPORARY_ID_PREFIXES = ("path:", "git:")  # prefixes of project ids that hooks use without starting git
_POSSIBLE_DECISION_KINDS = ("note", "request")  # kinds of observation that may be decisions
_MAX_SELECTED_OBSERVATIONS = 1_000_000
_MAX_SELECTED_BY_QUERY = 100
# Times further in the future than this (microseconds) come from a wrong clock.
CLOCK_TOLERANCE = 86_400_000_000


class ObservationLookup(NamedTuple):
    """Result of a lookup by ids: the observations that were found, and the unknown ids."""

    found: tuple[Observation, ...]
    unknown: tuple[str, ...]


class Timeline(NamedTuple):
    """Observations in chronological order, and whether earlier and later observations exist."""

    rows: Sequence[Observation]
    has_earlier: bool = False
    has_later: bool = False


class ObservationFilter(NamedTuple):
    """Criteria for selecting observations, all of which must match; times are in microseconds, None means no limit."""

    query: str = ""
    session_id: str = ""
    kind: str = ""
    since: int | None = None
    until: int | None = None


class PurgeResult(NamedTuple):
    """Result of a purge. `is_traceless` is whether the file has no traces left; `copies` may contain traces."""

    removed: int
    is_traceless: bool
    copies: tuple[str, ...]


class PreparedDraft(NamedTuple):
    """An observation that is redacted and ready to be stored, and the kinds of secrets that were redacted."""

    new: NewObservation
    redacted: tuple[str, ...]


def local_now() -> datetime:
    """Return the current time in the local time zone."""
    return datetime.now().astimezone()


def random_id() -> Clean:
    """Return a short random id with 50 bits, so that collisions are very unlikely."""
    return Clean("".join(_ID_LETTERS[byte & 31] for byte in os.urandom(_ID_LENGTH)))


def derive_id(source_text: str) -> Clean:
    """Return an id for an imported record that is the same on every machine."""
    from deltos.digest import sha256  # imported late: hooks use random ids

    digest = sha256(source_text.encode("utf-8", "surrogatepass")).digest()
    return Clean("".join(_ID_LETTERS[byte & 31] for byte in digest[:_ID_LENGTH]))


class Memory:
    """Access to the observations of all projects, with the rules for adding, merging and superseding observations."""

    def __init__(
        self,
        store: Observations,
        *,
        clock: Clock = local_now,
        new_id: Callable[[], Clean] = random_id,
        semantic_index: Callable[[], SemanticIndex | None] = lambda: None,
        files_defining: Callable[[Path, Sequence[str]], Sequence[str]] = lambda _root, _names: (),
    ) -> None:
        self.store = store
        self._semantic_index = semantic_index
        self._files_defining = files_defining
        self.clock = clock
        self.fresh_id = new_id

    def with_clock_at(self, moment: int) -> Memory:
        """Return a copy of this memory whose clock always returns the given time."""
        return Memory(
            self.store,
            clock=lambda: moment_of(moment),
            new_id=self.fresh_id,
            semantic_index=self._semantic_index,
            files_defining=self._files_defining,
        )

    def remember(self, draft: Draft, origin: ObservationOrigin, *, supersedes: Sequence[str] = ()) -> RememberResult:
        """Store a new observation durably; a duplicate is merged into the older observation.

        `supersedes` contains the ids of statements that the new observation replaces. The result lists other statements
        that may contradict the new observation.
        """
        if not may_recall(origin.project_id, folder_of(origin)):
            raise Forbidden("You may not store observations in that project", hint="Leave out project_id.")
        replaced = [self._find_replaceable(given, origin.project_id) for given in dict.fromkeys(supersedes)]
        prepared = self.prepare(draft, origin.root)
        if not prepared.new.score and (older := next((row for row in replaced if row.kind in _LASTING_KINDS), None)):
            # A statement that replaces a decision is a decision too.
            prepared = prepared._replace(new=prepared.new._replace(kind=Clean(older.kind)))
        with self.store.writing() as writer:
            project, session = self.origin_keys(writer, origin)
            done = self.add(writer, project, session, prepared)
            for row in replaced:
                if row.id != done.id:
                    writer.update(row.place, superseded_by=done.id, superseded_at=micros(self.clock()))
            conflicts = () if done.merged else self._conflicts(project, done.id)
        return done._replace(superseded=tuple(row.id for row in replaced if row.id != done.id), conflicts=conflicts)

    def _conflicts(self, project: int, stored_id: str) -> tuple[Observation, ...]:
        """Return the valid statements of a project that may contradict a new statement, closest in topic first."""
        rows = self.store.recent_observations([project], limit=MAX_STATEMENTS_COMPARED, kinds=STATEMENT_KINDS)
        new = next((row for row in rows if row.id == stored_id), None)
        if new is None or not is_statement(new):
            return ()
        return tuple(find_conflicts(new.text, (row for row in rows if row.place != new.place)))

    def _find_replaceable(self, observation_id: str, project_id: str) -> Observation:
        """Return the observation to be superseded; raise BadArgument if it is pinned (only users may replace it)."""
        row = self._get_observation(observation_id, project_id)
        if row.pinned_at is not None:
            raise BadArgument(
                f"{format_id(row.id)} is pinned, so only the user can replace it",
                hint="Omit this id; the user can run `deltos memory supersede`.",
            )
        return row

    def prepare(self, draft: Draft, root: Path | None) -> PreparedDraft:
        """Clean and redact a new observation and link it to code; raise BadArgument if it cannot be stored."""
        text = storable(draft.text)
        if len(text) > MAX_TEXT_CHARACTERS:
            raise BadArgument(
                f"The text has {len(text):,} characters; the limit is {MAX_TEXT_CHARACTERS:,}",
                hint="Remember a summary and name the file in `files`.",
            )
        safe = redact(text)
        kept = Clean(safe.text.strip())
        if not kept:
            raise BadArgument(
                "The text is empty, so there is nothing to remember",
                hint="Pass text outside <private> passages.",
            )
        kind, score = _kind_of(draft, kept)
        named = [redact_name(storable(path)) for path in draft.files]
        files = anchors.relative_files([*named, *anchors.files_in(kept, root)], root)
        symbols = tuple(anchors.symbols_in(kept))
        if root is not None and symbols and not files:  # the text contains symbols but no file
            files = tuple(Clean(path) for path in self._files_defining(root, symbols))
        new = NewObservation(
            id=self.fresh_id(),
            text=kept,
            kind=redact_name(storable(kind)),
            source=redact(storable(draft.source)).text,
            created_at=micros(self.clock()),
            names=words_of_names(kept, files),
            files=files,
            symbols=symbols,
            anchors=anchors.anchor(files, symbols, root),
            score=score,
        )
        return PreparedDraft(new, safe.kinds)

    def origin_keys(self, writer: ObservationsWriter, origin: ObservationOrigin) -> tuple[int, int]:
        """Return the database keys of the project and session of an origin; create both if necessary."""
        origin = redact_origin_names(origin)
        if origin.project_id == ALL_PROJECTS:
            raise BadArgument(
                f"'{ALL_PROJECTS}' is not a project",
                hint=f"Use '{PERSONAL}' for observations that apply to every project.",
            )
        now = micros(self.clock())
        root = "" if origin.root is None else redact_name(storable(str(origin.root.resolve())))
        folder = redact_name(folder_of(origin))
        if origin.session_id is not None:
            # A session that moves to a subfolder keeps its first folder, so that the session's observations stay
            # together.
            begun_in = self.store.folder_of_session(origin.project_id, origin.session_id)
            folder = Clean(begun_in) if begun_in is not None and is_inside(folder, begun_in) else folder
        project = writer.upsert_project(origin.project_id, root=root, now=now, folder=folder)
        return project, writer.upsert_session(project, origin.session_id, agent=origin.agent, now=now)

    def with_stored_identity(self, project: Project) -> Project:
        """Return a project with the id under which memory stores it.

        Hooks do not run git, so a hook may have stored a repository under an id made from the folder, while tools use
        an id made from the first commit.
        """
        project_id = redact_name(project.project_id)
        return project._replace(project_id=self.known_identity(project_id, redact_name(storable(str(project.root)))))

    def known_identity(self, project_id: str, root: str) -> str:
        """Return the stored id of a project: `project_id`, or the temporary id under which a hook stored the folder."""
        rows = self.store.projects()
        same_root = (
            row.project_id for row in rows if row.root == root and row.project_id.startswith(_TEMPORARY_ID_PREFIXES)
        )
        return project_id if any(row.project_id == project_id for row in rows) else next(same_root, project_id)

    def add(self, writer: ObservationsWriter, project: int, session: int, prepared: PreparedDraft) -> RememberResult:
        """Insert a prepared observation, or merge it into a recent duplicate."""
        new = prepared.new
        # Checked inside the write transaction, so that two concurrent writers cannot both insert the same text.
        duplicate = find_duplicate(
            new.text, new.kind, self.store.recent_observations([project], limit=_MAX_DUPLICATE_CANDIDATES)
        )
        if duplicate is not None:
            older, fuller = duplicate
            self._merge(writer, older, new, takes_text=fuller == "newer")
            return RememberResult(older.id, merged=True, redacted=prepared.redacted)
        # Keep the order of a session's observations even if the clock was set back.
        rows = self.store.latest_in_session(session, limit=1)
        last = next((row.created_at for row in rows if row.session_id is not None), 0)
        is_ahead = last > new.created_at + CLOCK_TOLERANCE  # the time of the last observation was wrong
        created_at = new.created_at if is_ahead else max(new.created_at, last)
        writer.insert(project, session, new._replace(created_at=created_at))
        return RememberResult(new.id, redacted=prepared.redacted)

    def anchor_statement(self, writer: ObservationsWriter, session: int, edit: NewObservation) -> None:
        """Link the user's last decision in a session to the code that was edited shortly after it."""
        rows = self.store.latest_in_session(session, limit=_MAX_OBSERVATIONS_TO_STATEMENT)
        statement = next((row for row in rows if row.source == "user"), None)
        # Anchors of whole files are omitted, because files change too often for such anchors to be useful.
        edited = [anchor for anchor in edit.anchors if anchor.symbol]
        if edited and statement is not None and statement.kind in _LASTING_KINDS and not statement.files:
            writer.add_anchors(statement.place, edited)

    def rewrite(self, writer: ObservationsWriter, row: Observation, **changed: object) -> None:
        """Store an observation with changed fields; recompute its index terms and remove its embedding."""
        fields = {name: getattr(row, name) for name in NewObservation._fields if name in row._fields} | changed
        text = cast("Clean", fields["text"])
        fields |= {
            "names": words_of_names(text, row.files),
            "anchors": tuple(self.store.anchors([row.place]).get(row.place, ())),
            "embedding": None,
            "embedding_model": None,
            "updated_at": max(row.updated_at, micros(self.clock())),
        }
        writer.replace(row.place, NewObservation(**fields))

    def _merge(self, writer: ObservationsWriter, older: Observation, new: NewObservation, *, takes_text: bool) -> None:
        """Merge a new observation into an older duplicate."""
        now = max(new.created_at, older.updated_at)
        if not takes_text and set(new.files) <= set(older.files):
            writer.update(older.place, updated_at=now)
            return
        text = new.text if takes_text else older.text
        files = tuple(dict.fromkeys((*older.files, *new.files)))
        symbols = tuple(dict.fromkeys((*older.symbols, *new.symbols)))
        writer.replace(
            older.place,
            new._replace(
                text=text,
                source=new.source or older.source,
                created_at=older.created_at,
                updated_at=now,
                files=files,
                symbols=symbols,
                names=words_of_names(text, files),
                pinned_at=older.pinned_at,
                restored_at=older.restored_at,
                unpinned_at=older.unpinned_at,
                superseded_at=older.superseded_at,
            ),
        )

    def search(
        self, query: str, project_id: str, *more_projects: str, limit: int, filters: Filters = NO_FILTERS
    ) -> MemoryResults:
        """Return the best observations for a query in a project and the personal project, or in all projects."""
        from dataclasses import replace  # imported late: hooks never search

        from deltos.domains.memory.search.search import MemoryScope, search

        query = storable(query)[:MAX_QUERY_CHARACTERS].strip()
        if not query:
            raise BadArgument("The query is empty", hint="Describe in a few words what you want to know.")
        semantic_index = self._semantic_index()
        similarities = semantic_index.compare(query) if semantic_index else None
        with self.store.snapshot():
            ids = (project_id, *more_projects)
            keys = tuple(dict.fromkeys(key for each in ids for key in self.project_keys(each)))
            found = search(
                self.store,
                query,
                MemoryScope(keys, project_id == ALL_PROJECTS and may_recall_all()),
                limit=limit,
                now=self.clock(),
                similarities=similarities,
                filters=filters,
            )
            others = [project.key for project in self._projects() if project.key not in keys]
            elsewhere = self.store.count(others) if not found.hits else 0
        return replace(found, elsewhere=elsewhere)

    def look_up(self, ids: Sequence[str], project_id: str = "") -> ObservationLookup:
        """Return the observations with the given ids, except forgotten ones; `project_id` resolves ambiguous ids."""
        found: dict[int, Observation] = {}
        unknown: list[str] = []
        for given in dict.fromkeys(ids):
            rows = self._rows_with_id(given)
            rows = [row for row in rows if row.deleted_at is None]
            if rows:
                chosen = min(rows, key=lambda row: row.project_id != project_id)
                found.setdefault(chosen.place, chosen)
            else:
                unknown.append(given)
        return ObservationLookup(tuple(found.values()), tuple(unknown))

    def _rows_with_id(self, observation_id: str) -> list[Observation]:
        """Return the visible observations with the given id, including forgotten ones."""
        return [row for row in self.store.by_ids(possible_ids(storable(observation_id))) if _is_visible(row)]

    def timeline_around(self, observation: Observation, *, before: int, after: int) -> Timeline:
        """Return an observation with the observations before and after it in the project, in chronological order."""
        moment = (observation.created_at, observation.place)
        return self._timeline(self.project_keys(observation.project_id), moment, [observation], before, after)

    def timeline_at_time(self, moment: int, project_id: str, *, before: int, after: int) -> Timeline:
        """Return the observations before and after a moment in a project, in chronological order."""
        return self._timeline(self.project_keys(project_id), (moment, 0), [], before, after)

    def session_timeline(self, session_id: str, *, limit: int) -> Timeline:
        """Return the last observations of a session, oldest first."""
        rows = self.session_observations(session_id, limit=limit + 1)
        return Timeline(rows[-limit:], has_earlier=len(rows) > limit)

    def _timeline(
        self, keys: Sequence[int], moment: tuple[int, int], middle: list[Observation], before: int, after: int
    ) -> Timeline:
        """Return the observations in `middle`, with at most `before` earlier and at most `after` later observations."""
        with self.store.snapshot():
            earlier = self.store.page(keys, *moment, limit=before + 1)[::-1]
            later = self.store.observations_after(keys, *moment, limit=after + 1)
        rows = [*earlier[len(earlier) - before if len(earlier) > before else 0 :], *middle, *later[:after]]
        return Timeline(rows, has_earlier=len(earlier) > before, has_later=len(later) > after)

    def forget(self, ids: Sequence[str], *, restore: bool = False, project_id: str = "") -> ObservationLookup:
        """Hide observations from all answers, or restore them.

        Restoring a superseded observation makes it valid again.
        """
        found: list[Observation] = []
        unknown: list[str] = []
        now = micros(self.clock())
        with self.store.writing() as writer:
            for given in dict.fromkeys(ids):
                rows = self._rows_with_id(given)
                if not rows:
                    unknown.append(given)
                    continue
                chosen = min(rows, key=lambda row: (row.project_id != project_id, (row.deleted_at is None) == restore))
                found.append(chosen)
                if (chosen.deleted_at is None) != restore:
                    writer.update(
                        chosen.place, **({"deleted_at": None, "restored_at": now} if restore else {"deleted_at": now})
                    )
                elif restore and chosen.superseded_by is not None:
                    writer.update(chosen.place, superseded_by=None, superseded_at=now)
        return ObservationLookup(tuple(found), tuple(unknown))

    def pin(self, ids: Sequence[str], *, unpin: bool = False, project_id: str = "") -> ObservationLookup:
        """Pin observations (which shows them first at the start of a session), or unpin them."""
        now = micros(self.clock())
        lookup = self.look_up(ids, project_id)
        with self.store.writing() as writer:
            for row in lookup.found:
                writer.update(row.place, **({"pinned_at": None, "unpinned_at": now} if unpin else {"pinned_at": now}))
        return lookup

    def pin_visible(self, ids: Sequence[str], *, project_id: str = "") -> ObservationLookup:
        """Pin observations; raise an error and pin none if one of them is superseded or forgotten."""
        lookup = self.look_up(ids, project_id)
        for row in lookup.found:
            if row.superseded_by is not None:
                raise BadArgument(
                    f"{format_id(row.id)} was superseded by {format_id(row.superseded_by)} and is not shown",
                    hint="Pin the newer observation, or restore this one first.",
                )
        for given in lookup.unknown:
            if self._rows_with_id(given):
                raise BadArgument(f"{given[:100]} was forgotten and is not shown", hint="Restore it first.")
        return self.pin(ids, project_id=project_id)

    def supersede(self, older_id: str, newer_id: str, *, project_id: str = "") -> tuple[Observation, Observation]:
        """Mark an older observation as superseded by a newer one; the older observation remains in the timeline."""
        older, newer = (self._get_observation(given, project_id) for given in (older_id, newer_id))
        if older.place == newer.place:
            raise BadArgument("An observation cannot supersede itself", hint="Pass two ids, the older one first.")
        if newer.superseded_by == older.id:
            raise BadArgument(
                "The older observation already supersedes the newer one",
                hint="Run `deltos memory restore` first to undo that.",
            )
        now = micros(self.clock())
        with self.store.writing() as writer:
            writer.update(older.place, superseded_by=newer.id, superseded_at=now)
            if older.pinned_at is not None:
                writer.update(older.place, pinned_at=None, unpinned_at=now)
                writer.update(newer.place, pinned_at=now)
            # A statement that replaces a decision is a decision too.
            if older.kind in _LASTING_KINDS and newer.kind in _POSSIBLE_DECISION_KINDS:
                self.rewrite(writer, newer, kind=older.kind, score=older.score or 1.0)
        return older, newer

    def _get_observation(self, observation_id: str, project_id: str) -> Observation:
        """Return the observation with the given id, or raise NotFound."""
        lookup = self.look_up([observation_id], project_id)
        if not lookup.found:
            raise NotFound(f"No observation with id {observation_id[:100]}", hint="`deltos memory search` finds ids.")
        return lookup.found[0]

    def keep_snapshot(self, *, max_bytes: int = 0) -> bool:
        """Copy the memory file at most once a day; if the file is lost, at most one day of observations is lost."""
        return self.store.keep_snapshot(f"{self.clock():%Y-%m-%d}", kept=MAX_SNAPSHOTS, max_bytes=max_bytes)

    def select(self, selection: ObservationFilter, project_id: str) -> list[Observation]:
        """Return the observations of a project that match a filter, except forgotten ones; reject an empty filter."""
        if selection == ObservationFilter():
            raise BadArgument("No observations are selected", hint="Pass ids, a query, a session, a kind or a date.")
        if selection.query:
            rows = [
                hit.observation for hit in self.search(selection.query, project_id, limit=_MAX_SELECTED_BY_QUERY).hits
            ]
        elif selection.session_id:
            rows = self.session_observations(selection.session_id, limit=_MAX_SELECTED_OBSERVATIONS)
        else:
            rows = list(self.store.all())
        keys = {
            (row.project_id, row.folder) for row in self._projects() if project_id in (ALL_PROJECTS, row.project_id)
        }
        return [row for row in rows if (row.project_id, row.folder) in keys and _matches_filter(row, selection)]

    def find_project(self, word: str) -> str | None:
        """Return the project id for an id, name or path (`word`), or None unless exactly one project matches."""
        from deltos.domains.memory.core.project_names import matching_projects  # imported late: hooks never need it

        if word in (PERSONAL, ALL_PROJECTS):
            return word
        found = matching_projects(word, self._projects())
        return found[0] if len(found) == 1 else None

    def project_names(self) -> dict[str, str]:
        """Return the display names of the visible projects, by id."""
        from deltos.domains.memory.core.project_names import display_names  # imported late: hooks never need it

        return display_names(self._projects())

    def expect_project(self, word: str, *, create: str = "") -> str:
        """Return the project id for an id, name or path (`word`); raise NotFound unless exactly one project matches."""
        if (found := self.find_project(word)) is not None:
            return found
        from difflib import get_close_matches  # imported late: only needed for unknown names

        names = sorted({*self.project_names().values()})
        if ambiguous_names := [name for name in names if name.endswith(f"/{word}")]:
            raise NotFound(
                f"{visible_location(word[:200])} matches several projects",
                hint=f"Pass one of them: {', '.join(ambiguous_names)}.",
            )
        near = get_close_matches(word[:200], names, n=3, cutoff=0.5)
        advice = f"Did you mean {' or '.join(near)}?" if near else "Omit project_id to use the current project."
        creation_advice = f" {create} creates a new one." if create else ""
        raise NotFound(f"Memory knows no project {visible_location(word[:200])}", hint=advice + creation_advice)

    def purge(self, *, older_than_days: int = 0, project_id: str = "") -> PurgeResult:
        """Permanently remove observations forgotten at least `older_than_days` days ago, in one or all projects."""
        limit = micros(self.clock()) - older_than_days * 86_400_000_000
        is_of_one = project_id not in ("", ALL_PROJECTS)
        keys = [each.key for each in self._projects() if each.project_id == project_id] if is_of_one else None
        with self.store.writing() as writer:
            count = writer.purge(limit + 1, keys)
        if count:
            self.store.drop_snapshots()
        return PurgeResult(count, self.store.scrub(), tuple(self.store.copies()))

    def session_observations(self, session_id: str, *, limit: int) -> list[Observation]:
        """Return the last observations of a session, oldest first."""
        return [
            row for row in self.store.session_observations(redact_name(session_id), limit=limit) if _is_visible(row)
        ]

    def project_keys(self, project_id: str) -> tuple[int, ...]:
        """Return the database keys of a project and of the personal project, or of all visible projects."""
        wanted = (project_id, PERSONAL)
        return tuple(p.key for p in self._projects() if project_id == ALL_PROJECTS or p.project_id in wanted)

    def keys_of_all_folders(self, project: int) -> tuple[int, ...]:
        """Return the database keys of a project's rows (one for each folder) and of the personal project."""
        rows = self.store.projects()
        own = next((row.project_id for row in rows if row.key == project), "")
        keys = (row.key for row in rows if row.project_id == own)
        return tuple(dict.fromkeys((*keys, *self.project_keys(PERSONAL))))

    def _projects(self) -> list[KnownProject]:
        """Return the projects that the current call may see, one row per folder."""
        return [project for project in self.store.projects() if may_recall(project.project_id, project.folder)]

    def changed_places(self, observations: Sequence[Observation], roots: dict[str, Path]) -> set[int]:
        """Return the row numbers of observations whose anchored code has changed; `roots` maps project ids to
        folders."""
        by_place = self.store.anchors([row.place for row in observations])
        return {
            row.place
            for row in observations
            if row.project_id in roots and anchors.has_changed(by_place.get(row.place, ()), roots[row.project_id])
        }


def _kind_of(draft: Draft, clean_text: Clean) -> tuple[str, float | None]:
    """Return the kind of a new observation, and the confidence; classify the text if no kind is given."""
    if draft.kind:
        return draft.kind, draft.score
    from deltos.domains.memory.capture.classify import judge  # imported late: loads numpy, and most kinds are given

    judgement = judge(clean_text)
    return (judgement.kind, round(judgement.score, 2)) if judgement.kind in _LASTING_KINDS else ("finding", None)


def _has_word_of(query: str, row: Observation) -> bool:
    """Whether the text, source or files of an observation contain a word of the query."""
    text = " ".join((row.text, row.source, *row.files)).casefold()
    words = (word.strip(".,;:!?()'\"").casefold() for word in query.split())
    return any(word in text for word in words if len(word) > 2 or not word.isascii())


def _matches_filter(row: Observation, selection: ObservationFilter) -> bool:
    return (
        row.deleted_at is None
        and (not selection.query or _has_word_of(selection.query, row))
        and selection.kind in ("", row.kind)
        and selection.session_id in ("", row.session_id)
        and (selection.since is None or row.created_at >= selection.since)
        and (selection.until is None or row.created_at < selection.until)
    )


def folder_of(origin: ObservationOrigin) -> str:
    """Return the folder of an origin relative to the repository; empty for the top folder or an unknown folder."""
    if origin.folder is not None:
        return origin.folder
    return "" if origin.root is None else path_in_checkout(origin.root.resolve())


def _is_visible(row: Observation) -> bool:
    """Whether the current call may see an observation."""
    return may_recall(row.project_id, row.folder)


def redact_origin_names(origin: ObservationOrigin) -> ObservationOrigin:
    """Redact unmistakable secrets in the project, session and agent names of an origin."""
    session_id = None if origin.session_id is None else redact_name(storable(origin.session_id))
    return origin._replace(
        project_id=redact_name(storable(origin.project_id)),
        session_id=session_id,
        agent=redact_name(storable(origin.agent)),
    )


def words_of_names(text: Clean, files: Sequence[Clean]) -> Clean:
    """Return additional index terms: parts of identifiers and paths, and bigrams of text in scripts without spaces."""
    names = words_inside([*names_in_prose(text), *files])
    return Clean(" ".join((names, *unspaced_words(text))).strip())
