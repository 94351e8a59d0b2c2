"""Memory itself: remember, find, look around, forget. Keeps the rules; leaves SQL to the store and wording
to render.py."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from deltos.confinement import is_inside, may_recall, may_recall_all, told
from deltos.domains.memory import anchors
from deltos.domains.memory.duplicates import find_duplicate
from deltos.domains.memory.model import (
    ALL_PROJECTS,
    MAX_TEXT_CHARACTERS,
    PERSONAL,
    Draft,
    ObservationOrigin,
    Remembered,
    possible_ids,
    shown_id,
)
from deltos.domains.memory.redact import redact, redact_name, storable
from deltos.domains.memory.supersede import (
    amended,
    amendment_of,
    goes_back,
    kinds_that_replace,
    kinds_to_compare,
    may_amend,
    superseded,
    unamended,
    went_back,
)
from deltos.errors import BadArgument, Forbidden, NotFound
from deltos.model import NO_FILTERS
from deltos.store.observations import Clean, NewObservation
from deltos.text.identifiers import names_in_prose, words_inside
from deltos.text.scripts import unspaced_words
from deltos.text.times import micros, moment_of
from deltos.workspace.identity import folder_in_checkout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deltos.domains.memory.model import Clock
    from deltos.domains.memory.search import MemoryResults
    from deltos.meaning import Meaning
    from deltos.model import Filters, Project
    from deltos.store.observations import Observation, Observations, ObservationsWriter
    from deltos.store.observations import ProjectRow as KnownProject

_RECENT = 40  # observations of the project that a new one is compared with
_LATER_LOOKED_AT = 400  # observations after one that is taken in from the past
_ID_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_ID_LENGTH = 10
LONGEST_QUERY = 500
SNAPSHOTS_KEPT = 7
_TIED_WITHIN = 12  # observations of a session, back from an edit, among which the statement is looked for
_LASTING = ("decision", "preference")
_UNSURE = ("note", "request")  # kinds of what was said and may be a decision
_RULE_OPENINGS = ("prefer ", "always use ", "never use ")
_MOST_CHOSEN = 1_000_000
_MOST_CHOSEN_BY_QUERY = 100
# A clock may be a little ahead; what claims to come from further on was written by one that is wrong.
CLOCK_TOLERANCE = 86_400_000_000
# A hook notes the time a little later than the agent's own file does.
_CLOCKS_DIFFER = 60_000_000


class ObservationLookup(NamedTuple):
    """The observations behind some ids, and the ids that mean nothing."""

    found: tuple[Observation, ...]
    unknown: tuple[str, ...]


class Choice(NamedTuple):
    """Which observations are meant: those that have all of it. Times are microseconds; None for any."""

    query: str = ""
    session_id: str = ""
    kind: str = ""
    since: int | None = None
    until: int | None = None


class Purged(NamedTuple):
    """How many observations went, whether the file keeps no trace of them, and copies that may still hold them."""

    removed: int
    is_traceless: bool
    copies: tuple[str, ...]


class PreparedDraft(NamedTuple):
    """A draft that is safe to keep, not yet placed."""

    new: NewObservation
    redacted: tuple[str, ...]


def local_now() -> datetime:
    """The time now, in the zone of this machine."""
    return datetime.now().astimezone()


def random_id() -> Clean:
    """A short random id: 50 bits, so that two are practically never the same."""
    return Clean("".join(_ID_LETTERS[byte & 31] for byte in os.urandom(_ID_LENGTH)))


def id_from(told: str) -> Clean:
    """The id of what has a source of its own: the same whenever, and wherever, it is taken in."""
    from deltos.digest import sha256  # deferred: hooks make random ids

    digest = sha256(told.encode("utf-8", "surrogatepass")).digest()
    return Clean("".join(_ID_LETTERS[byte & 31] for byte in digest[:_ID_LENGTH]))


class Memory:
    """What was learned, kept between sessions, in one file."""

    def __init__(
        self,
        store: Observations,
        *,
        clock: Clock = local_now,
        new_id: Callable[[], Clean] = random_id,
        meaning: Callable[[], Meaning | None] = lambda: None,
        is_past: bool = False,
        files_defining: Callable[[Path, Sequence[str]], Sequence[str]] = lambda _root, _names: (),
    ) -> None:
        self.store = store
        self._is_past = is_past
        self._meaning = meaning
        self._files_defining = files_defining
        self.clock = clock
        self.fresh_id = new_id

    def as_of(self, moment: int, new_id: Clean) -> Memory:
        """This memory as it was at a moment: what is kept through it gets that time, that id, and no anchors, because
        the code of then is not known. What was kept since does not count as recent."""
        return Memory(self.store, clock=lambda: moment_of(moment), new_id=lambda: new_id, is_past=True)

    def remember(self, draft: Draft, origin: ObservationOrigin) -> Remembered:
        """Keep a draft; on disk when this returns. One that says what is known joins the older observation."""
        if not may_recall(origin.project_id, folder_of(origin)):
            raise Forbidden("Memories of that project are not yours to keep", hint="Leave out project_id.")
        prepared = self.prepare(draft, origin.root)
        with self.store.writing() as writer:
            project, session = self.origin_keys(writer, origin)
            return self.add(writer, project, session, prepared)

    def prepare(self, draft: Draft, root: Path | None) -> PreparedDraft:
        """Clean and redact a draft and tie it to the code it names; refuse what cannot be kept."""
        text = storable(draft.text)
        if len(text) > MAX_TEXT_CHARACTERS:
            raise BadArgument(
                f"The text has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept",
                hint="Remember a summary and name the file in `files`.",
            )
        safe = redact(text)
        kept = Clean(safe.text.strip())
        if not kept:
            raise BadArgument(
                "There is nothing to remember: the text is empty",
                hint="Give `text` outside <private> passages.",
            )
        kind, score = _kind_of(draft, kept)
        named = [redact_name(storable(path)) for path in draft.files]
        files = anchors.relative_files([*named, *anchors.files_in(kept, root)], root)
        symbols = tuple(anchors.symbols_in(kept))
        if root is not None and symbols and not files:  # it names code without saying where that is
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
            anchors=() if self._is_past else anchors.anchor(files, symbols, root),
            score=score,
        )
        return PreparedDraft(new, safe.kinds)

    def origin_keys(self, writer: ObservationsWriter, origin: ObservationOrigin) -> tuple[int, int]:
        """The keys of an origin's project and session, made when they are new."""
        origin = as_stored(origin)
        if origin.project_id == ALL_PROJECTS:
            raise BadArgument(f"'{ALL_PROJECTS}' is no project", hint=f"Use '{PERSONAL}' for what holds everywhere.")
        now = micros(self.clock())
        root = "" if origin.root is None else redact_name(storable(str(origin.root.resolve())))
        folder = redact_name(folder_of(origin))
        if origin.session_id is not None:
            # A session that goes deeper stays where it began, so that its observations stay neighbours.
            begun_in = writer.folder_of_session(origin.project_id, origin.session_id)
            folder = Clean(begun_in) if begun_in is not None and is_inside(folder, begun_in) else folder
        project = writer.project(origin.project_id, root=root, now=now, folder=folder)
        return project, writer.session(project, origin.session_id, agent=origin.agent, now=now)

    def as_known(self, project: Project) -> Project:
        """The project under the identity that its memory has: an older one, until something new is written.

        A hook starts no git, so it may know a repository by its folder only, where tools know its first commit.
        """
        project_id = redact_name(project.project_id)
        known = self.store.known_identity(project_id, redact_name(storable(str(project.root))))
        return project._replace(project_id=project_id if known is None else known)

    def add(self, writer: ObservationsWriter, project: int, session: int, prepared: PreparedDraft) -> Remembered:
        """Insert a prepared draft, or merge it into the recent observation that says the same."""
        new = prepared.new
        # Inside the write transaction: two hooks that report the same at once must not both insert it.
        until = new.created_at + _CLOCKS_DIFFER if self._is_past else None
        if self._is_past and (writer.was_purged(new.id) or writer.find(project, new.id)):
            return Remembered(new.id, merged=True, redacted=prepared.redacted)
        duplicate = find_duplicate(new.text, new.kind, writer.recent(project, limit=_RECENT, until=until))
        if duplicate is not None:
            older, fuller = duplicate
            self._merge(writer, older, new, takes_text=fuller == "newer")
            return Remembered(older.id, merged=True, redacted=prepared.redacted)
        # A clock that went backwards must not put a session's observations out of order.
        last = 0 if self._is_past else writer.last_created_at(session) or 0
        is_ahead = last > new.created_at + CLOCK_TOLERANCE  # then the other one was wrong
        created_at = new.created_at if is_ahead else max(new.created_at, last)
        replaced = self._supersede_older(writer, project, new)
        if new.kind not in _LASTING and (lasting := next((row for row in replaced if row.kind in _LASTING), None)):
            new = new._replace(kind=Clean(lasting.kind), score=lasting.score)  # what replaces a decision is one
        place = writer.insert(project, session, new._replace(created_at=created_at))
        if self._is_past:
            self._superseded_since(writer, project, place, new)
        return Remembered(new.id, redacted=prepared.redacted, superseded=tuple(row.id for row in replaced))

    def tie_to_statement(self, writer: ObservationsWriter, session: int, edit: NewObservation) -> None:
        """Tie what the user last decided in a session to the code that was edited upon it, unless that is long past."""
        rows = writer.in_session(session, limit=_TIED_WITHIN)
        statement = next((row for row in rows if row.source == "user"), None)
        # The whole of a file changes too often to tell anything.
        edited = [anchor for anchor in edit.anchors if anchor.symbol]
        if edited and statement is not None and statement.kind in _LASTING and not statement.files:
            writer.add_anchors(statement.place, edited)

    def _supersede_older(self, writer: ObservationsWriter, project: int, new: NewObservation) -> list[Observation]:
        """Have a new observation answer in the place of those that it says no longer hold."""
        kinds, looked_at = kinds_to_compare(new)
        if not kinds:
            return []
        older = writer.recent(project, limit=looked_at, until=new.created_at, kinds=kinds)
        # What the user pinned goes only when the user says so.
        replaced = [row for row in superseded(new, older) if row.pinned_at is None]
        if goes_back(new):
            replaced += [row for row in self._go_back(project, writer, new, older) if row not in replaced]
            older = writer.recent(project, limit=looked_at, until=new.created_at, kinds=kinds)
        for row, text in amended(new, (row for row in older if row not in replaced)):
            self._amend(writer, row, Clean(text))
        for row in replaced:
            writer.mark_superseded(row.place, new.id, micros(self.clock()))
        return replaced

    def _go_back(
        self, project: int, writer: ObservationsWriter, new: NewObservation, older: Sequence[Observation]
    ) -> tuple[Observation, ...]:
        """Have what held before hold again, where a new observation goes back to it; what is given up for that."""
        kinds, looked_at = kinds_to_compare(new)
        statements = self.store.page((project,), new.created_at + 1, 0, limit=looked_at, kinds=kinds)
        revived, given_up = went_back(new, statements)
        for row in revived:
            writer.mark_superseded(row.place, None, micros(self.clock()))
        for row in older:
            if (text := unamended(row.text, given_up)) != row.text:
                self._amend(writer, row, Clean(text))
        return given_up

    def _superseded_since(self, writer: ObservationsWriter, project: int, place: int, old: NewObservation) -> None:
        """Have what was kept before, but said later, answer in the place of something that is taken in only now."""
        row = writer.find(project, old.id)
        kinds = kinds_that_replace(old.kind)
        if row is None or not kinds:
            return
        for newer in writer.later(project, old.created_at, limit=_LATER_LOOKED_AT, kinds=kinds):
            if superseded(newer, [row]):
                writer.mark_superseded(place, newer.id, newer.created_at)
                return
            for _, text in amended(newer, [row]):
                self._amend(writer, row, Clean(text))
                row = row._replace(text=Clean(text))

    def _amend_again(self, writer: ObservationsWriter, changed: Observation, *, is_back: bool) -> None:
        """Take a forgotten observation out of the texts that quote it; put it there again when it is brought back."""
        if not may_amend(changed):
            return  # what may quote it is looked for in all texts of the project
        project = writer.project_of(changed.place)
        if not is_back:
            for row in writer.containing(project, amendment_of(changed)):
                self._amend(writer, row, Clean(unamended(row.text, [changed])))
            return
        kinds, looked_at = kinds_to_compare(changed)
        older = writer.recent(project, limit=looked_at, until=changed.created_at, kinds=kinds) if kinds else []
        for row, text in amended(changed, (row for row in older if row.place != changed.place)):
            self._amend(writer, row, Clean(text))

    def _amend(self, writer: ObservationsWriter, row: Observation, text: Clean) -> None:
        """Give an observation another text and leave everything else as it is."""
        self._rewrite(writer, row, text=text)

    def _rewrite(self, writer: ObservationsWriter, row: Observation, **changed: object) -> None:
        """Write an observation anew with some fields changed."""
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

    def earlier_in(self, writer: ObservationsWriter, session: int, *, limit: int) -> list[Observation]:
        """The last live observations of a session, newest first; of the past, those that were there then."""
        rows = writer.in_session(session, limit=limit)
        until = micros(self.clock()) + _CLOCKS_DIFFER
        return [row for row in rows if row.created_at <= until] if self._is_past else rows

    def latest_of(self, writer: ObservationsWriter, project: int, kind: str, *, limit: int) -> list[Observation]:
        """The newest live observations of a kind in a project; of the past, as they were then."""
        if not self._is_past:
            return writer.recent(project, limit=limit, kinds=(kind,))
        until = micros(self.clock()) + _CLOCKS_DIFFER
        rows = writer.recent(project, limit=limit, until=until, kinds=(kind,))
        return [row if row.updated_at <= until else row._replace(updated_at=row.created_at) for row in rows]

    def _merge(self, writer: ObservationsWriter, older: Observation, new: NewObservation, *, takes_text: bool) -> None:
        now = max(new.created_at, older.updated_at)
        if not takes_text and set(new.files) <= set(older.files):
            writer.touch(older.place, now)
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
        """The best observations for a question, of one project or several and the personal ones, or of all."""
        from dataclasses import replace  # deferred: hooks never search

        from deltos.domains.memory.search import MemoryScope, search

        query = storable(query)[:LONGEST_QUERY].strip()
        if not query:
            raise BadArgument("The query is empty", hint="Ask in a few words what you want to know.")
        meaning = self._meaning()
        similarities = meaning.compare(query) if meaning else None
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
        return replace(found, elsewhere=elsewhere, is_behind=meaning is not None and meaning.is_behind)

    def look_up(self, ids: Sequence[str], project_id: str = "") -> ObservationLookup:
        """The live observations behind ids, in that order; an id that several projects use means this project's."""
        found: dict[int, Observation] = {}
        unknown: list[str] = []
        for given in dict.fromkeys(ids):
            rows = [row for row in self.store.by_ids(possible_ids(storable(given))) if _may_recall(row)]
            if rows:
                chosen = min(rows, key=lambda row: row.project_id != project_id)
                found.setdefault(chosen.place, chosen)
            else:
                unknown.append(given)
        return ObservationLookup(tuple(found.values()), tuple(unknown))

    def around(self, observation: Observation, *, before: int, after: int) -> list[Observation]:
        """What came before and after an observation in its project, with itself, in order."""
        keys = self.project_keys(observation.project_id)
        moment = (observation.created_at, observation.place)
        with self.store.snapshot():
            earlier = self.store.before(keys, *moment, limit=before)
            return [*earlier, observation, *self.store.after(keys, *moment, limit=after)]

    def around_time(self, moment: int, project_id: str, *, before: int, after: int) -> list[Observation]:
        """What came before and after a moment in a project, in order."""
        keys = self.project_keys(project_id)
        with self.store.snapshot():
            earlier = self.store.before(keys, moment, 0, limit=before)
            return [*earlier, *self.store.after(keys, moment, 0, limit=after)]

    def forget(self, ids: Sequence[str], *, restore: bool = False, project_id: str = "") -> ObservationLookup:
        """Hide observations from every answer, or show them again; one that was not hidden holds again if it was
        superseded."""
        found: list[Observation] = []
        unknown: list[str] = []
        now = micros(self.clock())
        with self.store.writing() as writer:
            for given in dict.fromkeys(ids):
                rows = [row for one in possible_ids(storable(given)) for row in writer.with_id(one)]
                rows = [row for row in rows if _may_recall(row)]
                if not rows:
                    unknown.append(given)
                    continue
                chosen = min(rows, key=lambda row: (row.project_id != project_id, (row.deleted_at is None) == restore))
                found.append(chosen)
                if (chosen.deleted_at is None) != restore:
                    writer.mark_deleted(chosen.place, now, undo=restore)
                    self._amend_again(writer, chosen, is_back=restore)
                elif restore and chosen.superseded_by is not None:
                    writer.mark_superseded(chosen.place, None, now)
        return ObservationLookup(tuple(found), tuple(unknown))

    def pin(self, ids: Sequence[str], *, unpin: bool = False, project_id: str = "") -> ObservationLookup:
        """Have observations shown first when a session starts, or like any other."""
        now = micros(self.clock())
        lookup = self.look_up(ids, project_id)
        with self.store.writing() as writer:
            for row in lookup.found:
                writer.mark_pinned(row.place, now, undo=unpin)
        return lookup

    def pin_shown(self, ids: Sequence[str], *, project_id: str = "") -> ObservationLookup:
        """Pin for a person: what no answer shows is refused with the reason, and then nothing is pinned."""
        with self.store.writing() as writer:
            _refuse_hidden(self.look_up(ids, project_id), writer)
        return self.pin(ids, project_id=project_id)

    def supersede(self, older_id: str, newer_id: str, *, project_id: str = "") -> tuple[Observation, Observation]:
        """Have a newer observation answer in the place of an older one, which stays in the timeline."""
        older, newer = (self._known(given, project_id) for given in (older_id, newer_id))
        if older.place == newer.place:
            raise BadArgument("An observation cannot take its own place", hint="Give two ids, the older one first.")
        if newer.superseded_by == older.id:
            raise BadArgument(
                "Those two have it the other way round", hint="`deltos memory restore` undoes that first."
            )
        now = micros(self.clock())
        with self.store.writing() as writer:
            writer.mark_superseded(older.place, newer.id, now)
            if older.pinned_at is not None:
                writer.mark_pinned(older.place, now, undo=True)
                writer.mark_pinned(newer.place, now)
            if older.kind in _LASTING and newer.kind in _UNSURE:  # what replaces a decision is one
                self._rewrite(writer, newer, kind=older.kind, score=older.score or 1.0)
        return older, newer

    def _known(self, given: str, project_id: str) -> Observation:
        lookup = self.look_up([given], project_id)
        if not lookup.found:
            raise NotFound(f"No observation with id {given[:100]}", hint="`deltos memory search` finds ids.")
        return lookup.found[0]

    def keep_snapshot(self, *, most_bytes: int = 0) -> bool:
        """Copy the whole of memory once a day, so that a destroyed file costs a day at most."""
        return self.store.keep_snapshot(f"{self.clock():%Y-%m-%d}", kept=SNAPSHOTS_KEPT, most_bytes=most_bytes)

    def chosen(self, choice: Choice, project_id: str) -> list[Observation]:
        """The live observations of a project that a choice means; at least one thing must be chosen by."""
        if choice == Choice():
            raise BadArgument(
                "Nothing says which observations are meant", hint="Give ids, or a query, session, kind or date."
            )
        if choice.query:
            rows = [hit.observation for hit in self.search(choice.query, project_id, limit=_MOST_CHOSEN_BY_QUERY).hits]
        elif choice.session_id:
            rows = self.in_session(choice.session_id, limit=_MOST_CHOSEN)
        else:
            rows = list(self.store.all())
        keys = {
            (row.project_id, row.folder) for row in self._projects() if project_id in (ALL_PROJECTS, row.project_id)
        }
        return [row for row in rows if (row.project_id, row.folder) in keys and _is_chosen(row, choice)]

    def find_project(self, word: str) -> str | None:
        """The id of the one project that a word means: an id, the name of its folder, or the folder."""
        from deltos.domains.memory.project_words import projects_meant  # deferred: hooks never need it

        if word in (PERSONAL, ALL_PROJECTS):
            return word
        found = projects_meant(word, self._projects())
        return found[0] if len(found) == 1 else None

    def project_names(self) -> dict[str, str]:
        """What people call the projects that this call may see, by their ids."""
        from deltos.domains.memory.project_words import names_of_projects  # deferred: hooks never need it

        return names_of_projects(self._projects())

    def expect_project(self, word: str, *, create: str = "") -> str:
        """The id that a word means; raises NotFound, which asks whether a similar project was meant."""
        if (found := self.find_project(word)) is not None:
            return found
        from difflib import get_close_matches  # deferred: only a mistake needs it

        names = sorted({*self.project_names().values()})
        if twins := [name for name in names if name.endswith(f"/{word}")]:
            raise NotFound(f"{told(word[:200])} may be several projects", hint=f"Give one: {', '.join(twins)}.")
        near = get_close_matches(word[:200], names, n=3, cutoff=0.5)
        meant = f"Did you mean {' or '.join(near)}?" if near else "Leave out project_id for the project here."
        also = f" {create} makes a new one." if create else ""
        raise NotFound(f"Memory knows no project {told(word[:200])}", hint=meant + also)

    def purge(self, *, older_than_days: int = 0, project_id: str = "") -> Purged:
        """Remove for good what was forgotten that long ago, in all projects or in one."""
        limit = micros(self.clock()) - older_than_days * 86_400_000_000
        is_of_one = project_id not in ("", ALL_PROJECTS)
        keys = [each.key for each in self._projects() if each.project_id == project_id] if is_of_one else None
        with self.store.writing() as writer:
            count = writer.purge(limit + 1, keys)
        if count:
            self.store.drop_snapshots()
        return Purged(count, self.store.scrub(), tuple(self.store.copies()))

    def in_session(self, session_id: str, *, limit: int) -> list[Observation]:
        """The last observations of a session, oldest first."""
        return [row for row in self.store.in_session(redact_name(session_id), limit=limit) if _may_recall(row)]

    def project_keys(self, project_id: str) -> tuple[int, ...]:
        """The keys of a project and of the personal one, as far as they exist; of every project for `all`."""
        wanted = (project_id, PERSONAL)
        return tuple(p.key for p in self._projects() if project_id == ALL_PROJECTS or p.project_id in wanted)

    def keys_around(self, project: int) -> tuple[int, ...]:
        """The keys of all folders of a project, of which one is given, and of the personal one."""
        own = self.store.keys_beside(project)
        return (*own, *(key for key in self.project_keys(PERSONAL) if key not in own))

    def _projects(self) -> list[KnownProject]:
        """The projects, folder by folder, whose memories this call may see."""
        return [project for project in self.store.projects() if may_recall(project.project_id, project.folder)]

    def changed_places(self, observations: Sequence[Observation], roots: dict[str, Path]) -> set[int]:
        """The places of observations whose code has changed since; `roots` tells where projects lie."""
        by_place = self.store.anchors([row.place for row in observations])
        return {
            row.place
            for row in observations
            if row.project_id in roots and anchors.changed(by_place.get(row.place, ()), roots[row.project_id])
        }


