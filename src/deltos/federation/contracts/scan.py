"""Scan a project for routes and client calls. Only files that contain a marker of a framework are parsed."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.federation.contracts.endpoints import find_endpoints
from deltos.federation.contracts.frameworks import frameworks
from deltos.federation.contracts.names import ContractNames
from deltos.federation.contracts.syntax import extract_facts
from deltos.federation.contracts.wrappers import wrapper_pattern
from deltos.languages.table import detect
from deltos.linear_regex import compile_regex
from deltos.workspace.admission import read_source, to_utf8
from deltos.workspace.batches import file_limits
from deltos.workspace.file_purpose import is_test
from deltos.workspace.source_tree import source_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.federation.contracts.facts import ContractFacts
    from deltos.federation.contracts.frameworks import Framework
    from deltos.federation.contracts.model import CodeEndpoint
    from deltos.isolated.process_pool import ProcessPool
    from deltos.workspace.project_index import ProjectIndex

MAX_PARSED_FILES = 4_000  # maximum number of parsed files per project
MAX_FILE_BYTES = 1_000_000
MAX_QUICK_FILES = 300  # maximum number of files of a project that is scanned in about a second
_FIRST_NAME_PART = re.compile(r"(?<![\w.])\w+")  # first part of each dotted name
_MAX_IMPORT_DEPTH = 3  # maximum depth of imports that are followed to find constants and routers
_MAX_CACHED_FILES = 4_000
_MAX_CACHED_PROJECTS = 50
_SCANNED_LANGUAGES = frozenset(language for framework in frameworks() for language in framework.languages)


class SourceToScan(NamedTuple):
    """A source file to search for endpoints."""

    language: str
    path: str
    data: bytes


Sources = Callable[[Iterable[str]], Iterator[SourceToScan]]
"""Reads the files with the given paths; unreadable files and other paths are omitted."""


def extract_file(file: SourceToScan) -> ContractFacts | None:
    """Return the facts of a file. This function runs in a child process."""
    return extract_facts(file.language, file.path, file.data)


@dataclass(slots=True)
class ProjectEndpoints:
    """The endpoints of a project, and the number of files that could not be parsed."""

    endpoints: list[CodeEndpoint] = field(default_factory=list)
    unparsed_files: int = 0


class EndpointScanner:
    """Scans projects for endpoints. Results are cached until the index of the project changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._projects: OrderedDict[tuple[str, str], ProjectEndpoints] = OrderedDict()
        self._facts: OrderedDict[tuple[str, bytes], ContractFacts | None] = OrderedDict()

    def endpoints(self, index: ProjectIndex) -> ProjectEndpoints:
        """Return the endpoints of an indexed project."""
        key = (str(index.project.root), index.store.facts().synced_at)
        with self._lock:
            if key not in self._projects:
                self._projects[key] = self._scan(index)
                while len(self._projects) > _MAX_CACHED_PROJECTS:
                    self._projects.popitem(last=False)
            return self._projects[key]

    def is_quick(self, index: ProjectIndex) -> bool:
        """Whether the endpoints are cached, or the project is so small that the first scan is fast."""
        key = (str(index.project.root), index.store.facts().synced_at)
        return key in self._projects or index.store.file_count() <= MAX_QUICK_FILES

    def _scan(self, index: ProjectIndex) -> ProjectEndpoints:
        paths, generated = index.store.files().keys(), index.store.generated_paths()
        languages = {path: language.name for path in paths if (language := detect(path)) is not None}
        searched = sorted(path for path, name in languages.items() if name in _SCANNED_LANGUAGES and not is_test(path))
        with source_tree(index.project.root, index.store, order=searched) as tree:

            def read(path: str) -> bytes | None:
                data = read_source(tree, path)
                return to_utf8(data) if data is not None and len(data) <= MAX_FILE_BYTES else None

            def sources(paths: Iterable[str]) -> Iterator[SourceToScan]:
                return (SourceToScan(languages[path], path, data) for path in paths if (data := read(path)) is not None)

            active, files, unparsed = collect_facts(searched, sources, lambda files: self._parse(files, index.workers))
        found = find_endpoints(searched, files, active, index.store.graph.symbols_named)
        in_generated = {each.name for each in frameworks() if each.generated}
        found = [each for each in found if each.declared_at.path not in generated or each.framework in in_generated]
        return ProjectEndpoints(found, unparsed)

    def _parse(self, sources: Sequence[SourceToScan], workers: ProcessPool | None) -> dict[str, ContractFacts]:
        """Return the facts of each file by path. Files that could not be parsed within the limits are omitted."""
        keys = {source.path: (source.path, hashlib.sha256(source.data).digest()) for source in sources}
        new = [source for source in sources if keys[source.path] not in self._facts]
        if workers is None:
            for source in new:
                self._facts[keys[source.path]] = extract_file(source)
        else:
            replies = workers.run_each(extract_file, (), new, lambda source: file_limits(len(source.data)))
            for source, reply in zip(new, replies, strict=True):
                self._facts[keys[source.path]] = reply.value if reply.error is None else None
        found = {path: facts for path, key in keys.items() if (facts := self._facts.get(key)) is not None}
        while len(self._facts) > _MAX_CACHED_FILES:
            self._facts.popitem(last=False)
        return found


