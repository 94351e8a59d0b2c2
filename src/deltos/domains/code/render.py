"""Code answers as text and as data, which share one token budget and say the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN, MAX_ANSWER_CHARACTERS, characters_for, shown_of
from deltos.confinement import told
from deltos.domains.code.excerpt import excerpt, tell
from deltos.domains.code.search import MAX_RESULTS, WEAK_CONFIDENCE
from deltos.domains.code.spot import spot_of
from deltos.excerpts import nothing_shown
from deltos.model import COMMITS_MARK, NEAR_MARK
from deltos.text.counts import counted
from deltos.tool import Answer, JsonObject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deltos.domains.code.model import CodeAnswer, CodeHit
    from deltos.excerpts import ShownBefore

EXCERPT_CHARACTERS = 2_000  # of the code that is shown; of a longer definition, the lines around the answer
# The same by the confidence of the best hit: where it is likely not what was asked for, and where it surely is.
_UNSURE_CHARACTERS, _SURE_CHARACTERS = 1_000, 1_600
MESSAGE_CHARACTERS = 600  # of the lines around a message: where it is raised is what was asked for
LINE_CHARACTERS = 180  # of a hit that is told in one line, without its place and name
CONCISE_CHARACTERS = 200  # of a line of a concise answer; what a literal or a pattern found is shown up to that
# A concise answer is half as long as the full one: the first hits get as much of that as they can use, the others less.
_CONCISE_STEPS = (120, 80, 60, 40, 25)
_BY_BUDGET = "the token budget is full: narrow the query or set concise"
_BY_LIMIT = "raise limit for more"
_AT_MOST = "the most at a time: narrow the query, directory or file_type"
_ROOM_FOR_CUT = 220  # the line that tells of a cut, in the text and in the data
_LEAST_CONTENT = 40
# What a hit that has hardly a word of the query was found by: in the text, and as a field of the data.
_MARKS = {"words": "", "meaning": f" {NEAR_MARK}", "commits": f" {COMMITS_MARK}"}
_FIELDS = {"meaning": "near_in_meaning", "commits": "by_commits"}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A hit as the text shows it, and the same as data."""

    block: str
    data: JsonObject
    hit: CodeHit
    has_cut_line: bool = False

    @property
    def characters(self) -> int:
        """What it takes of the budget, in both forms."""
        return len(self.block) + len(json.dumps(self.data, ensure_ascii=False)) + 4


def render_hits(
    answer: CodeAnswer,
    *,
    query: str,
    project_id: str,
    database_name: str,
    latency_ms: int,
    concise: bool,
    token_budget: int,
    shown_before: ShownBefore | None = None,
    roots: Mapping[str, Path] | None = None,
) -> Answer:
    """The first hit with its code, the others a line each (all of them if concise), as text and the same as data.

    Code that was shown before is named, not repeated. `roots` are the folders of the projects by their names, where
    several were searched.
    """
    if not answer.hits:
        return _nothing_found(answer, query, project_id, latency_ms, len(roots or ()))
    known = shown_before or nothing_shown()
    notes = (*_whereabouts(answer, roots or {}), *answer.notes, *_weakness(answer))
    rest: JsonObject = {
        "notes": list(notes),
        "total_count": answer.total,
        "project_id": project_id,
        "database_name": database_name,
        "latency_ms": latency_ms,
        "truncated": False,
        "original_size_chars": 0,
    }
    if answer.total_is_least:
        rest["total_is_least"] = True
    if concise or not database_name:
        del rest["database_name"]
    frame = len(json.dumps(rest, ensure_ascii=False)) + sum(map(len, notes)) + _ROOM_FOR_CUT
    room = characters_for(token_budget) - frame
    every = _concise(answer, sum(map(len, notes)), frame) if concise else _in_full(answer, known)
    shown = _fitting(every, room)
    whole = every[0].characters <= room and not every[0].has_cut_line
    if not whole:
        shown = [every[0] if concise else _first_cut(answer, room)]
    if not concise and whole:
        with_code = [each.hit for each in shown[: answer.leading] if each.hit.content]
        known.note([(_id(hit), hit.content) for hit in with_code])
    truncated = not whole or len(shown) < len(every)
    if cut := _cut_line(len(shown), answer, by_budget=truncated):
        notes = (cut, *notes)
    text = "\n".join([*notes, *(each.block for each in shown)])
    original = sum(each.characters for each in every) + frame
    rest |= {"notes": list(notes), "truncated": truncated, "original_size_chars": original}
    return Answer(text, {"results": [each.data for each in shown], **rest}, truncated, original)


