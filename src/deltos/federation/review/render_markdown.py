"""Render a review as Markdown, for a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.budget import characters_for, fit
from deltos.federation.review.render_text import sections_of, summary

if TYPE_CHECKING:
    from deltos.federation.review.model import Review

COMMENT_MARK = "<!-- deltos-review -->"
"""First line of the comment, which identifies the comment to replace in a later run."""
_EXPANDED_SECTION_COUNT = 3  # number of sections at the top that are not collapsed


def render_markdown(review: Review, *, token_budget: int) -> str:
    """Return the review as Markdown within a token budget. Later sections are collapsed."""
    blocks = []
    for number, (title, lines) in enumerate(sections_of(review)):
        items = "\n".join(f"- {_as_code(line.strip())}" for line in lines)
        heading = title.removesuffix(":")
        if not lines:
            continue
        if number < _EXPANDED_SECTION_COUNT:
            blocks.append(f"### {heading}\n\n{items}")
        else:
            blocks.append(f"<details><summary>{heading}</summary>\n\n{items}\n\n</details>")
    head = "\n\n".join([COMMENT_MARK, f"**{summary(review)}**", *review.notes])
    fitted = fit(blocks, characters=characters_for(token_budget) - len(head) - 60, separator="\n\n")
    rest = ["_The other sections were truncated._"] if fitted.truncated else []
    return "\n\n".join([head, *fitted.pieces, *rest])


def _as_code(line: str) -> str:
    """Return a line as inline code, so that text from the repository cannot add Markdown, links or mentions."""
    return f"`{' '.join(line.replace('`', chr(39)).split())}`"