def collect_facts(
    paths: Sequence[str], sources: Sources, parse: Callable[[Sequence[SourceToScan]], dict[str, ContractFacts]]
) -> tuple[set[str], dict[str, ContractFacts], int]:
    """Parse the files of a project that may contain routes or client calls, and the files that these import.

    Return the names of the frameworks in use, the facts of each file, and the number of files that were not parsed.
    """
    active, candidates = find_candidates(sources(paths))
    files: dict[str, ContractFacts] = {}
    unparsed, wanted = 0, candidates
    for has_callers in (False, True):
        if has_callers:
            wanted = find_wrapper_callers(files, sources(path for path in paths if path not in files))
        for _ in range(_MAX_IMPORT_DEPTH + 1):
            if not wanted:
                break
            room = MAX_PARSED_FILES - len(files)
            read = list(sources(wanted[:room]))
            parsed = parse(read)
            files |= parsed
            unparsed += len(read) - len(parsed) + len(wanted[room:])
            wanted = imported_files(ContractNames(paths, files), parsed.values(), files)
    return active, files, unparsed


def find_candidates(files: Iterable[SourceToScan]) -> tuple[set[str], list[str]]:
    """Return the names of the frameworks that a project uses, and the files that may contain their routes or calls."""
    by_language: dict[str, list[Framework]] = {}
    for framework in frameworks():
        for language in framework.languages:
            by_language.setdefault(language, []).append(framework)
    active: set[str] = set()
    hinted: dict[str, list[str]] = {}
    for language, path, data in files:
        for framework in by_language.get(language, ()):
            if framework.name not in active and framework.marker_pattern.search(data):
                active.add(framework.name)
            if framework.file_pattern.search(path.encode()) and framework.hint_pattern.search(data):
                hinted.setdefault(path, []).append(framework.name)
    return active, [path for path, found in hinted.items() if not active.isdisjoint(found)]


def find_wrapper_callers(parsed: Mapping[str, ContractFacts], files: Iterable[SourceToScan]) -> list[str]:
    """Return the unparsed files that may call the wrappers of HTTP clients in the parsed files."""
    patterns = wrapper_pattern(parsed.values())
    if patterns is None:
        return []
    function, module = map(compile_regex, patterns)
    languages = {file.language for file in parsed.values()}
    return [
        path for language, path, data in files
        if language in languages and module.search(data) and function.search(data)
    ]  # fmt: skip


def imported_files(names: ContractNames, parsed: Iterable[ContractFacts], known: dict[str, ContractFacts]) -> list[str]:
    """Return the unparsed files that may define names used in the parsed files."""
    found: dict[str, None] = {}
    for file in parsed:
        used = _used_names(file)
        for each in file.imports:
            is_reexport = each.module.startswith(".") and not file.assignments
            if each.local in used or is_reexport:
                for path, _ in names.imported(file, each.local):
                    found[path] = None
        if file.language == "python":
            for call in file.calls.values():
                if call.name == "include" and call.arguments and call.arguments[0].kind == "text":
                    found |= dict.fromkeys(names.module_files(file, call.arguments[0].text))
        if file.language in ("java", "csharp", "kotlin"):  # classes of the same package need no import
            for head in used:
                found |= dict.fromkeys(names.module_files(file, head) if head[:1].isupper() else ())
        if file.language == "rust":
            for head in used:
                found |= dict.fromkeys(names.module_files(file, head))
    return [path for path in found if path not in known]


def _used_names(file: ContractFacts) -> set[str]:
    """Return the first part of each dotted name in calls, annotations, base classes and assigned values."""
    used: set[str] = set()
    invocations = (*file.calls.values(), *file.annotations)
    pending = [value for each in invocations for value in (*each.arguments, *(one for _, one in each.keywords))]
    pending += [each.on for each in invocations if each.on is not None]
    pending += [each.value for each in file.assignments]
    used |= {each.name for each in file.calls.values() if each.on is None}
    used |= {word for each in file.classes.values() for base in each.bases for word in _FIRST_NAME_PART.findall(base)}
    while pending:
        value = pending.pop()
        if value.kind == "name":
            used.add(value.text.partition(".")[0])
        pending += [*value.parts, *(each for _, each in value.keywords)]
    return used