def render_text(answer: CodeAnswer, *, query: str, concise: bool) -> str:
    """The text of an answer alone, for a reader who scrolls: as long as an answer may be at all."""
    most = MAX_ANSWER_CHARACTERS // CHARACTERS_PER_TOKEN
    shown = render_hits(
        answer, query=query, project_id="", database_name="", latency_ms=0, concise=concise, token_budget=most
    )
    return shown.text


def _cut_line(shown: int, answer: CodeAnswer, *, by_budget: bool) -> str:
    """How much is shown of how much, and why not all; empty where all is."""
    is_all = shown == answer.total and (not answer.total_is_least or shown < MAX_RESULTS)
    if is_all and not by_budget:  # where the scan was stopped, a note of the answer says so
        return ""
    how = _BY_BUDGET if by_budget else (_BY_LIMIT if shown < MAX_RESULTS else _AT_MOST)
    noun = "lines" if answer.query.kind in ("literal", "pattern") else "results"
    return shown_of(shown, answer.total, noun, how, is_least=answer.total_is_least)


def _whereabouts(answer: CodeAnswer, roots: Mapping[str, Path]) -> tuple[str, ...]:
    """Where the projects lie whose hits are told, of how many that were searched."""
    if not roots:
        return ()
    named = dict.fromkeys(hit.repository for hit in answer.hits)
    places = ", ".join(f"[{name}] {told(str(roots[name]))}" for name in named)
    return (f"Searched {counted(len(roots), 'project')}; hits in {places}",)


def _weakness(answer: CodeAnswer) -> tuple[str, ...]:
    """A word about a best match that is weak, with what to try instead."""
    best = answer.hits[0].score
    if best >= WEAK_CONFIDENCE or answer.is_definition:
        return ()
    where = "any of these projects" if answer.hits[0].repository else "this project"
    unknown = f" Not in {where}{answer.passed_over}: {', '.join(answer.unknown)}." if answer.unknown else ""
    return (f"Note: a weak match: confidence {best:.2f} of 1.{unknown} Try other words, a name or grep.",)


