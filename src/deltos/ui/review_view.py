"""Web page data about the review of a change, with the same content as `deltos review`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.budget import estimate_tokens
from deltos.federation.review.model import MODULE, REMOVED
from deltos.federation.review.render_text import render_text, sections_of, summary
from deltos.federation.review.reviewer import Reviewer
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.federation.review.model import Review
    from deltos.ui.view_request import ViewRequest
    from deltos.workspace.project_index import Freshness

MAX_DRAWN_SYMBOLS = 20  # maximum number of changed symbols with a link to a drawing of the impact
MAX_LINES_PER_SECTION = 200


def review_changes(request: ViewRequest) -> structs.ReviewPage:
    """Return the review of a revision, a range or the working tree, divided into sections."""
    started = time.perf_counter()
    index = request.index()
    reviewer = Reviewer(index, request.app.links.observation_texts)

    def read(freshness: Freshness) -> Review:
        return reviewer.review(request.text("base"), freshness)

    reviewer.check(request.text("base"))
    review = index.answer(read)
    text = render_text(review)
    sections = [
        structs.ReviewSection(title.removesuffix(":"), [line.strip() for line in lines[:MAX_LINES_PER_SECTION]])
        for title, lines in sections_of(review)
        if lines
    ]
    names = dict.fromkeys(each.label for each in review.changes if each.kind not in (MODULE, REMOVED))
    return structs.ReviewPage(
        summary=summary(review) if review.changed_files else f"No changes between {review.base} and {review.head}.",
        is_breaking=review.is_breaking,
        notes=list(review.notes),
        sections=sections,
        symbols=list(names)[:MAX_DRAWN_SYMBOLS],
        agent_text=text,
        tokens=estimate_tokens(text),
        milliseconds=round(1000 * (time.perf_counter() - started)),
    )