def _kind_of(draft: Draft, kept: Clean) -> tuple[str, float | None]:
    """The kind of a draft and how sure that is: as given, otherwise judged by what it says."""
    if draft.kind:
        return draft.kind, draft.score
    from deltos.domains.memory.kinds import judge  # deferred: reads its word classes, and most drafts have a kind

    judgement = judge(kept)
    if judgement.kind in _LASTING:
        return judgement.kind, round(judgement.score, 2)
    # Who asks to keep a sentence that begins so states a rule; among what is overheard it may be about one task.
    return ("preference" if kept.lower().startswith(_RULE_OPENINGS) else "finding"), None


def _has_word_of(query: str, row: Observation) -> bool:
    """Whether an observation itself has a word of a query: its neighbours and its meaning do not count."""
    text = " ".join((row.text, row.source, *row.files)).casefold()
    words = (word.strip(".,;:!?()'\"").casefold() for word in query.split())
    return any(word in text for word in words if len(word) > 2 or not word.isascii())


def _is_chosen(row: Observation, choice: Choice) -> bool:
    return (
        row.deleted_at is None
        and (not choice.query or _has_word_of(choice.query, row))
        and choice.kind in ("", row.kind)
        and choice.session_id in ("", row.session_id)
        and (choice.since is None or row.created_at >= choice.since)
        and (choice.until is None or row.created_at < choice.until)
    )


