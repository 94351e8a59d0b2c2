"""The read path of code search: parse the query → match → rank → choose chunks → read the lines as they are now."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.choose import Ranked, chosen_chunks, lines_held
from deltos.domains.code.excerpt import definition_asked
from deltos.domains.code.features import FEATURES
from deltos.domains.code.match import (
    KEPT_FILES,
    MOST_BY_WORDS,
    NAME_CANDIDATES,
    Corpus,
    Evidence,
    chunks_like,
    described,
    gather,
    is_narrowed,
)
from deltos.domains.code.mentioned import judge_by_issue, located
from deltos.domains.code.message import (
    Message,
    fixed_words,
    messages_in,
    stated_in,
    stems_beside,
    told_message,
    windows,
)
from deltos.domains.code.model import CodeAnswer, CodeHit
from deltos.domains.code.neighbours import with_neighbours
from deltos.domains.code.parts import parts_of
from deltos.domains.code.paths import is_aside, is_changelog, is_prose
from deltos.domains.code.query import MAX_TERMS, CodeQuery, parse_query
from deltos.domains.code.scan import AnyOf, Finder, InOrder, LinePattern, Literal, ScanReport, scan
from deltos.domains.code.source import SourceReader
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.text.counts import counted
from deltos.text.english import own_words_count
from deltos.text.near_names import names_like
from deltos.text.words import plain_words, shared_words, unique
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deltos.domains.code.features import CandidateFile
    from deltos.domains.code.match import Gathered
    from deltos.isolated.process import Workers
    from deltos.ranking import LinearRanker
    from deltos.store.code import Code, DefinitionRecord
    from deltos.store.history import FileHistory
    from deltos.store.project import ProjectStore

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# Results with less than this share of the best confidence are noise; beside a name that was found, the bar is higher.
_LEAST_SHARE, _LEAST_SHARE_BESIDE_NAME = 0.05, 0.1
# Tests and prose come after code with at least this share of their confidence: 0.9 instead of 1.5 of ten results are
# such, and NDCG@10 of 535 questions is 0.707 instead of 0.705.
_TEST_SHARE, _PROSE_SHARE = 0.4, 0.3
MAX_RESULTS = 50
_SUGGESTED_FROM = 50_000
_SUGGESTIONS = 3
# Below, the first result is right one time in four: benchmarks/RESULTS.md, "What an answer costs".
WEAK_CONFIDENCE = 0.3
_TRANSLATION_CHARACTERS = 160
_MOST_UNKNOWN = 6
_SHOWN_CHARACTERS = 100
_TEXTLESS_REASONS = frozenset(("binary", "empty"))
_MOST_PASSED_OVER = 3
_FILES_NAMED = 3  # files told of those that a query names
# Chunks that are read for a message: the first that have words of it side by side, of those that share most of them.
_MESSAGE_CHUNKS, _LIKELY_CHUNKS = 40, 200
_FEW_CHUNKS, _FEW_LIKELY = 10, 80  # where only the code can say that it is a message
_MESSAGE_PROJECTS = 12  # of many, in which a message is looked for: those that have most of its words
_MOST_CHUNKS_WITH_WORD = 200  # of a project, whose files alone are read for a message
_MOST_STATEMENTS, _LINES_AROUND = 500, 5  # lines looked at that may state it, and of those before and after each
_STATEMENT_SECONDS = 1.0  # for all files
_HITS_OF_PART = 5  # of a question that is one of two in a query
_MOST_STATED = 2  # places of a message that come before stack frames


@dataclass(frozen=True, slots=True)
class SearchedProject:
    """A project whose code is searched; `name` tells it from others in one answer, `project_id` everywhere. Both are
    empty where it is alone."""

    store: ProjectStore
    root: Path
    workers: Workers | None = None
    name: str = ""
    project_id: str = ""


@dataclass(frozen=True, slots=True)
class _MatchedFile:
    """The lines of a file that match exactly; `corpus` is the position of its project among those searched."""

    corpus: int
    file_id: int
    path: str
    lines: Sequence[int]


@dataclass(slots=True)
class _Scanned:
    """What an exact search found: in how many files it looked, of how many, and what is to be said of it."""

    files: list[_MatchedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: int = 0
    known: int = 0
    is_stopped: bool = False


def _files_with(code: Code, words: Sequence[str], scope: FileScope) -> set[int] | None:
    """The files with the rarest of some words; none where a word stands nowhere, None where too many have it."""
    counts = code.document_frequencies(words)
    if len(counts) < len(words):
        return set()
    rarest = min(counts, key=counts.__getitem__)
    found = code.match_chunks([rarest], [], scope, limit=_MOST_CHUNKS_WITH_WORD)
    return {match.file_id for match in found} if len(found) < _MOST_CHUNKS_WITH_WORD else None


def _inner_words(texts: Iterable[str]) -> list[str]:
    """The index words of texts but for the first and last word of each, which may go on in the code."""
    return unique(word for text in texts for word in shared_words().of(" ".join(text.split()[1:-1])).split())


def _may_raise(path: str) -> bool:
    """Whether what a file has as text may be a message that people see: prose and tests only repeat it."""
    return not is_prose(path) and not is_test(path)


class CodeSearch:
    """Searches the code of a project, or of several as if they were one."""

    def __init__(
        self,
        store: ProjectStore,
        root: Path,
        ranker: LinearRanker | None = None,
        *,
        workers: Workers | None = None,
        by_meaning: bool = True,
    ) -> None:
        self._projects: Sequence[SearchedProject] = (SearchedProject(store, root, workers),)
        self._by_meaning = by_meaning
        self._ranker = ranker or load_ranker(WEIGHTS_FILE, FEATURES)

    @classmethod
    def over(cls, projects: Sequence[SearchedProject], *, by_meaning: bool = True) -> CodeSearch:
        """A search over several projects, at least one."""
        first = projects[0]
        search = cls(first.store, first.root, workers=first.workers, by_meaning=by_meaning)
        search._projects = tuple(projects)
        return search

    def search(
        self, text: str, scope: FileScope | None = None, *, limit: int = 10, every_line: bool = True
    ) -> CodeAnswer:
        """The best chunks for a query, one per file first; what matches exactly by lines, or else by chunks as well."""
        query = parse_query(text, shared_words())
        scope = scope or FileScope()
        with ExitStack() as snapshots:
            for project in self._projects:
                snapshots.enter_context(project.store.code.snapshot())
            if query.kind in ("literal", "pattern"):
                return self._search_exactly(query, scope, limit=limit, every_line=every_line)
            if query.frames and (frames := self._frames(query, scope)):
                return self._search_frames(query, frames, scope, text, limit=limit)
            answer = self._search_by_words(query, scope, limit=limit)
            found = self._message(text, query, scope, answer)
            if stated := self._search_stated(found, scope, limit=limit, every_line=every_line):
                return stated
            parts = parts_of(text) if query.kind == "words" and not query.is_issue else []
            return self._with_parts(answer, parts, scope, limit=limit) if parts else answer

    def _message(self, text: str, query: CodeQuery, scope: FileScope, answer: CodeAnswer) -> tuple[str, ...]:
        """The parts of a message that the code has as text; empty where the query holds none."""
        if query.kind != "words" or query.is_issue:
            return ()
        found = [hit.content for hit in answer.hits if _may_raise(hit.path)]
        return next(filter(None, (self._parts(message, scope, found) for message in messages_in(text.strip()))), ())

    def _parts(self, message: Message, scope: FileScope, contents: Sequence[str] = ()) -> tuple[str, ...]:
        """The parts of a message that the code has as text.

        Further chunks are read where they have its words side by side; the files, where it is told as a message that
        was filled in, and those chunks do not have all of its text.
        """
        stated = stated_in(message, itertools.chain(contents, self._contents_like(message, scope)))
        if message.is_told and not stated.is_sure:
            further = stated_in(message, self._lines_with(windows(message), scope))
            stated = max(stated, further, key=lambda each: each.worth)
        return stated.parts

    def _lines_with(self, texts: Sequence[str], scope: FileScope) -> Iterator[str]:
        """The lines of code with one of the texts, and those around them: of the first files that have some."""
        left = _MOST_STATEMENTS
        for project in self._projects if texts and len(self._projects) == 1 else ():  # many take too long to read
            paths = [path for _, path in project.store.code.paths(scope) if _may_raise(path)]
            with SourceReader(project.root, project.store, project.workers) as reader:
                for matches in scan(
                    project.root, paths, AnyOf(texts), ScanReport(), project.store, seconds=_STATEMENT_SECONDS
                ):
                    lines = reader.lines(matches.path) or []
                    for number in matches.lines[:left]:
                        yield "\n".join(lines[max(0, number - 1 - _LINES_AROUND) : number + _LINES_AROUND])
                    left -= len(matches.lines)
                    if left <= 0:
                        return

    def _contents_like(self, message: Message, scope: FileScope) -> Iterator[str]:
        """What the chunks say that have words of a message side by side, of code that may raise it."""
        query = parse_query(fixed_words(message), shared_words(), exact=False)
        beside = stems_beside(message)
        most, of = (_MESSAGE_CHUNKS, _LIKELY_CHUNKS) if message.is_told else (_FEW_CHUNKS, _FEW_LIKELY)
        of //= min(len(self._projects), _MESSAGE_PROJECTS)
        is_worth = bool(beside) and (message.is_told or len(self._projects) == 1)  # among many it would cost too much
        for project in self._likeliest_projects(query.terms) if is_worth else ():
            store = project.store.code
            likely = chunks_like(store, query, scope, limit=of)
            bodies = {each: f" {words.body} " for each, words in store.chunk_words(likely).items()}
            having = [each for each in likely if any(stems in bodies.get(each, "") for stems in beside)]
            chunks = store.chunks(having) if having else {}
            raising = [chunks[each] for each in having if each in chunks and _may_raise(chunks[each].path)]
            with SourceReader(project.root, project.store, project.workers) as reader:
                yield from (hit.content for chunk in raising[:most] if (hit := reader.hit(chunk, 1.0)))

    def _likeliest_projects(self, terms: Sequence[str]) -> Sequence[SearchedProject]:
        """The projects that have most of some words, by how few of the others have each."""
        if len(self._projects) <= _MESSAGE_PROJECTS:
            return self._projects
        known = [frozenset(project.store.code.document_frequencies(terms)) for project in self._projects]
        having = Counter(itertools.chain.from_iterable(known))
        worth = [math.fsum(math.log(1 + len(known) / having[term]) for term in words) for words in known]
        best = sorted(range(len(known)), key=lambda number: -worth[number])[:_MESSAGE_PROJECTS]
        return [self._projects[number] for number in best]

    def _search_stated(
        self, parts: tuple[str, ...], scope: FileScope, *, limit: int, every_line: bool
    ) -> CodeAnswer | None:
        """Where the parts of a message stand together; None where they do not."""
        words = _inner_words(parts)
        if not parts or (len(self._projects) > _MESSAGE_PROJECTS and not words):  # every file of all would be read
            return None
        query = CodeQuery(max(parts, key=len), "literal")
        scanned = self._scan(InOrder(parts), scope, every_line=every_line, words=words)
        return replace(self._by_lines(query, scanned, limit=limit), is_message=True) if scanned.files else None

    def _frames(self, query: CodeQuery, scope: FileScope) -> list[Ranked]:
        """The frames of a stack trace that lie in the projects."""
        found: list[Ranked] = []
        for number, project in enumerate(self._projects):
            with SourceReader(project.root, project.store, project.workers) as reader:
                places = located(project.store.code, query.frames, scope, reader.lines)
            for file_id, place in places:
                chunks = project.store.code.chunks_at(file_id, [place.line])[:1]
                found += [Ranked(chunk, 1.0, place.line, corpus=number) for chunk in chunks]
        return list(dict.fromkeys(found))

    def _search_frames(
        self, query: CodeQuery, frames: list[Ranked], scope: FileScope, text: str, *, limit: int
    ) -> CodeAnswer:
        """The message and the frames, then what the rest of the query finds; of a place alone, nothing else."""
        stated = [] if query.is_place else self._stated(text, scope)
        frames = [*stated, *(each for each in frames if each.chunk not in [first.chunk for first in stated])]
        hits, gone = self._read(frames, query, limit=limit)
        found = CodeAnswer(query, tuple(hits), len(frames) - gone)
        if query.is_place and hits:
            return found
        others = self._search_by_words(query, scope, limit=limit)
        known = {(self._projects[ranked.corpus].name, ranked.chunk.id) for ranked in frames}
        new = [hit for hit in others.hits if _key(hit) not in known]
        total = found.total + others.total - (len(others.hits) - len(new))
        return replace(others, hits=(*hits, *new)[:limit], total=total)

    def _stated(self, text: str, scope: FileScope) -> list[Ranked]:
        """Where the code, and no test of it, has a message that is told beside stack frames."""
        for message in messages_in(text.strip()):
            if parts := self._parts(message, scope) if message.is_told else ():
                files = self._scan(InOrder(parts), scope, every_line=False, words=_inner_words(parts)).files
                raising = [file for file in files if not any(_exact_order(file.path))]
                return [*itertools.islice(self._one_line_per_file_first(raising), _MOST_STATED)]
        return []

    def _with_parts(self, answer: CodeAnswer, parts: Sequence[str], scope: FileScope, *, limit: int) -> CodeAnswer:
        """The answer to a question of two parts, with the best place for the one that its first hit does not answer:
        the one among whose own hits that is the last, or none."""
        if not answer.hits or limit < len(parts):
            return answer
        first = answer.hits[0]
        asked = [
            self._search_by_words(parse_query(part, shared_words(), exact=False), scope, limit=_HITS_OF_PART).hits
            for part in parts
        ]

        def place(hits: Sequence[CodeHit]) -> int:
            return next((number for number, hit in enumerate(hits) if hit.path == first.path), _HITS_OF_PART)

        # In doubt the first hit answers what was asked first.
        for hit in max(reversed(asked), key=place)[:1]:
            if _key(hit) != _key(first) and hit.score >= WEAK_CONFIDENCE:
                others = [other for other in answer.hits[1:] if _key(other) != _key(hit)]
                total = answer.total + (len(others) == len(answer.hits) - 1)
                return replace(answer, hits=(first, hit, *others)[:limit], total=total, leading=2)
        return answer

    def _search_by_words(
        self,
        query: CodeQuery,
        scope: FileScope,
        *,
        limit: int,
        notes: tuple[str, ...] = (),
        is_missing: bool = False,
    ) -> CodeAnswer:
        """What has the words of a query; `is_missing`: the notes say already that it is nowhere as it was written."""
        query = self._as_code_is(query)
        if query.in_english:
            notes = (*notes, f"Read in English as: {query.in_english[:_TRANSLATION_CHARACTERS]}")
        corpora = self._corpora(query)
        if is_narrowed(corpora, query):
            some = f"{MOST_BY_WORDS} of {len(corpora)} projects that have most of them"
            notes = (*notes, f"Note: words were looked for in the {some}; name a project to search it whole.")
        ranked, is_least = self._worth_showing(query, scope, corpora)
        chosen = self._files_first(chosen_chunks(corpora, ranked, query), query, scope)
        hits, gone = self._read(chosen, query, limit=limit)
        if not hits:
            searched = sum(project.store.code.file_count(scope) for project in self._projects)
            if not searched and all(project.store.facts().is_complete for project in self._projects):
                notes = (*notes, self._why_empty(scope))
            return CodeAnswer(
                query,
                (),
                0,
                files_searched=searched,
                notes=notes,
                suggestions=self._suggest(query),
                passed_over=self._passed_over(scope),
            )
        is_defined = any(candidate.definitions for candidate, _ in ranked)
        if query.is_name and not is_defined:
            notes = (*notes, *self._undefined(query, scope, is_said=is_missing))
        unknown = self._unknown_words(query, corpora) if hits[0].score < WEAK_CONFIDENCE else ()
        return CodeAnswer(
            query,
            tuple(hits),
            len(chosen) - gone,
            is_least,
            notes=notes,
            is_definition=query.kind == "symbol" and bool(ranked) and bool(ranked[0][0].definitions),
            unknown=unknown,
            passed_over=self._passed_over(scope) if unknown else "",
        )

    def _as_code_is(self, query: CodeQuery) -> CodeQuery:
        """A question of another language in English, and in its own words where the code is of that language."""
        if not query.spoken:
            return query
        if query.kind == "symbol" and any(
            project.store.code.definitions_named(query.names, FileScope(), limit=1) for project in self._projects
        ):
            return replace(query, terms=query.spoken, in_english="", spoken=())  # a name, whatever it means elsewhere
        frequencies: Counter[str] = Counter()
        for project in self._projects:
            frequencies.update(project.store.code.document_frequencies([*query.spoken, *query.terms]))
        if not own_words_count(query.spoken, query.terms, frequencies):
            return query
        return replace(query, terms=tuple(unique([*query.terms, *query.spoken])[:MAX_TERMS]))

    def _files_first(self, chosen: list[Ranked], query: CodeQuery, scope: FileScope) -> list[Ranked]:
        """The beginnings of the files that the query names, where it names some, before what was chosen."""
        if not query.is_name or "." not in query.text:
            return chosen
        named = [
            Ranked(chunk, 1.0, corpus=number)
            for number, file_id, _ in self._files_named(query.text, scope)[:_FILES_NAMED]
            for chunk in self._projects[number].store.code.first_chunk(file_id)
        ]
        known = {(each.corpus, each.chunk.id) for each in named}
        return [*named, *(each for each in chosen if (each.corpus, each.chunk.id) not in known)]

    def _undefined(self, query: CodeQuery, scope: FileScope, *, is_said: bool) -> list[str]:
        """What is said of a name that nothing in scope has: it is a file, it is defined elsewhere, or near names.
        `is_said`: not that it has none."""
        shown = query.text[:_SHOWN_CHARACTERS]
        if files := self._files_named(query.text, scope):
            paths = ", ".join(path for _, _, path in files[:_FILES_NAMED])
            return [f"Note: {shown} is a file: {paths}{' …' if len(files) > _FILES_NAMED else ''}"]
        inside = f" below {scope.folder}" if scope.folder else ""
        inside += f" in {' or '.join(scope.suffixes)}" if scope.suffixes else ""
        elsewhere = self._defined_at(query) if inside else []
        near = [] if elsewhere else [name for name in self._suggest(query) if name != query.text]
        nothing = f"Note: nothing named {shown} is defined {inside.strip() or 'here'}; closest by words:"
        notes = [] if is_said else [nothing]
        if elsewhere:
            notes.append(f"Defined elsewhere: {', '.join(elsewhere)}.")
        return [*notes, f"Near names: {', '.join(near)}."] if near else notes

    def _defined_at(self, query: CodeQuery) -> list[str]:
        """Where the projects define a name, wherever in them."""
        places: list[str] = []
        for project in self._projects:
            found = project.store.code.definitions_named(query.names, FileScope(), limit=_FILES_NAMED)
            paths = {file.id: file.path for file in project.store.code.files([file_id for file_id, _ in found])}
            places += [f"{paths[file_id]}:{definition.line}" for file_id, definition in found if file_id in paths]
        return places[:_FILES_NAMED]

    def _files_named(self, name: str, scope: FileScope) -> list[tuple[int, int, str]]:
        """The files that a name, or the end of a path, means: the position of the project, the file's id and path."""
        meant = f"/{name.strip('/')}"
        return [
            (number, file_id, path)
            for number, project in enumerate(self._projects)
            for file_id, path in project.store.code.paths(scope)
            if f"/{path}".endswith(meant)
        ]

    def _corpora(self, query: CodeQuery) -> list[Corpus]:
        """What is searched of each project. Meaning is not asked where a name is meant that one of them has."""
        first, *others = [project.store.code for project in self._projects]
        if others:
            first.look_ahead(others, [*query.terms, *query.joined], query.names, limit=NAME_CANDIDATES)
        is_named = query.kind == "symbol" and any(
            project.store.code.definitions_named(query.names, FileScope(), limit=NAME_CANDIDATES)  # asked again below
            for project in self._projects
        )
        found = []
        for project in self._projects:
            store, history = project.store.code, project.store.history
            evidence = Evidence(history=history)
            if self._by_meaning and not is_named:
                evidence = _evidence_by_meaning(store, history, query, is_alone=not others)
            found.append(Corpus(store, replace(evidence, imports=project.store.graph)))
        return found

    @staticmethod
    def _unknown_words(query: CodeQuery, corpora: Sequence[Corpus]) -> tuple[str, ...]:
        """The words of a query that stand in no file, as they were written."""
        missing = set(query.terms).difference(*(corpus.statistics(query).frequencies for corpus in corpora))
        words = shared_words()
        asked = plain_words(query.in_english or query.text)
        spoken = [word for word in asked if missing.intersection(words.of(word).split())]
        return tuple(unique(word.lower() for word in spoken)[:_MOST_UNKNOWN])

    def _worth_showing(
        self, query: CodeQuery, scope: FileScope, corpora: Sequence[Corpus]
    ) -> tuple[list[tuple[CandidateFile, float]], bool]:
        """The files that are worth their tokens, whatever the limit, and whether there may be more of them."""
        ranked: list[tuple[CandidateFile, float]] = []
        gathered = gather(corpora, query, scope)
        for wanted in (KEPT_FILES, MAX_RESULTS):
            every = rank_across(gathered, corpora, query, scope, self._ranker, at_least=wanted)
            ranked = _code_first(_worthwhile(every, query), query)
            # The likeliest files are described first: where some of them are not worth showing, no other one is.
            if len(every) < wanted or len(ranked) < len(every):
                return ranked, False
        return ranked, True

    def _search_exactly(self, query: CodeQuery, scope: FileScope, *, limit: int, every_line: bool) -> CodeAnswer:
        """The lines on which a text stands or a pattern matches: code first, and one line of each file first."""
        finder: Finder = Literal(query.text) if query.kind == "literal" else LinePattern(query.text)
        scanned = self._scan(finder, scope, every_line=every_line)
        if scanned.files:
            return self._by_lines(query, scanned, limit=limit)
        shown = repr(query.text[:_SHOWN_CHARACTERS])
        where = f"{counted(scanned.read, 'file')}{self._passed_over(scope)}"
        missing = f"No exact match for {query.kind} {shown} in {where};"
        flat = " ".join(query.text.split())
        if query.kind == "literal" and len(flat.split()) > 1:
            parts = self._parts(told_message(flat), scope)
            if stated := self._search_stated(parts, scope, limit=limit, every_line=every_line):
                return stated.with_notes((*scanned.notes, f"{missing} as a message that was filled in:"))
        words = parse_query(flat + " ", shared_words(), exact=False)
        notes = (*scanned.notes, f"{missing} closest by words:")
        return self._search_by_words(words, scope, limit=limit, notes=notes, is_missing=True)

    def _by_lines(self, query: CodeQuery, scanned: _Scanned, *, limit: int) -> CodeAnswer:
        """The answer made of lines that were found."""
        hits, gone = self._read(self._one_line_per_file_first(scanned.files), query, limit=limit)
        total = sum(len(file.lines) for file in scanned.files) - gone
        return CodeAnswer(query, tuple(hits), total, scanned.is_stopped, scanned.known, tuple(scanned.notes))

    def _scan(self, finder: Finder, scope: FileScope, *, every_line: bool, words: Sequence[str] = ()) -> _Scanned:
        """The files with a match, code first; of each every line with one, or the first of each chunk. Of several
        projects files are read that may have all of the index words."""
        scanned = _Scanned()
        unshown = 0
        for number, project in enumerate(self._projects):
            report, code = ScanReport(), project.store.code
            scanned.known += (known := code.file_count(scope))
            held = _files_with(code, words, scope) if len(self._projects) > 1 and words else None
            if not known or held == set():
                continue
            ids = {path: file_id for file_id, path in code.paths(scope)}
            among = ids if held is None else {path: each for path, each in ids.items() if each in held}
            order = sorted(among, key=lambda path: (*_exact_order(path), path))
            for matches in scan(project.root, order, finder, report, project.store):
                chunks = code.chunks_of_file(ids[matches.path])
                lines = lines_held(chunks, matches.lines, one_per_chunk=not every_line)
                unshown += len(matches.lines) - len(lines) if every_line else 0
                scanned.files += [_MatchedFile(number, ids[matches.path], matches.path, lines)] if lines else []
            scanned.read += report.files
            if not report.complete:
                scanned.is_stopped = True
                where = f" of {project.name}" if project.name else ""
                scanned.notes.append(f"Note: stopped after {report.files}/{known} files{where}; narrow by directory.")
        if unshown:
            more = counted(unshown, "more matching line")
            scanned.notes.append(f"Note: {more} not shown: blank, or written after the file was indexed.")
        if len(self._projects) > 1:
            scanned.files.sort(key=lambda file: _exact_order(file.path))
        return scanned

    def _one_line_per_file_first(self, found: Sequence[_MatchedFile]) -> Iterator[Ranked]:
        """The first matching line of each file, then the second of each, with the chunks that hold them."""
        for turn in itertools.count():
            found = [file for file in found if len(file.lines) > turn]
            if not found:
                return
            for file in found:
                line = file.lines[turn]
                for chunk in self._projects[file.corpus].store.code.chunks_at(file.file_id, [line])[:1]:
                    yield Ranked(chunk, 1.0, line, corpus=file.corpus)

    def _passed_over(self, scope: FileScope) -> str:
        """How many files of the scope that may hold text are not in the index, and why; empty where there are none."""
        skipped = [
            file
            for project in self._projects
            for file in project.store.skipped().values()
            if file.reason not in _TEXTLESS_REASONS and scope.holds(file.path)
        ]
        if not skipped:
            return ""
        reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(file.reason for file in skipped).items())
        large = [file.path for file in skipped if file.reason == "too large"][:_MOST_PASSED_OVER]
        named = f": {', '.join(large)}" if large else ""
        return f" (not searched: {reasons}{named})"

    def _read(self, chosen: Iterable[Ranked], query: CodeQuery, *, limit: int) -> tuple[list[CodeHit], int]:
        """The first of the chosen chunks with their lines from disk, and how many were left out as they are gone."""
        found: list[tuple[Ranked, CodeHit]] = []
        gone = 0
        with ExitStack() as opened:
            readers: dict[int, SourceReader] = {}
            for ranked in chosen:
                if len(found) >= limit:
                    break
                project = self._projects[ranked.corpus]
                if ranked.corpus not in readers:
                    reader = SourceReader(project.root, project.store, project.workers)
                    readers[ranked.corpus] = opened.enter_context(reader)
                if hit := readers[ranked.corpus].hit(ranked.chunk, ranked.confidence):
                    own, by = project.project_id, ranked.found_by
                    found.append((ranked, replace(hit, repository=project.name, project_id=own, found_by=by)))
                else:
                    gone += 1
        return self._named(found, query), gone

    def _named(self, found: Sequence[tuple[Ranked, CodeHit]], query: CodeQuery) -> list[CodeHit]:
        """The hits, each named for the definition in it that was asked for; those in changed files keep their names."""
        named: dict[int, CodeHit] = {}
        for number in dict.fromkeys(ranked.corpus for ranked, _ in found):
            here = [(place, *pair) for place, pair in enumerate(found) if pair[0].corpus == number]
            ranges = [(ranked.chunk.file_id, hit.start_line, hit.end_line) for _, ranked, hit in here]
            inside_each = self._projects[number].store.code.definitions_in(ranges)
            for (place, ranked, hit), inside in zip(here, inside_each, strict=True):
                is_same = hit.start_line == ranked.chunk.start_line
                named[place] = _named(hit, ranked.line, inside, query) if is_same else hit
        return [named[place] for place in range(len(found))]

    def _suggest(self, query: CodeQuery) -> tuple[str, ...]:
        names = [
            name
            for project in self._projects
            for name in project.store.code.defined_names(limit=_SUGGESTED_FROM // len(self._projects))
        ]
        return tuple(names_like(query.text, list(dict.fromkeys(names)), limit=_SUGGESTIONS))

    def _why_empty(self, scope: FileScope) -> str:
        """What a search with no files to look into should have known."""
        totals = [project.store.totals() for project in self._projects]
        if scope.folder or scope.suffixes:
            where = f" below {scope.folder}" if scope.folder else ""
            kind = f" that ends in {' or '.join(scope.suffixes)}" if scope.suffixes else ""
            known = _told(each.languages for each in totals) or "no source"
            whose = "the project has" if len(self._projects) == 1 else "the projects have"
            return f"Note: no indexed file{where}{kind}; {whose} {known}."
        skipped = _told(each.skipped for each in totals) or "nothing"
        return f"Note: nothing in this project could be indexed; skipped: {skipped}."


def _told(numbers: Iterable[Mapping[str, int]]) -> str:
    """Counts of several projects together, most first."""
    total: Counter[str] = Counter()
    for each in numbers:
        total.update(each)
    return ", ".join(f"{name} {count}" for name, count in total.most_common())


def _key(hit: CodeHit) -> tuple[str, int]:
    """What tells a chunk from those of all projects."""
    return hit.repository, hit.chunk_id


def _exact_order(path: str) -> tuple[bool, bool, bool]:
    """Code first, then what lies aside, tests and prose."""
    return is_prose(path) or is_changelog(path), is_test(path), is_aside(path)


def _named(hit: CodeHit, line: int, inside: Sequence[DefinitionRecord], query: CodeQuery) -> CodeHit:
    """The hit named for one of the definitions inside: the innermost around a line, or the one that answers."""
    if line:
        around = [definition for definition in inside if definition.line <= line <= definition.end_line]
        if query.frames:  # a field says little of the code around it
            around = [definition for definition in around if definition.kind != "variable"]
        return replace(_called(hit, around[-1]) if around else hit, line=line)
    asked = definition_asked(hit, inside, query)
    if asked is None:
        asked = next((definition for definition in inside if _qualified(definition) == hit.symbol), None)
    return _called(hit, asked) if asked else hit


def _called(hit: CodeHit, definition: DefinitionRecord) -> CodeHit:
    return replace(
        hit,
        symbol=_qualified(definition),
        kind=definition.kind,
        head_line=definition.line,
        tail_line=definition.end_line,
    )


def _qualified(definition: DefinitionRecord) -> str:
    return f"{definition.container}.{definition.name}" if definition.container else definition.name


def evidence_for(store: Code, history: FileHistory | None, query: CodeQuery, *, by_meaning: bool = True) -> Evidence:
    """What speaks for files of one project beside their words. Meaning is not asked where a name is meant that there
    is."""
    if not by_meaning or (query.kind == "symbol" and store.definitions_named(query.names, FileScope(), limit=1)):
        return Evidence(history=history)
    return _evidence_by_meaning(store, history, query, is_alone=True)


def _evidence_by_meaning(
    store: Code, history: FileHistory | None, query: CodeQuery, *, is_alone: bool = False
) -> Evidence:
    """What is near in meaning; of one project alone as it was read, of several as sums of words, which compare."""
    from deltos.domains.code.commits import commits_like  # deferred: numpy and the model take a while to open
    from deltos.domains.code.near import near_chunks

    question = (query.in_english or query.text) if is_alone else ""
    near = near_chunks(store).similarities(store, query.terms, question)
    return Evidence(near, history, commits_like(history, query.terms) if history else None)


def rank_across(
    gathered: Gathered,
    corpora: Sequence[Corpus],
    query: CodeQuery,
    scope: FileScope,
    ranker: LinearRanker,
    *,
    at_least: int,
) -> list[tuple[CandidateFile, float]]:
    """Files that may answer the query, best first, each with its confidence."""
    candidates, rows = described(gathered, corpora, query, at_least=at_least)
    scored = list(zip(candidates, ranker.scores(rows), strict=True))
    if query.is_issue:
        scored = [
            pair
            for number, corpus in enumerate(corpora)
            for pair in _judged(corpus, number, [pair for pair in scored if pair[0].corpus == number], query, scope)
        ]
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    return [(candidate, ranker.confidence(score)) for candidate, score in ordered]


def _judged(
    corpus: Corpus, number: int, scored: list[tuple[CandidateFile, float]], query: CodeQuery, scope: FileScope
) -> list[tuple[CandidateFile, float]]:
    """The candidates of one project as an issue has them, and what they say for each other."""
    judged = judge_by_issue(corpus.store, scored, query, scope)
    for candidate, _ in judged:
        candidate.corpus = number
    return with_neighbours(judged, corpus.evidence.history, corpus.evidence.imports) if judged else []


def _worthwhile(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """The files that are worth their tokens."""
    share = _LEAST_SHARE_BESIDE_NAME if query.kind == "symbol" else _LEAST_SHARE
    best = max((confidence for _, confidence in ranked), default=0.0)
    return [(candidate, confidence) for candidate, confidence in ranked if confidence >= best * share]


def _code_first(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """Tests after code of similar confidence, and prose after tests, unless the query asks for them; prose that says
    what no code says keeps its place, but where a name is asked for, headings come after the code that defines it.
    Where somebody asks how to do something, code comes after prose."""

    def order(pair: tuple[CandidateFile, float]) -> tuple[bool, float]:
        candidate, confidence = pair
        path = candidate.file.path
        if is_prose(path):
            share = 1.0 if query.about_prose else 1 - (1 - _PROSE_SHARE) * candidate.prose_penalty
            return False, confidence * share
        share = _TEST_SHARE if is_test(path) and not query.about_tests else 1.0
        is_defined = query.kind == "symbol" and any(each.name in query.names for each in candidate.definitions)
        return is_defined, confidence * share * (_PROSE_SHARE if query.asks_how else 1.0)

    return sorted(ranked, key=order, reverse=True)
