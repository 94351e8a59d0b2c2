"""Find changed symbols by comparing the declarations of both versions of each changed file."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.federation.review.binding import parameter_breaks
from deltos.federation.review.declarations import NO_DECLARATIONS, VersionToRead, read_all
from deltos.federation.review.model import ADDED, BODY, MODULE, REMOVED, SIGNATURE, SymbolChange
from deltos.federation.review.public_api import is_public
from deltos.federation.review.signature import KEYWORD_SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.federation.review.declarations import Declaration, FileDeclarations
    from deltos.isolated.process_pool import ProcessPool
    from deltos.workspace.versions import FileVersions

_PYTHON_BASES = re.compile(r"class\s+\w+(?:\[[^\]]*\])?\s*\((.*)\)")
_TYPE_ARGUMENTS = re.compile(r"\[[^\[\]]*+\]")
_EQUIVALENT_KINDS = frozenset({"function", "method", "component", "variable", "property"})


def changed_symbols(files: Sequence[FileVersions], workers: ProcessPool | None) -> list[SymbolChange]:
    """Return the changed definitions of all changed files, sorted by file and line."""
    pairs = _read_pairs(files, workers)
    changes = [
        change
        for file, (before, after) in zip(files, pairs, strict=True)
        for change in _compare_file(file, before, after)
    ]
    return _set_moves(_without_moved_modules(changes, [after for _, after in pairs], files))


def _read_pairs(
    files: Sequence[FileVersions], workers: ProcessPool | None
) -> list[tuple[FileDeclarations, FileDeclarations]]:
    """Return the declarations of both versions of each file."""
    versions = [(file.path_before or file.path, file.before) for file in files]
    versions += [(file.path or file.path_before, file.after) for file in files]
    wanted = [(at, VersionToRead(path, data)) for at, (path, data) in enumerate(versions) if data is not None]
    found = [NO_DECLARATIONS] * len(versions)
    for (at, _), declarations in zip(wanted, read_all([each for _, each in wanted], workers), strict=True):
        found[at] = declarations
    return list(zip(found[: len(files)], found[len(files) :], strict=True))


def _compare_file(file: FileVersions, before: FileDeclarations, after: FileDeclarations) -> Iterator[SymbolChange]:
    """Yield the changes of one file."""
    changes = [
        change
        for old, new in _pair_declarations(before, after)
        if (change := _describe_change(file, before, after, old, new))
    ]
    yield from _drop_nested_changes(_without_overload_breaks(changes, before, after))
    if before.outside_fingerprint != after.outside_fingerprint and before.language and after.language:
        yield SymbolChange(MODULE, file.name, "", 1, after.language, file.path_before)


def _without_overload_breaks(
    changes: Sequence[SymbolChange], before: FileDeclarations, after: FileDeclarations
) -> list[SymbolChange]:
    """Clear the `breaks` (reasons why users fail) of Python names that are defined several times.

    Overloads and properties are defined several times. Only the last definition has an effect at run time, but type
    checkers also use the others.
    """
    if after.language != "python":
        return list(changes)
    old, new = _by_label(before.declarations), _by_label(after.declarations)
    repeated = {label for found in (old, new) for label, rows in found.items() if len(rows) > 1}
    return [replace(each, breaks=()) if each.label in repeated and each.label in new else each for each in changes]


def _without_moved_modules(
    changes: Sequence[SymbolChange], after: Sequence[FileDeclarations], files: Sequence[FileVersions]
) -> list[SymbolChange]:
    """Clear the `breaks` of names that were removed with a Python module but are still provided by a package.

    For example, `shop.py` became `shop/__init__.py`, which imports the names. A stub `shop.pyi` repeats `shop.py`.
    """
    removed_modules = {file.path_before for file in files if not file.path}
    provided: dict[str, tuple[str, set[str]]] = {}
    for file, now in zip(files, after, strict=True):
        if file.path and now.language == "python":
            names = {each.name for each in now.declarations if not each.container} | now.imported | now.exported
            provided.setdefault(_module_of(file.path), (file.path, set()))[1].update(names)
    found = []
    for each in changes:
        path, names = provided.get(_module_of(each.path), ("", set()))
        if each.path.endswith(".pyi") and each.path.removesuffix("i") in removed_modules:
            found.append(replace(each, breaks=()))
            continue
        is_provided = each.kind == REMOVED and each.label in names and path != each.path
        found.append(replace(each, breaks=(), moved_to=path) if is_provided else each)
    return found


def _module_of(path: str) -> str:
    return path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")


def _pair_declarations(
    before: FileDeclarations, after: FileDeclarations
) -> Iterator[tuple[Declaration | None, Declaration | None]]:
    """Pair the declarations with equal qualified names, first by equal headers, then by order."""
    old, new = _by_label(before.declarations), _by_label(after.declarations)
    for label in dict.fromkeys((*old, *new)):
        olds, news = old.get(label, []), new.get(label, [])
        for each in list(olds):
            same = next((other for other in news if other.header == each.header), None)
            if same is not None:
                olds.remove(each)
                news.remove(same)
                yield each, same
        for number in range(max(len(olds), len(news))):
            yield olds[number] if number < len(olds) else None, news[number] if number < len(news) else None


def _by_label(declarations: Iterable[Declaration]) -> dict[str, list[Declaration]]:
    found: defaultdict[str, list[Declaration]] = defaultdict(list)
    for each in declarations:
        found[each.label].append(each)
    return found


def _describe_change(
    file: FileVersions,
    before: FileDeclarations,
    after: FileDeclarations,
    old: Declaration | None,
    new: Declaration | None,
) -> SymbolChange | None:
    """Return the change of one definition, or None if it is unchanged."""
    if new is None:
        return _describe_removal(file, before, after, old) if old is not None else None
    language = after.language
    if old is None:
        public = is_public(file.path, new, after)
        return SymbolChange(ADDED, file.path, new.label, new.line, language, after=new, is_public=public)
    if _has_same_interface(old, new) and old.body == new.body and old.members == new.members:
        return None
    kind = BODY if _has_same_interface(old, new) else SIGNATURE
    public = is_public(file.path_before, old, before)
    breaks = (
        _break_reasons(old, new, after, is_hidden=public and not is_public(file.path, new, after)) if public else ()
    )
    return SymbolChange(
        kind, file.path, new.label, new.line, language, file.path_before, old, new, is_public=public, breaks=breaks
    )


def _has_same_interface(old: Declaration, new: Declaration) -> bool:
    """Whether two versions of a definition have the same kind, header and parameters."""
    if old.parameters is None and new.parameters is None and old.kind in ("variable", "property"):
        return old.kind == new.kind  # the header of a variable includes the value, which may change
    return (old.header, old.parameters, old.kind) == (new.header, new.parameters, new.kind)


def _describe_removal(
    file: FileVersions, before: FileDeclarations, after: FileDeclarations, old: Declaration
) -> SymbolChange:
    """Return the change of a removed definition. It breaks no users if an import still provides the name."""
    is_imported = not old.container and old.name in after.imported | after.exported
    owners = [each for each in after.declarations if each.label == old.container]
    is_attribute = any(old.name in each.attributes for each in owners)
    public = is_public(file.path_before, old, before)
    change = SymbolChange(
        REMOVED, file.path_before, old.label, old.line, before.language, file.path_before, old, is_public=public
    )
    if is_imported:
        return replace(change, moved_to=file.path)
    if is_attribute:
        return change
    return replace(change, breaks=(f"{_kind_name(old)} removed",)) if public else change


def _kind_name(declaration: Declaration) -> str:
    return "definition" if declaration.kind in ("", "property") else declaration.kind


def _break_reasons(old: Declaration, new: Declaration, after: FileDeclarations, *, is_hidden: bool) -> tuple[str, ...]:
    """Return the reasons why a changed definition breaks users."""
    if is_hidden:
        return ("no longer public",)
    found: list[str] = []
    if old.parameters is not None and new.parameters is not None:
        found += parameter_breaks(old.parameters, new.parameters, calls_by_name=after.language in KEYWORD_SIGNS)
    if old.parameters is not None and new.parameters is None and new.kind not in _EQUIVALENT_KINDS:
        found.append(f"{old.kind} became {new.kind}")
    old_words, new_words = old.header.split(), new.header.split()
    is_async = "async" in new_words[:4] and "async" not in old_words[:4]
    if old.parameters is not None and is_async and not new.is_decorated:
        found.append("became async")
    found += [f"member `{name}` removed" for name in old.members if name not in new.members]
    bases = _all_python_bases(new, after)
    found += [f"base class `{name}` removed" for name in _python_bases(old) if name not in bases]
    return tuple(found)


def _python_bases(declaration: Declaration) -> list[str]:
    """Return the names of the base classes in the header of a Python class, without module and type arguments."""
    found = _PYTHON_BASES.match(declaration.header)
    text = found[1] if found else ""
    while (outer := _TYPE_ARGUMENTS.sub("", text)) != text:
        text = outer
    names = [each.strip() for each in text.split(",")]
    plain = [name.rpartition(".")[2] for name in names if "(" not in name and ")" not in name]
    return [name for name in plain if name and name != "object" and "=" not in name and "[" not in name]


def _all_python_bases(declaration: Declaration, file: FileDeclarations) -> set[str]:
    """Return the names of the base classes of a Python class and, if they are in the same file, of their bases."""
    known = {each.label: each for each in file.declarations}
    pending, found = [declaration], set[str]()
    while pending:
        names = [name for name in _python_bases(pending.pop()) if name not in found]
        found.update(names)
        pending += [known[name] for name in names if name in known]
    return found


def _drop_nested_changes(changes: Sequence[SymbolChange]) -> list[SymbolChange]:
    """Drop added and removed definitions whose container was also added or removed."""
    whole = {(each.kind, each.label) for each in changes if each.kind in (ADDED, REMOVED)}
    return [each for each in changes if whole.isdisjoint((each.kind, outer) for outer in _outer_labels(each.label))]


def _outer_labels(label: str) -> list[str]:
    parts = label.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _set_moves(changes: Sequence[SymbolChange]) -> list[SymbolChange]:
    """Set `moved_to` of each removed definition that was added elsewhere with the same body."""
    added: dict[tuple[str, bytes], SymbolChange] = {}
    for each in changes:
        if each.kind == ADDED and each.after is not None and each.after.body:
            added.setdefault((each.name, each.after.body), each)
    found = []
    for each in changes:
        twin = added.get((each.name, each.before.body)) if each.kind == REMOVED and each.before is not None else None
        found.append(replace(each, moved_to=twin.location) if twin is not None and not each.moved_to else each)
    return sorted(found, key=lambda each: (each.path, each.line))
