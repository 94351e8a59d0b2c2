"""Access indexed APIs: find them by name, check visibility, resolve references, and decode stored content."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from deltos.confinement import may_recall_all, may_show
from deltos.domains.apis.api_mentions import find_api_mentions
from deltos.domains.apis.model import Api, Json, Operation, Overview
from deltos.domains.apis.source import is_http_url
from deltos.errors import NotFound
from deltos.text.similar_names import similar_names
from deltos.workspace.source_projects import is_visible_to, project_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from deltos.domains.apis.api_mentions import ApiMentions
    from deltos.domains.apis.outline import Resolve
    from deltos.store.apis import ApiDescriptions, ApiRow, UnitRow, UnreadableDocument

MAX_SIMILAR_NAMES = 3
MAX_LISTED_NAMES = 5
_EQUAL_COLUMN_WEIGHTS = (1.0, 1.0, 1.0, 1.0, 1.0)

_decode_operation = msgspec.json.Decoder(Operation).decode
_decode_overview = msgspec.json.Decoder(Overview).decode
_decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode


class ApiLibrary:
    """Read access to the stored APIs that the current tool call may see."""

    def __init__(self, store: ApiDescriptions) -> None:
        self.store = store

    def apis(self) -> list[Api]:
        """Return all visible APIs, sorted by name."""
        return [api_of(row) for row in self.rows()]

    def rows(self) -> list[ApiRow]:
        """Return the database rows of all visible APIs, sorted by name."""
        return [row for row in self.store.apis() if is_visible(row)]

    def apis_of_other_projects(self, roots: Iterable[Path]) -> dict[int, str]:
        """Return the names of the APIs that are not visible to the projects at `roots`, by id.

        Empty if `roots` is empty.
        """
        projects = [project_of(root) for root in roots]
        return {row.id: row.name for row in self.rows() if not is_visible_to(projects_of(row), projects)}

    def unread_documents(self, source: str = "") -> list[UnreadableDocument]:
        """Return the documents of one source, or of all visible sources, that could not be read."""
        return [row for row in self.store.unreadable_documents() if is_visible(row) and source in ("", row.source)]

    def find_exact(self, name: str) -> ApiRow | None:
        """Return the visible API with exactly the given name, or None if there is none."""
        row = self.store.api(name)
        return row if row and is_visible(row) else None

    def hidden_ids(self) -> tuple[int, ...]:
        """Return the ids of the APIs that are not visible to the current call."""
        return () if may_recall_all() else tuple(row.id for row in self.store.apis() if not is_visible(row))

    def row(self, name: str) -> ApiRow:
        """Return the API with the given name, or the only API whose name begins with it.

        Raises NotFound if there is none.
        """
        if row := self.find_exact(name.strip()):
            return row
        rows = self.rows()
        if not rows:
            raise NotFound(
                f"API '{name}' is not indexed: there are no APIs yet",
                hint="Add one with add_source or `deltos api add`.",
            )
        wanted = name.strip().lower()
        candidates = [row for row in rows if row.name.lower().startswith(wanted)] if wanted else []
        if len(candidates) == 1:
            return candidates[0]
        names = [row.name for row in candidates] or similar_names(
            name, [row.name for row in rows], limit=MAX_SIMILAR_NAMES
        )
        raise NotFound(f"API '{name}' is not indexed", hint=suggestion(names, [row.name for row in rows]))

    def group(self, name: str) -> list[ApiRow]:
        """Return the APIs that `name` selects: one API, all APIs of a source, or all APIs with a name prefix."""
        wanted = name.strip()
        rows = self.rows()
        selected = [row for row in rows if wanted and wanted in (row.name, row.source_name)]
        if not selected and wanted:
            selected = [row for row in rows if row.name.lower().startswith(f"{wanted.lower()}-")]
        return selected or [self.row(name)]

    def mentioned_apis(self, question: str, without: Collection[int] = ()) -> ApiMentions:
        """Return the APIs that a query mentions, and the query without their names.

        If the query mentions all APIs, none is returned. APIs whose ids are in `without` are ignored.
        """
        rows = [row for row in self.rows() if row.id not in without]
        providers = Counter(_provider_name(row) for row in rows)
        titles = {row.name: [_title_of(row.overview), row.source_name] for row in rows}
        for row in rows:
            if providers[_provider_name(row)] > 1:
                titles[row.name].append(_provider_name(row))

        def is_topic(name: str, words: Sequence[str]) -> bool:
            """Whether operations of other APIs also contain the longest word of a name."""
            excluded = [row.id for row in rows if row.name == name or _provider_name(row) == name.partition("-")[0]]
            excluded += [*without, *self.hidden_ids()]
            longest = max(words, key=len)
            found = self.store.search(
                (longest,), _EQUAL_COLUMN_WEIGHTS, api_id=None, kinds=("operation",), limit=1, excluded_apis=excluded
            )
            return bool(found)

        mentions = find_api_mentions(question, titles, is_topic)
        return replace(mentions, names=()) if len(mentions.names) == len(rows) else mentions

    def ids_except(self, rows: Sequence[ApiRow]) -> tuple[int, ...]:
        """Return the ids of all APIs except `rows`, including APIs that are not visible."""
        wanted = {row.id for row in rows}
        return tuple(row.id for row in self.store.apis() if row.id not in wanted)

    def resolver(self, api_id: int) -> Resolve:
        """Return a function that resolves references within a stored API and caches the results."""
        known: dict[str, Json] = {}

        def resolve(target: str) -> Json:
            if target not in known:
                body = self.store.target(api_id, target)
                known[target] = None if body is None else msgspec.json.decode(body)
            return known[target]

        return resolve

    def operation(self, unit: UnitRow) -> Operation:
        """Return the decoded content of a stored operation."""
        return _decode_operation(self.store.body(unit.id))

    def value(self, unit: UnitRow) -> Json:
        """Return the decoded JSON content of a schema, message or tag."""
        body = self.store.body(unit.id)
        return msgspec.json.decode(body) if body else None


def _provider_name(row: ApiRow) -> str:
    """Return the first part of an API name, such as `google` for `google-drive`."""
    return row.name.partition("-")[0]


@lru_cache(maxsize=2_000)
def _title_of(overview: bytes) -> str:
    return _decode_overview(overview).title


def is_visible(row: ApiRow | UnreadableDocument) -> bool:
    """Whether an API is visible to the current call; an API in project files is visible only in that project."""
    return may_show(None if is_http_url(row.source) else Path(row.source))


def location_of(api: Api) -> str:
    """Return the absolute path or URL of an API description."""
    # Citations of local files are paths relative to the parent of the added folder.
    if is_http_url(api.source) or is_http_url(api.citation):
        return api.citation
    return (Path(api.source).resolve().parent / api.citation).as_posix()


def api_of(row: ApiRow) -> Api:
    """Return a database row decoded as an `Api`."""
    return Api(
        name=row.name,
        source=row.source,
        citation=row.citation,
        overview=_decode_overview(row.overview),
        operation_count=row.operations,
        schema_count=row.schemas,
        webhook_count=row.webhooks,
        warnings=_decode_texts(row.warnings),
        indexed_at=row.indexed_at,
        projects=projects_of(row),
    )


def tags_of(unit: UnitRow) -> tuple[str, ...]:
    """Return the tags of an operation."""
    return _decode_texts(unit.tags)


def projects_of(row: ApiRow) -> tuple[str, ...]:
    """Return the projects to which an API is visible."""
    return _decode_texts(row.projects)


def suggestion(near: Sequence[str], every: Sequence[str]) -> str:
    """Return a hint with similar names or, if there are none, with some of the existing names."""
    if near:
        return f"Did you mean: {', '.join(near[:MAX_SIMILAR_NAMES])}?"
    more = f" and {len(every) - MAX_LISTED_NAMES} more" if len(every) > MAX_LISTED_NAMES else ""
    return f"No similar names. Available: {', '.join(every[:MAX_LISTED_NAMES])}{more}."
