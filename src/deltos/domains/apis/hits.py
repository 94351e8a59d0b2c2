"""Search API operations and schemas, and format the results as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.apis.api_mentions import ApiMentions
from deltos.domains.apis.library import ApiLibrary, api_of, location_of
from deltos.domains.apis.model import Api, ApiHit, Json, Operation
from deltos.domains.apis.outline import members_of
from deltos.domains.apis.query import strip_modifier, strip_opening
from deltos.domains.apis.render import operation_line, operation_text, render_overview, render_schema, title_line
from deltos.domains.apis.search import TYPE_OF_KIND, RankedUnit, kinds_of, search_units
from deltos.domains.apis.spec_text import one_line
from deltos.embed.embedders import api_embedder
from deltos.errors import NotFound
from deltos.text.translation import translate_to_english

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from deltos.domains.apis.outline import Resolve
    from deltos.semantic_index import SemanticIndex
    from deltos.store.apis import ApiRow, UnitRow

MAX_BRIEF_CHARACTERS = 1_800
MAX_SIGNATURE_CHARACTERS = 400
MAX_FULL_CHARACTERS = 40_000
ID_PREFIX = "api:"
MAX_TAG_OPERATIONS = 40
_EMBED_BATCH_SIZE = 64


class ApiSearcher:
    """Searches and fetches operations and schemas of indexed APIs."""

    def __init__(self, library: ApiLibrary, semantic_index: Callable[[], SemanticIndex | None] = lambda: None) -> None:
        self._library = library
        self._semantic_index = semantic_index

    def search(
        self,
        query: str,
        *,
        api_name: str = "",
        types: Sequence[str] = (),
        limit: int = 10,
        without: Sequence[int] = (),
    ) -> list[ApiHit]:
        """Return the operations, schemas, tags and overviews that match `query` best, best first.

        If no `api_name` is given, the APIs that the query mentions are searched, or all APIs if it mentions none. APIs
        whose ids are in `without` are skipped. Raises NotFound for an unknown `api_name`.

        The first result is rendered with all details needed for a call, and the others in one or two lines.
        """
        kinds = kinds_of(types)
        if types and not kinds:
            return []
        mentions = ApiMentions((api_name,), normalise_query(query)) if api_name else self.mentioned_apis(query, without)
        query = mentions.question
        semantic_index = self._semantic_index()
        similarities = semantic_index.compare(query) if semantic_index else None
        with self._library.store.snapshot():
            rows = [row for name in mentions.names for row in self._library.group(name)]
            found = search_units(
                self._library.store,
                query,
                api_id=rows[0].id if len(rows) == 1 else None,
                kinds=kinds,
                limit=limit,
                similarities=similarities,
                model=api_embedder() if semantic_index else None,
                without=(*(self._library.ids_except(rows) if len(rows) > 1 else self._library.hidden_ids()), *without),
            )
            renderer = _HitRenderer(self._library)
            return [renderer.render_brief(unit, is_first=not position) for position, unit in enumerate(found)]

    def mentioned_apis(self, query: str, without: Collection[int] = ()) -> ApiMentions:
        """Find the APIs that a query mentions; return them and the query without their names."""
        found = self._library.mentioned_apis(_without_opening(query), without)
        return replace(found, question=strip_modifier(found.question))

    def fetch(self, unit_id: str) -> ApiHit:
        """Return the full text of an operation, schema or tag by id, such as `api:stripe:POST /v1/refunds`."""
        name, _, key = unit_id.removeprefix(ID_PREFIX).partition(":")
        with self._library.store.snapshot():
            row = self._library.find_exact(name)
            unit = self._library.store.unit(row.id, key) if row else None
            if row is None or unit is None:
                raise NotFound(
                    f"No operation or schema with id '{unit_id}'", hint="Search again: the API may have changed."
                )
            return _HitRenderer(self._library).render(RankedUnit(unit, row.name, 1.0), MAX_FULL_CHARACTERS)

    def count_searchable(self, api_name: str = "", without: Sequence[int] = ()) -> int:
        """Return the number of operations, schemas and other searchable entries of one API or of all APIs.

        APIs whose ids are in `without` are not counted.
        """
        store = self._library.store
        if api_name:
            return sum(store.count_searchable(row.id) for row in self._library.group(api_name))
        return store.count_searchable() - sum(map(store.count_searchable, {*self._library.hidden_ids(), *without}))


def normalise_query(query: str) -> str:
    """Return the query in English, without an opening such as "which endpoint" and a modifier such as "with labels"."""
    return strip_modifier(_without_opening(query))


def _without_opening(query: str) -> str:
    return strip_opening(translate_to_english(query) or query)


class _HitRenderer:
    """Formats operations, schemas, tags and overviews as search results, loading each API only once."""

    def __init__(self, library: ApiLibrary) -> None:
        self._library = library
        self._opened: dict[str, tuple[ApiRow, Api, Resolve]] = {}

    def render(self, found: RankedUnit, characters: int) -> ApiHit:
        """Format an operation, schema, tag or overview in full, in at most `characters`."""
        row, api, resolve = self._open(found.api_name)
        return self._to_hit(found, self._render_text(found.row, row, api, resolve, characters))

    def render_brief(self, found: RankedUnit, *, is_first: bool) -> ApiHit:
        """Format a search result for a list: the first with the details of a call, the others in one or two lines."""
        row, api, resolve = self._open(found.api_name)
        unit = found.row
        if unit.kind in ("operation", "webhook"):
            operation = self._library.operation(unit)
            if is_first:
                text = operation_text(operation, api.overview, resolve, characters=MAX_BRIEF_CHARACTERS)
            else:
                text = f"{title_line(operation)}\n{_input_names(operation, resolve)}".rstrip()
            return self._to_hit(found, text, f"{api.overview.title or api.name} > {unit.grouping}")
        if unit.kind in ("schema", "message") and not is_first:
            value = self._library.value(unit)
            fields = ", ".join(_field_names(value, resolve))
            return self._to_hit(found, one_line(f"{unit.title}: {fields}", MAX_SIGNATURE_CHARACTERS))
        return self._to_hit(found, self._render_text(unit, row, api, resolve, MAX_BRIEF_CHARACTERS))

    def _to_hit(self, found: RankedUnit, text: str, section: str = "") -> ApiHit:
        """Return an operation, schema, tag or overview as a search result with the given text."""
        _, api, _ = self._open(found.api_name)
        unit = found.row
        return ApiHit(
            id=f"{ID_PREFIX}{api.name}:{unit.key}",
            api_name=api.name,
            api_version=api.overview.version,
            type=TYPE_OF_KIND[unit.kind],
            citation=f"{location_of(api)}{unit.pointer}",
            section=section or _section(api, unit),
            title=f"{unit.method} {unit.path} — {unit.title}" if unit.path else unit.title,
            text=text,
            score=found.score,
            confidence=found.confidence,
            is_clear=found.is_clear,
            is_semantic_match=found.is_semantic_match,
        )

    def _open(self, name: str) -> tuple[ApiRow, Api, Resolve]:
        """Return an API and the function that resolves its references; both are cached."""
        if name not in self._opened:
            row = self._library.row(name)
            self._opened[name] = (row, api_of(row), self._library.resolver(row.id))
        return self._opened[name]

    def _render_text(self, unit: UnitRow, row: ApiRow, api: Api, resolve: Resolve, characters: int) -> str:
        """Return the text of an operation, schema, tag or overview, in at most `characters`."""
        if unit.kind in ("operation", "webhook"):
            operation = self._library.operation(unit)
            return operation_text(operation, api.overview, resolve, characters=characters)
        if unit.kind in ("schema", "message"):
            schema = self._library.value(unit)
            described = schema.get("description") if isinstance(schema, dict) else ""
            about = described if isinstance(described, str) else ""
            return render_schema(unit.title, schema, resolve, description=about, characters=characters)
        operations = self._library.store.units(row.id, ("operation", "webhook"))
        if unit.kind == "tag":
            lines = [operation_line(each) for each in operations if each.grouping == unit.grouping]
            about = self._library.value(unit) or ""
            text = "\n".join([*([about] if about else []), *lines[:MAX_TAG_OPERATIONS]])
            return text[:characters]
        groups: dict[str, int] = {}
        for each in operations:
            groups[each.grouping] = groups.get(each.grouping, 0) + 1
        return render_overview(api, list(groups.items()))[:characters]


def _section(api: Api, unit: UnitRow) -> str:
    """Return the breadcrumb of an operation, schema or tag, such as `API > tag > operation`."""
    title = api.overview.title or api.name
    if unit.kind in ("operation", "webhook"):
        return f"{title} > {unit.grouping} > {unit.title}"
    if unit.kind in ("schema", "message"):
        return f"{title} > {'Messages' if unit.kind == 'message' else 'Schemas'} > {unit.title}"
    return f"{title} > {unit.title}" if unit.kind == "tag" else title


def _input_names(operation: Operation, resolve: Resolve) -> str:
    """Return the names of the inputs of an operation by location, required inputs first and marked with `*`."""
    groups: dict[str, list[str]] = {}
    for parameter in sorted(operation.parameters, key=lambda each: not each.required):
        fields = [f"{parameter.name}.{field}" for field in _field_names(parameter.schema, resolve)]
        names = fields or [f"{parameter.name}{'*' * parameter.required}"]
        groups.setdefault(parameter.location, []).extend(names)
    for content in operation.bodies[:1]:
        groups["body"] = _field_names(content.schema, resolve) or [content.media_type]
    return one_line(
        "; ".join(f"{group} {', '.join(names)}" for group, names in groups.items()), MAX_SIGNATURE_CHARACTERS
    )


def _field_names(schema: Json, resolve: Resolve) -> list[str]:
    """Return the names of the fields of an object, required fields first and marked with `*`."""
    members = sorted(members_of(schema, resolve), key=lambda member: not member.required)
    return [f"{member.name}{'*' * member.required}" for member in members]
