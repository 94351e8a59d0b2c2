"""Code answers as text and as data, within a token budget."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.budget import characters_for, cut, fit
from deltos.domains.code.spot import spot_of
from deltos.excerpts import Excerpts
from deltos.tool import Answer, JsonObject

if TYPE_CHECKING:
    from deltos.domains.code.model import CodeAnswer, CodeHit

_CUT_HINT = "narrow the query, lower limit or set concise"


def render_hits(
    answer: CodeAnswer,
    *,
    query: str,
    project_id: str,
    database_name: str,
    latency_ms: int,
    concise: bool,
    token_budget: int,
    excerpts: Excerpts | None = None,
) -> Answer:
    """Hits as `path:start-end symbol` and code; the same as data. Both fit the budget, cut between hits.

    Code that `excerpts` knows is named, not repeated; concise answers show so little that they stay out of that.
    """
    if not answer.hits:
        return _nothing_found(answer, query, project_id, latency_ms)
    known = excerpts or Excerpts()
    hits = answer.hits if concise else tuple(_fold(hit, known) for hit in answer.hits)
    characters = characters_for(token_budget)
    blocks = [_block(hit) for hit in hits]
    shown = fit(blocks, characters=characters - 400, separator="\n\n")
    data = [_as_data(hit, concise=concise) for hit in hits]
    sizes = fit([json.dumps(item, ensure_ascii=False) for item in data], characters=characters - 400)
    truncated = shown.truncated or sizes.truncated
    structured: JsonObject = {
        "results": data[: len(sizes.pieces)],
        "total_count": answer.total,
        "project_id": project_id,
        "database_name": database_name,
        "latency_ms": latency_ms,
        "truncated": truncated,
        "original_size_chars": max(shown.original_characters, sizes.original_characters),
    }
    if not concise:
        whole = min(len(shown.pieces), len(sizes.pieces)) - (len(blocks[0]) > characters - 400)
        known.note((_id(hit), hit.content) for hit in hits[: max(0, whole)] if hit.content)
    if len(sizes.pieces) == 1:
        _cut_content(structured["results"][0], characters=characters - 400)
    if concise:
        del structured["database_name"]
    header = [f"showing {len(shown.pieces)}/{len(hits)} results ({_CUT_HINT})"] if shown.truncated else []
    text = "\n".join([*header, *answer.notes, "\n\n".join(shown.pieces)])
    return Answer(text, structured, truncated=truncated, original_characters=shown.original_characters)


def _cut_content(result: JsonObject, *, characters: int) -> None:
    """Shorten the content of a result that alone is too long, by as much as its JSON is."""
    excess = len(json.dumps(result, ensure_ascii=False)) - characters
    if excess > 0:
        content: str = result["content"]
        result["content"] = cut(content, characters=max(0, len(content) - excess - 2))


def _nothing_found(answer: CodeAnswer, query: str, project_id: str, latency_ms: int) -> Answer:
    near = f" Near names: {', '.join(answer.suggestions)}." if answer.suggestions else ""
    text = f"No results found for query: {query[:200]}\nSearched {answer.files_searched} files.{near}"
    structured: JsonObject = {
        "results": [],
        "total_count": 0,
        "project_id": project_id,
        "latency_ms": latency_ms,
        "truncated": False,
        "original_size_chars": len(text),
        "message": "\n".join([*answer.notes, text]),
    }
    return Answer("\n".join([*answer.notes, text]), structured)


def _fold(hit: CodeHit, excerpts: Excerpts) -> CodeHit:
    """A hit without its code if that was shown before."""
    if not excerpts.has(_id(hit), hit.content):
        return hit
    return replace(hit, content="", context_before="", context_after="")


def _id(hit: CodeHit) -> str:
    return spot_of(hit.path, hit.symbol, hit.start_line, hit.end_line).id


def _block(hit: CodeHit) -> str:
    symbol = f" {hit.symbol}" if hit.symbol else ""
    if not hit.content:
        return f"{hit.path}:{hit.start_line}-{hit.end_line}{symbol} (shown before in this session: {_id(hit)})"
    return f"{hit.path}:{hit.start_line}-{hit.end_line}{symbol}\n{hit.content}"


def _as_data(hit: CodeHit, *, concise: bool) -> JsonObject:
    data: JsonObject = {
        "chunk_id": hit.chunk_id,
        "file_path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "symbol": hit.symbol,
        "content": hit.content,
        "similarity_score": hit.score,
    }
    if not hit.content:
        return data | {"shown_before": _id(hit)}
    if not concise:
        data["context_before"] = hit.context_before
        data["context_after"] = hit.context_after
    return data
