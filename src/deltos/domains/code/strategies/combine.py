"""Combine the hits of several strategies into one answer."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeAnswer, CodeHit
    from deltos.domains.code.query.parse import CodeQuery


def alternate(query: CodeQuery, answers: Sequence[CodeAnswer], limit: int) -> CodeAnswer:
    """Merge several answers to one query into one answer, in which their hits alternate."""
    by_key: dict[tuple[str, int], CodeHit] = {}
    for hits in itertools.zip_longest(*(answer.hits for answer in answers)):
        for hit in hits:
            if hit is not None:
                by_key.setdefault(_chunk_key(hit), hit)
    return replace(
        answers[0],
        query=query,
        hits=tuple(by_key.values())[:limit],
        total=sum(answer.total for answer in answers),
        total_is_least=True,
        notes=tuple(dict.fromkeys(itertools.chain.from_iterable(answer.notes for answer in answers))),
        is_weak=all(answer.is_weak for answer in answers),
    )


def put_first(hits: Sequence[CodeHit], total: int, answer: CodeAnswer, limit: int) -> CodeAnswer:
    """Return the answer with `hits` placed first; `total` is the number of these hits before the limit."""
    known = set(map(_chunk_key, hits))
    others = [hit for hit in answer.hits if _chunk_key(hit) not in known]
    total += answer.total - (len(answer.hits) - len(others))
    return replace(answer, hits=(*hits, *others)[:limit], total=total, is_weak=answer.is_weak and not hits)


def _chunk_key(hit: CodeHit) -> tuple[str, int]:
    """Return a key that identifies the chunk of a hit across projects."""
    return hit.repository, hit.chunk_id
