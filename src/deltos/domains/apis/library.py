"""The indexed APIs: look them up by name, resolve their references from the store, decode what was stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from deltos.confinement import may_recall_all, may_show
from deltos.domains.apis.model import Api, Json, Operation, Overview
from deltos.domains.apis.naming import named_in
from deltos.domains.apis.query import stems_of
from deltos.domains.apis.source import is_address
from deltos.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.apis.naming import Naming
    from deltos.domains.apis.outline import Resolve
    from deltos.store.apis import ApiDescriptions, ApiRow, UnitRow, UnreadRow

NEAR_NAMES = 3
NAMES_LISTED = 5
_LEAST_ALIKE = 60  # of 100: below, names share letters and no word
_EQUAL_COLUMNS = (1.0, 1.0, 1.0, 1.0, 1.0)

_decode_operation = msgspec.json.Decoder(Operation).decode
_decode_overview = msgspec.json.Decoder(Overview).decode
_decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode


class ApiLibrary:
    """Reads the store for the other stages."""

    def __init__(self, store: ApiDescriptions) -> None:
        self.store = store

    def apis(self) -> list[Api]:
        """All indexed APIs by name."""
        return [api_of(row) for row in self.rows()]

    def rows(self) -> list[ApiRow]:
        """All indexed APIs that this call may be shown, by name."""
        return [row for row in self.store.apis() if is_shown(row)]

    def unread(self, source: str = "") -> list[UnreadRow]:
        """What could not be read of one source, or of all that this call may be shown."""
        return [row for row in self.store.unread() if is_shown(row) and source in ("", row.source)]

    def known(self, name: str) -> ApiRow | None:
        """The API of that exact name, if this call may be shown it."""
        row = self.store.api(name)
        return row if row and is_shown(row) else None

    def hidden_ids(self) -> tuple[int, ...]:
        """The APIs that this call may not be shown."""
        return () if may_recall_all() else tuple(row.id for row in self.store.apis() if not is_shown(row))

    def row(self, name: str) -> ApiRow:
        """The API that a caller means by `name`: its exact name, else the only one that begins with it."""
        if row := self.known(name.strip()):
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
        names = [row.name for row in candidates] or near_names(name, [row.name for row in rows])
        raise NotFound(f"API '{name}' is not indexed", hint=suggestion(names, [row.name for row in rows]))

    def group(self, name: str) -> list[ApiRow]:
        """The APIs that a caller means by `name`: one, or all of a provider, which begin with it or came together."""
        wanted = name.strip()
        rows = self.rows()
        together = [row for row in rows if wanted and wanted in (row.name, row.source_name)]
        if not together and wanted:
            together = [row for row in rows if row.name.lower().startswith(f"{wanted.lower()}-")]
        return together or [self.row(name)]

    def named_in(self, question: str) -> Naming:
        """The APIs that a question names, none where it names all there are, and the question without that."""
        rows = self.rows()
        providers = Counter(_provider(row) for row in rows)
        titles = {row.name: [_title_of(row.overview), row.source_name] for row in rows}
        for row in rows:
            if providers[_provider(row)] > 1:
                titles[row.name].append(_provider(row))

        def is_topic(name: str, words: Sequence[str]) -> bool:
            own = [row.id for row in rows if row.name == name or _provider(row) == name.partition("-")[0]]
            longest = tuple(stems_of(max(words, key=len)))
            found = self.store.search(longest, _EQUAL_COLUMNS, api_id=None, kinds=("operation",), limit=1, without=own)
            return bool(found)

        naming = named_in(question, titles, is_topic)
        return replace(naming, names=()) if len(naming.names) == len(rows) else naming

    def beside(self, rows: Sequence[ApiRow]) -> tuple[int, ...]:
        """All other APIs, those included that this call may not be shown."""
        wanted = {row.id for row in rows}
        return tuple(row.id for row in self.store.apis() if row.id not in wanted)

    def resolver(self, api_id: int) -> Resolve:
        """Follows references inside one stored API; each target is read once."""
        known: dict[str, Json] = {}

        def resolve(target: str) -> Json:
            if target not in known:
                body = self.store.target(api_id, target)
                known[target] = None if body is None else msgspec.json.decode(body)
            return known[target]

        return resolve

    def operation(self, unit: UnitRow) -> Operation:
        """A stored operation, whole."""
        return _decode_operation(self.store.body(unit.id))

    def value(self, unit: UnitRow) -> Json:
        """The JSON that a schema, message or tag was stored with."""
        body = self.store.body(unit.id)
        return msgspec.json.decode(body) if body else None


def _provider(row: ApiRow) -> str:
    return row.name.partition("-")[0]


@lru_cache(maxsize=2_000)
def _title_of(overview: bytes) -> str:
    return _decode_overview(overview).title


def is_shown(row: ApiRow | UnreadRow) -> bool:
    """Whether this call may be shown an API: one that was read from files of a project is the project's."""
    return may_show(None if is_address(row.source) else Path(row.source))


def place_of(api: Api) -> str:
    """Where a description lies, whichever project asks: citations are kept from the folder above what was added."""
    if is_address(api.source) or is_address(api.citation):
        return api.citation
    return (Path(api.source).resolve().parent / api.citation).as_posix()


def api_of(row: ApiRow) -> Api:
    """A stored API as the library lists it."""
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
    )


def tags_of(unit: UnitRow) -> tuple[str, ...]:
    """The tags an operation was given."""
    return _decode_texts(unit.tags)


def near_names(name: str, names: list[str]) -> list[str]:
    """The names most like `name`, as far as they are like it."""
    from rapidfuzz import fuzz, process  # deferred: only a name that is not found needs it

    found = process.extract(name, names, scorer=fuzz.WRatio, limit=NEAR_NAMES, score_cutoff=_LEAST_ALIKE)
    return [each[0] for each in found]


def suggestion(near: Sequence[str], every: Sequence[str]) -> str:
    """Which names may have been meant; where none is like what was asked, some of those that there are."""
    if near:
        return f"Did you mean: {', '.join(near[:NEAR_NAMES])}?"
    more = f" and {len(every) - NAMES_LISTED} more" if len(every) > NAMES_LISTED else ""
    return f"Nothing is called alike. There is: {', '.join(every[:NAMES_LISTED])}{more}."
