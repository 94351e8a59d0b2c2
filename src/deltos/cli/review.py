"""`deltos review`: the effects of a change, the tests to run, and breaking changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, add_project, integer_range, open_app, print_json
from deltos.cli.progress_bar import ProgressBar
from deltos.config import Config

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.federation.review.model import Review

FORMATS = ("text", "markdown", "json", "sarif")
DEFAULT_BUDGET, MIN_BUDGET, MAX_BUDGET = 1_500, 200, 25_000  # token budget of text and Markdown output
EXIT_BREAKING = 1


def add_commands(subparsers: Subparsers) -> None:
    """Add `review`."""
    verb = add_command(subparsers, "review", _review)
    verb.add_argument(
        "base",
        nargs="?",
        default="",
        metavar="BASE",
        help="commit, branch, tag or range to compare with; default: HEAD if there are uncommitted changes, "
        "otherwise the merge base with the default branch",
    )
    verb.add_argument("--format", choices=FORMATS, default="text", help="output format; default: text")
    verb.add_argument(
        "--fail-on",
        choices=("never", "breaking"),
        default="never",
        help="exit with 1 if public API breaks or a caller certainly no longer fits; default: never",
    )
    verb.add_argument(
        "--budget",
        type=integer_range(MIN_BUDGET, MAX_BUDGET),
        default=DEFAULT_BUDGET,
        metavar="N",
        help=f"maximum tokens of text and Markdown, {MIN_BUDGET} to {MAX_BUDGET}; default {DEFAULT_BUDGET}",
    )
    add_project(verb)


def _review(arguments: argparse.Namespace) -> int:
    # Deferred import, like all domain imports: not needed for `--help`.
    from deltos.federation.review.reviewer import Reviewer

    bar = ProgressBar()
    config = Config.from_environment()
    with open_app(replace(config, toolsets=tuple(dict.fromkeys((*config.toolsets, "graph"))))) as app:
        index = app.domains.projects.index_of(Path(arguments.project).absolute())
        reviewer = Reviewer(index, app.links.observation_texts, history_seconds=float("inf"))
        reviewer.check(arguments.base)
        review = index.answer(
            lambda freshness: reviewer.review(arguments.base, freshness), progress=bar, wait_seconds=float("inf")
        )
    bar.clear()
    _print(review, arguments)
    return EXIT_BREAKING if arguments.fail_on == "breaking" and review.is_breaking else 0


def _print(review: Review, arguments: argparse.Namespace) -> None:
    """Print a review in the requested format."""
    from deltos.federation.review import render_json, render_markdown, render_sarif, render_text

    if arguments.json or arguments.format == "json":
        print_json(render_json.review_json(review))
    elif arguments.format == "sarif":
        print_json(render_sarif.review_sarif(review))
    elif arguments.format == "markdown":
        print(render_markdown.render_markdown(review, token_budget=arguments.budget))
    else:
        print(render_text.render_text(review, token_budget=arguments.budget))
