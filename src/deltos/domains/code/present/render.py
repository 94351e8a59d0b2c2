"""Render the answers of code search as text and as structured data, which have the same content."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN, MAX_ANSWER_CHARACTERS, characters_for
from deltos.confinement import visible_location
from deltos.domains.code.code_ids import code_location
from deltos.domains.code.model import MAX_RESULTS
from deltos.domains.code.present.excerpt import excerpt, summarise_hit
from deltos.shown_excerpts import nothing_shown
from deltos.text.counts import counted
from deltos.tool import Answer, JsonObject
from deltos.wording import COMMITS_MARK, SEMANTIC_MATCH_MARK, truncated, weak_match

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deltos.domains.code.model import CodeAnswer, CodeHit
    from deltos.shown_excerpts import ShownBefore

EXCERPT_CHARACTERS = 2_000  # maximum length of a code excerpt; longer definitions are truncated around the best line

# Maximum length of an excerpt at confidence 0 and at confidence 1. A query for a name has longer excerpts.
_MIN_EXCERPT_CHARACTERS, _MAX_EXCERPT_CHARACTERS = 1_000, 1_600
MESSAGE_CHARACTERS = 600  # maximum length of an excerpt around an error message
LINE_CHARACTERS = 180  # maximum length of a one-line summary without location and name
CONCISE_CHARACTERS = 200  # maximum length of a line in a concise answer

# Line lengths of a concise answer, in the order in which they are tried until the answer is short enough.
_CONCISE_LINE_LENGTHS = (120, 80, 60, 40, 25)
_BUDGET_REACHED_HINT = "token budget reached: narrow the query or set concise"
_LIMIT_REACHED_HINT = "raise limit for more"
_MAX_LIMIT_REACHED_HINT = "maximum per call: narrow the query, directory or file_type"
_TRUNCATION_CHARACTERS = 220  # space reserved for the line about omitted results, in text and data
_MIN_CONTENT_CHARACTERS = 40
# Markers in the text, and field names in the data, for hits that were found by similarity or by commits.
_FOUND_BY_MARKS = {"words": "", "meaning": f" {SEMANTIC_MATCH_MARK}", "commits": f" {COMMITS_MARK}"}
_FOUND_BY_FIELDS = {"meaning": "near_in_meaning", "commits": "by_commits"}


@dataclass(frozen=True, slots=True)
class _RenderedHit:
    """A hit rendered as text and as structured data."""

    block: str
    data: JsonObject
    hit: CodeHit
    has_truncated_line: bool = False

    @property
    def characters(self) -> int:
        """Numbers of characters of the text and of the JSON data."""
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
    """Return the answer with the code of the first hit and one line for each other hit, or only lines if `concise`.

    `roots` maps project names to folders if several projects were searched.
    """
    if not answer.hits:
        return _render_empty(answer, query, project_id, latency_ms, len(roots or ()))
    known = shown_before or nothing_shown()
    notes = (*_projects_line(answer, roots or {}), *answer.notes, *_weak_match_note(answer))
    line = _truncation_line(len(answer.hits), answer, by_budget=False)
    text_notes = (line, *notes) if line else notes
    rest = _answer_data(answer, notes, project_id, database_name, latency_ms, concise=concise)
    notes_length = sum(map(len, text_notes))
    frame = len(json.dumps(rest, ensure_ascii=False)) + notes_length + _TRUNCATION_CHARACTERS
    budget = characters_for(token_budget) - frame
    all_hits = _render_concise(answer, notes_length, frame) if concise else _render_full(answer, known)
    is_first_whole = all_hits[0].characters <= budget and not all_hits[0].has_truncated_line
    if is_first_whole:
        rendered = _hits_within_budget(all_hits, budget)
    else:
        rendered = [all_hits[0] if concise else _truncate_first(answer, budget)]
    if not concise and is_first_whole:
        _note_shown_code(known, [each.hit for each in rendered[:1]])
    is_truncated = not is_first_whole or len(rendered) < len(all_hits)
    line = _truncation_line(len(rendered), answer, by_budget=is_truncated) or line
    text_notes = (line, *notes) if line else notes
    if not concise or is_truncated:  # the data of a complete concise answer has no notes
        rest["notes"] = list(text_notes)
    text = "\n".join([*text_notes, *(each.block for each in rendered)])
    original = sum(each.characters for each in all_hits) + frame
    rest |= {"truncated": is_truncated, "original_size_chars": original}
    return Answer(text, {"results": [each.data for each in rendered], **rest}, is_truncated, original)


def _note_shown_code(known: ShownBefore, hits: Sequence[CodeHit]) -> None:
    """Record the code in the answer, so that later answers in the same session do not repeat it."""
    known.note([(_hit_id(hit), hit.content) for hit in hits if hit.content])


def _answer_data(
    answer: CodeAnswer, notes: Sequence[str], project_id: str, database_name: str, latency_ms: int, *, concise: bool
) -> JsonObject:
    """Return the structured data of an answer, except the results."""
    data: JsonObject = {"notes": list(notes), "total_count": answer.total, "project_id": project_id}
    if database_name and not concise:
        data["database_name"] = database_name
    data |= {"latency_ms": latency_ms, "truncated": False, "original_size_chars": 0}
    if answer.total_is_least and not concise:  # a concise answer mentions this only in its text
        data["total_is_least"] = True
    return data


def render_text(answer: CodeAnswer, *, query: str, concise: bool) -> str:
    """Return only the text of an answer, with the maximum token budget."""
    most = MAX_ANSWER_CHARACTERS // CHARACTERS_PER_TOKEN
    rendered = render_hits(
        answer, query=query, project_id="", database_name="", latency_ms=0, concise=concise, token_budget=most
    )
    return rendered.text


def _truncation_line(rendered: int, answer: CodeAnswer, *, by_budget: bool) -> str:
    """Return a line with the number of results shown, or an empty string if all are shown."""
    is_all = rendered == answer.total and (not answer.total_is_least or rendered < MAX_RESULTS)
    if is_all and not by_budget:  # if the scan timed out, another note says so
        return ""
    how = (
        _BUDGET_REACHED_HINT
        if by_budget
        else (_LIMIT_REACHED_HINT if rendered < MAX_RESULTS else _MAX_LIMIT_REACHED_HINT)
    )
    noun = "lines" if answer.query.kind in ("literal", "pattern") else "results"
    return truncated(rendered, answer.total, noun, how, is_at_least=answer.total_is_least)


def _projects_line(answer: CodeAnswer, roots: Mapping[str, Path]) -> tuple[str, ...]:
    """Return a line with the folders of the projects that have hits, or nothing if one project was searched."""
    if not roots:
        return ()
    named = dict.fromkeys(hit.repository for hit in answer.hits)
    places = ", ".join(f"[{name}] {visible_location(str(roots[name]))}" for name in named)
    return (f"Searched {counted(len(roots), 'project')}; hits in {places}",)


def _weak_match_note(answer: CodeAnswer) -> tuple[str, ...]:
    """Return a note if the match is weak, with the query words that occur in no file."""
    if not answer.is_weak or answer.is_definition:
        return ()
    where = "any of these projects" if answer.hits[0].repository else "this project"
    unknown = (
        f"Not in {where}{answer.skipped_note}: {', '.join(answer.unknown_words)}. " if answer.unknown_words else ""
    )
    return (weak_match(answer.hits[0].score, f"{unknown}Try other words."),)


def _render_full(answer: CodeAnswer, known: ShownBefore) -> list[_RenderedHit]:
    """Render the first hit with code, and the others in one line each."""
    budget = MESSAGE_CHARACTERS if answer.is_message else _excerpt_characters(answer)
    first = _render_with_code(answer, answer.hits[0], budget, known)
    lines = [_render_line(answer, hit, LINE_CHARACTERS) for hit in answer.hits[1:]]
    return [replace(first, block=f"{first.block}\n") if lines else first, *lines]


def _excerpt_characters(answer: CodeAnswer) -> int:
    """Return the maximum length of the code excerpts, which grows with the confidence of the best hit."""
    if answer.is_definition:
        return EXCERPT_CHARACTERS
    uncertainty = 1 - min(1.0, answer.hits[0].score)
    return round(_MAX_EXCERPT_CHARACTERS - (_MAX_EXCERPT_CHARACTERS - _MIN_EXCERPT_CHARACTERS) * uncertainty)


def _render_with_code(
    answer: CodeAnswer, hit: CodeHit, characters: int, known: ShownBefore, *, with_context: bool = True
) -> _RenderedHit:
    """Render a hit with its code, or only with its id if the code was already shown in the session."""
    part = excerpt(hit, answer.query, characters)
    rendered = replace(
        hit,
        start_line=part.start_line,
        end_line=part.end_line,
        content=part.text,
        context_before=part.before if with_context else "",
        context_after=part.after if with_context else "",
    )
    if known.has(_hit_id(rendered), rendered.content):
        rendered = replace(rendered, content="")
    is_one_of_several = answer.is_message and rendered.start_line < rendered.end_line
    line = hit.line if is_one_of_several else 0  # the line that produces the error message
    return _RenderedHit(
        _format_block(rendered, line), _hit_data(rendered, with_context=True), rendered, part.has_truncated_line
    )


def _render_concise(answer: CodeAnswer, notes_size: int, frame_size: int) -> list[_RenderedHit]:
    """Render every hit in one line, shortened so that the answer has at most half the size of the full answer.

    `notes_size` is the number of characters of the notes; `frame_size` is that of the data without results.
    """
    full_text, full_data = _text_and_data_sizes(_render_full(answer, nothing_shown()))
    for characters in _CONCISE_LINE_LENGTHS:
        lengths = [_CONCISE_LINE_LENGTHS[0], *[characters] * (len(answer.hits) - 1)]
        rendered = [
            _render_line(answer, hit, length, concise=True) for hit, length in zip(answer.hits, lengths, strict=True)
        ]
        text, data = _text_and_data_sizes(rendered)
        if 2 * text <= full_text - notes_size and 2 * data <= full_data - frame_size:
            break
    return rendered


def _text_and_data_sizes(rendered: Sequence[_RenderedHit]) -> tuple[int, int]:
    """Return the number of characters of the text and of the JSON data."""
    text = sum(len(each.block) for each in rendered)
    return text, sum(each.characters for each in rendered) - text


def _render_line(answer: CodeAnswer, hit: CodeHit, characters: int, *, concise: bool = False) -> _RenderedHit:
    """Render a hit as location, name, parameters and the best matching line."""
    summary = summarise_hit(hit, answer.query)
    place = f"{_repository_label(hit)}{hit.path}:{summary.line_number} {hit.symbol}"
    line = summary.line(max(characters, min(summary.min_characters, CONCISE_CHARACTERS - len(place))))
    block = f"{place}{line}".replace("  ", " ") + _FOUND_BY_MARKS[hit.found_by]
    end = max(summary.line_number, hit.tail_line or hit.end_line)
    content = line.removeprefix(" — ")
    rendered = replace(
        hit, start_line=summary.line_number, end_line=end, content=content, context_before="", context_after=""
    )
    if concise:  # two decimals are sufficient in a concise answer
        rendered = replace(rendered, score=round(rendered.score, 2))
    return _RenderedHit(block, _hit_data(rendered, with_context=not concise), rendered)


def _truncate_first(answer: CodeAnswer, budget: int) -> _RenderedHit:
    """Render only the first hit, with as many lines around its best line as fit into the budget."""
    characters = min(budget // 2, EXCERPT_CHARACTERS)
    while True:
        rendered = _render_with_code(answer, answer.hits[0], characters, nothing_shown(), with_context=False)
        if rendered.characters <= budget or characters <= _MIN_CONTENT_CHARACTERS:
            return rendered
        characters = max(_MIN_CONTENT_CHARACTERS, characters * 4 // 5)


def _hits_within_budget(all_hits: Sequence[_RenderedHit], budget: int) -> list[_RenderedHit]:
    """Return the first hits, as many as fit into the token budget."""
    rendered = []
    for each in all_hits:
        budget -= each.characters
        if budget < 0:
            break
        rendered.append(each)
    return rendered


def _render_empty(answer: CodeAnswer, query: str, project_id: str, latency_ms: int, projects: int) -> Answer:
    """Return the answer without results, with the number of files searched."""
    near = f" Similar names: {', '.join(answer.suggestions)}." if answer.suggestions else ""
    among = f" of {counted(projects, 'project')}" if projects else ""
    searched = f"Searched {counted(answer.files_searched, 'file')}{among}{answer.skipped_note}.{near}"
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


def _hit_id(hit: CodeHit) -> str:
    return code_location(hit.path, hit.symbol, hit.start_line, hit.end_line, hit.project_id).id


def _repository_label(hit: CodeHit) -> str:
    return f"[{hit.repository}] " if hit.repository else ""


def _location_label(hit: CodeHit) -> str:
    return (
        f"{_repository_label(hit)}{hit.path}:{hit.start_line}-{hit.end_line} {hit.symbol}".rstrip()
        + _FOUND_BY_MARKS[hit.found_by]
    )


def _format_block(hit: CodeHit, line: int) -> str:
    """Return the location of a hit, followed by its code; `line` is the requested line, or 0 for none."""
    place = f"{_location_label(hit)} (line {line})" if line else _location_label(hit)
    if not hit.content:
        return f"{place} (shown before in this session: {_hit_id(hit)})"
    return f"{place}\n{hit.content}"


def _hit_data(hit: CodeHit, *, with_context: bool) -> JsonObject:
    """Return a hit as structured data."""
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
    if field := _FOUND_BY_FIELDS.get(hit.found_by):
        data[field] = True
    if not hit.content:
        return data | {"shown_before": _hit_id(hit)}
    if with_context:
        data["context_before"] = hit.context_before
        data["context_after"] = hit.context_after
    return data