def folder_of(origin: ObservationOrigin) -> str:
    """The folder of its repository that an origin is in; the top where nothing tells."""
    if origin.folder is not None:
        return origin.folder
    return "" if origin.root is None else folder_in_checkout(origin.root.resolve())


def _refuse_hidden(lookup: ObservationLookup, writer: ObservationsWriter) -> None:
    """Raise where one of the observations was superseded or forgotten: a pin would show it nowhere."""
    for row in lookup.found:
        if row.superseded_by is not None:
            raise BadArgument(
                f"{shown_id(row.id)} was superseded by {shown_id(row.superseded_by)}, which answers in its place",
                hint="Pin that one, or restore this one first.",
            )
    for given in lookup.unknown:
        rows = [row for one in possible_ids(storable(given)) for row in writer.with_id(one)]
        if any(_may_recall(row) for row in rows):
            raise BadArgument(f"{given[:100]} was forgotten: no answer shows it", hint="Restore it first.")


def _may_recall(row: Observation) -> bool:
    return may_recall(row.project_id, row.folder)


def as_stored(origin: ObservationOrigin) -> ObservationOrigin:
    """An origin with its names as they are kept: without what is certainly a secret."""
    session_id = None if origin.session_id is None else redact_name(storable(origin.session_id))
    return origin._replace(
        project_id=redact_name(storable(origin.project_id)),
        session_id=session_id,
        agent=redact_name(storable(origin.agent)),
    )


def words_of_names(text: Clean, files: Sequence[Clean]) -> Clean:
    """The words inside the identifiers of a text and of its files' paths, and those of scripts without spaces, for the
    word index."""
    names = words_inside([*names_in_prose(text), *files])
    return Clean(" ".join((names, *unspaced_words(text))).strip())
