"""Web page data for a question about the code, which is answered like by the tool `explore`."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from deltos.budget import estimate_tokens
from deltos.federation.explore.pack import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET
from deltos.federation.explore.tools import Exploration
from deltos.progress import Silent
from deltos.ui import structs
from deltos.workspace.project_selection import select

if TYPE_CHECKING:
    from deltos.ui.view_request import ViewRequest

_CODE_LINE = re.compile(r"(\d+)\t")
_LOCATION = re.compile(r"(\S+):(\d+)-\d+(?: (\S.*))?")


def explore(request: ViewRequest) -> structs.ExplorePage:
    """Return the answer of the tool `explore`, divided into blocks of code and text."""
    started = time.perf_counter()
    app = request.app
    exploration = Exploration(
        request.text("q"),
        budget=max(MIN_BUDGET, request.number("budget", DEFAULT_BUDGET, MAX_BUDGET)),
        by_meaning=app.config.searches_by_meaning,
        related=app.links.related_lines,
    )
    selection = select(app.domains.projects, request.text("project"), request.session.project_roots())
    text = exploration.answer(selection, Silent()).text
    return structs.ExplorePage(
        query=exploration.question,
        parts=answer_parts(text),
        agent_text=text,
        tokens=estimate_tokens(text),
        milliseconds=round(1000 * (time.perf_counter() - started)),
    )


def answer_parts(text: str) -> list[structs.ExplorePart]:
    """Split an answer into blocks of code with consecutive line numbers, and the text between them."""
    parts: list[structs.ExplorePart] = []
    path = title = ""
    for line in text.split("\n"):
        if code := _CODE_LINE.match(line):
            _append_line(parts, structs.ExplorePart(path, title, int(code[1]), line[code.end() :]))
        elif location := _LOCATION.fullmatch(line):
            path, title = location[1], line
        else:
            _append_line(parts, structs.ExplorePart("", "", 0, line))
    return [part for part in parts if part.path or part.text.strip()]


def _append_line(parts: list[structs.ExplorePart], line: structs.ExplorePart) -> None:
    """Append a line to the last block if the line number follows, or start a new block."""
    last = parts[-1] if parts else line
    next_line = last.first_line + last.text.count("\n") + 1 if line.path else 0
    if parts and (last.path, line.first_line) == (line.path, next_line):
        parts[-1] = structs.ExplorePart(last.path, last.title, last.first_line, f"{last.text}\n{line.text}")
    else:
        parts.append(line)