def _in_full(answer: CodeAnswer, known: ShownBefore) -> list[_Shown]:
    """The leading hits with their code, unless the session knows it; the others in a line."""
    leading = answer.hits[: answer.leading]
    room = MESSAGE_CHARACTERS if answer.is_message else _excerpt_characters(answer)
    blocks = [_with_code(answer, hit, room // len(leading), known) for hit in leading]
    lines = [_in_a_line(answer, hit, LINE_CHARACTERS) for hit in answer.hits[answer.leading :]]
    followed = len(blocks) if lines else len(blocks) - 1
    blocks[:followed] = [replace(each, block=f"{each.block}\n") for each in blocks[:followed]]
    return [*blocks, *lines]


def _excerpt_characters(answer: CodeAnswer) -> int:
    """How much code is worth showing: the less likely the best hit is what was asked for, the less of it."""
    if answer.is_definition:
        return EXCERPT_CHARACTERS
    unsure = 1 - min(1.0, answer.hits[0].score)
    return round(_SURE_CHARACTERS - (_SURE_CHARACTERS - _UNSURE_CHARACTERS) * unsure)


def _with_code(
    answer: CodeAnswer, hit: CodeHit, characters: int, known: ShownBefore, *, with_context: bool = True
) -> _Shown:
    """A hit with the code that answers, or by its id alone where the session was shown that already."""
    part = excerpt(hit, answer.query, characters)
    shown = replace(
        hit,
        start_line=part.start_line,
        end_line=part.end_line,
        content=part.text,
        context_before=part.before if with_context else "",
        context_after=part.after if with_context else "",
    )
    if known.has(_id(shown), shown.content):
        shown = replace(shown, content="")
    is_one_of_several = answer.is_message and shown.start_line < shown.end_line
    line = hit.line if is_one_of_several else 0  # who asks where a message is raised wants that line
    return _Shown(_block(shown, line), _as_data(shown, with_context=True), shown, part.has_cut_line)


def _concise(answer: CodeAnswer, around_text: int, around_data: int) -> list[_Shown]:
    """Every hit in a line, half as long as the full answer if that can be, with so many characters around both."""
    full_text, full_data = _sizes(_in_full(answer, nothing_shown()))
    room_text, room_data = (full_text - around_text) // 2, (full_data - around_data) // 2
    shown = [_in_a_line(answer, hit, _CONCISE_STEPS[-1], concise=True) for hit in answer.hits]
    for number, hit in enumerate(answer.hits):
        for characters in _CONCISE_STEPS[:-1]:
            longer = [*shown[:number], _in_a_line(answer, hit, characters, concise=True), *shown[number + 1 :]]
            text, data = _sizes(longer)
            if number == 0 or (text <= room_text and data <= room_data):
                shown = longer
                break
    return shown


def _sizes(shown: Sequence[_Shown]) -> tuple[int, int]:
    """The characters of the text and of the data."""
    text = sum(len(each.block) for each in shown)
    return text, sum(each.characters for each in shown) - text


def _in_a_line(answer: CodeAnswer, hit: CodeHit, characters: int, *, concise: bool = False) -> _Shown:
    """A hit as its place, its name with what follows it in the header, and what answers."""
    telling = tell(hit, answer.query)
    place = f"{_repository(hit)}{hit.path}:{telling.line_number} {hit.symbol}"
    line = telling.line(max(characters, min(telling.least, CONCISE_CHARACTERS - len(place))))
    block = f"{place}{line}".replace("  ", " ") + _MARKS[hit.found_by]
    end = max(telling.line_number, hit.tail_line or hit.end_line)
    content = line.removeprefix(" — ")
    shown = replace(
        hit, start_line=telling.line_number, end_line=end, content=content, context_before="", context_after=""
    )
    if concise:  # two digits tell as much, and a concise answer is to be half as long
        shown = replace(shown, score=round(shown.score, 2))
    return _Shown(block, _as_data(shown, with_context=not concise), shown)


def _first_cut(answer: CodeAnswer, room: int) -> _Shown:
    """The first hit alone, of which only the lines around the answer fit."""
    characters = min(room // 2, EXCERPT_CHARACTERS)
    while True:
        shown = _with_code(answer, answer.hits[0], characters, nothing_shown(), with_context=False)
        if shown.characters <= room or characters <= _LEAST_CONTENT:
            return shown
        characters = max(_LEAST_CONTENT, characters * 4 // 5)


def _fitting(every: Sequence[_Shown], room: int) -> list[_Shown]:
    """As many as fit, in order."""
    shown = []
    for each in every:
        room -= each.characters
        if room < 0:
            break
        shown.append(each)
    return shown


def _nothing_found(answer: CodeAnswer, query: str, project_id: str, latency_ms: int, projects: int) -> Answer:
    near = f" Near names: {', '.join(answer.suggestions)}." if answer.suggestions else ""
    among = f" of {counted(projects, 'project')}" if projects else ""
    searched = f"Searched {counted(answer.files_searched, 'file')}{among}{answer.passed_over}.{near}"
    text = "\n".join([*answer.notes, f"No results found for query: {query[:200]}", searched])
    structured: JsonObject = {
        "results": [],
        "notes": [*answer.notes, searched],
        "total_count": 0,
        "project_id": project_id,
        "latency_ms": latency_ms,
        "truncated": False,
        "original_size_chars": len(text),
    }
    return Answer(text, structured)


def _id(hit: CodeHit) -> str:
    return spot_of(hit.path, hit.symbol, hit.start_line, hit.end_line, hit.project_id).id


def _repository(hit: CodeHit) -> str:
    return f"[{hit.repository}] " if hit.repository else ""


def _place(hit: CodeHit) -> str:
    return f"{_repository(hit)}{hit.path}:{hit.start_line}-{hit.end_line} {hit.symbol}".rstrip() + _MARKS[hit.found_by]


def _block(hit: CodeHit, line: int) -> str:
    """The code of a hit below its place, with the line that was asked for, if there is one."""
    place = f"{_place(hit)} (line {line})" if line else _place(hit)
    if not hit.content:
        return f"{place} (shown before in this session: {_id(hit)})"
    return f"{place}\n{hit.content}"


def _as_data(hit: CodeHit, *, with_context: bool) -> JsonObject:
    data: JsonObject = {
        **({"repository": hit.repository} if hit.repository else {}),
        "chunk_id": hit.chunk_id,
        "file_path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "symbol": hit.symbol,
        "content": hit.content,
        "similarity_score": hit.score,
    }
    if field := _FIELDS.get(hit.found_by):
        data[field] = True
    if not hit.content:
        return data | {"shown_before": _id(hit)}
    if with_context:
        data["context_before"] = hit.context_before
        data["context_after"] = hit.context_after
    return data
