"""Installed npm packages as sources: README, documents and declarations of the version that the project uses."""

from __future__ import annotations

import hashlib
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deltos.domains.docs.installed import find_node
from deltos.domains.docs.model import Skipped, Unchanged, Unparsed
from deltos.domains.docs.node_api import PublicNames, describe_declarations
from deltos.domains.docs.node_imports import ImportedName, imported_names
from deltos.domains.docs.node_links import (
    DECLARATIONS,
    EVERYTHING,
    LinkedFile,
    candidates,
    declaration_candidates,
    public_names,
    read_links,
)
from deltos.domains.docs.package_files import NOT_DOCUMENTS, PackageFiles, bundled, document, reading, skipped
from deltos.domains.docs.pages import read_page, text_of
from deltos.errors import FileRefused, NotFound, ReadingStopped, SourceError
from deltos.fetch.files import MAX_FILE_BYTES, is_hidden, walk_files
from deltos.files import FileTree, read_below
from deltos.guarded import Task
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from deltos.domains.docs.installed import NodePackage
    from deltos.domains.docs.pages import PageText
    from deltos.guarded import Parser
    from deltos.store.documents import KnownPage, SourceRow

_MOST_PATTERNS = 200
_FORM = b"5"  # of what is kept of a file: pages of another form are read again


class NpmPackage(PackageFiles):
    """A package in the project's node_modules, with its @types and the packages that it passes on whole."""

    def __init__(self, source: SourceRow, parser: Parser) -> None:
        self._parser = parser
        self._name = source.url.partition(":")[2]
        self._root = Path(source.project_root)

    @cached_property
    def _package(self) -> NodePackage:
        return find_node(self._name, self._root)

    @cached_property
    def _declarations(self) -> dict[str, _Declarations]:
        """By the prefix of their addresses, the packages whose declarations are read."""
        found: dict[str, _Declarations] = {}
        waiting = deque([self._package, *self._types_apart()])
        while waiting:
            package = waiting.popleft()
            if _prefix(package) not in found:
                found[_prefix(package)] = read = _read_declarations(package, self._name, self._parser)
                waiting += self._passed_on(package, read)
                waiting += [part for name in package.types_of_parts for part in self._installed(name, package)]
        return found

    def _types_apart(self) -> list[NodePackage]:
        """The package of declarations that others wrote for this one; whoever installed it needs it."""
        return self._installed("@types/" + self._name.removeprefix("@").replace("/", "__"), self._package)

    def _passed_on(self, package: NodePackage, read: _Declarations) -> Iterator[NodePackage]:
        """The installed packages of which `package` exports everything."""
        for file in read.files.values():
            for export in file.exports:
                if export.name == EVERYTHING and not export.alias and not export.module.startswith("."):
                    yield from self._installed(_package_of(export.module), package)

    def _installed(self, name: str, importer: NodePackage) -> list[NodePackage]:
        try:
            return [find_node(name, self._root, importer.folder)]
        except (NotFound, SourceError):  # the latter: it is linked from outside
            return []

    @property
    def version(self) -> str:
        """The installed version."""
        return self._package.version

    def begin(self) -> Iterator[str | CrawlAddress]:
        """README and documents, then the type declarations that its entry points reach."""
        prefix = _prefix(self._package)
        if (patterns := sum("*" in entry for entry in self._package.entries)) > _MOST_PATTERNS:
            why = f"of its {patterns} patterns of exports only {_MOST_PATTERNS} are followed"
            yield CrawlAddress(f"{prefix}package.json", state="failed", reason=why)
        for path in walk_files(self._package.folder, (".md",), with_hidden=True):
            is_document = "/" not in path or path.startswith("docs/") or is_hidden(path)
            if path.endswith(".md") and is_document and not NOT_DOCUMENTS.search(PurePosixPath(path).name):
                yield document(prefix + path, path)
        for each, read in self._declarations.items():
            for path in read.documented:
                yield each + path

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """One file of the package."""
        prefix = next((each for each in self._declarations if address.url.startswith(each)), _prefix(self._package))
        read = self._declarations[prefix]
        path = address.url.removeprefix(prefix)
        try:
            data = read_below(read.package.folder, path, MAX_FILE_BYTES)
        except FileRefused as refused:
            return skipped(refused)
        public = PublicNames(read.names.get(path, {}), read.imports.get(path, {}), knows_imports=bool(read.imports))
        whole = data + repr(public).encode("utf-8", "replace")
        digest = hashlib.blake2b(whole, digest_size=16, salt=_FORM).digest()
        if known and known.hash == digest:
            return Unchanged()
        if path.endswith(".md"):
            task = Task(read_page, (bundled(path, data, address.url),), (data,))
        else:
            task = Task(read_declarations, (f"{read.package.name}/{path}", data, public), (data,))
        return Unparsed(task, partial(reading, address.url, digest))


@dataclass(frozen=True, slots=True)
class _Declarations:
    """The declaration files that the entry points of a package reach, and the names they are known by."""

    package: NodePackage
    files: dict[str, LinkedFile]
    documented: tuple[str, ...]  # without files that say what another one says
    names: dict[str, dict[str, list[str]]]
    imports: dict[str, dict[str, ImportedName]]


def _read_declarations(package: NodePackage, imported_as: str, parser: Parser) -> _Declarations:
    """Declaration files from the entry points on, in the order they are reached; plain JavaScript without any.

    `imported_as` is the package that users import: another one where this one holds its types, or is passed on by it.
    """
    files: dict[str, LinkedFile] = {}
    digests: dict[str, bytes] = {}
    with FileTree(package.folder) as tree:
        waiting = deque(_entries(package, tree))
        while waiting:
            path = waiting.popleft()
            if path in files or not tree.is_file(path):
                continue
            files[path] = LinkedFile({}, ())
            with suppress(FileRefused, ReadingStopped):  # read as a page, it is counted with the reason
                data = tree.read(path, MAX_FILE_BYTES)
                digests[path] = _digest(data)
                links = parser.run(read_links, path, data, content=(data,))
                modules = {*links.imports, *(e.module for e in links.exports if e.module.startswith("."))}
                targets = {name: _first_file(tree, candidates(path, name)) for name in sorted(modules)}
                files[path] = LinkedFile(targets, links.exports, links.declared)
                waiting += [target for name in links.imports if (target := targets[name])]
        specifiers = [
            (imported_as + name.removeprefix(package.name), path) for name, path in _specifiers(package, tree)
        ]
    return _without_twins(package, files, digests, imported_names(files, specifiers, imported_as))


def _specifiers(package: NodePackage, tree: FileTree) -> Iterator[tuple[str, str]]:
    """What users import, with the declaration file that it means."""
    patterns: list[tuple[str, str, str, str]] = []
    for specifier, entry in package.specifiers:
        if "*" not in entry:
            if path := _first_file(tree, declaration_candidates(entry)):
                yield specifier, path
        elif len(patterns) < _MOST_PATTERNS:
            patterns.append((*specifier.partition("*")[::2], *entry.partition("*")[::2]))
    for path in walk_files(package.folder, DECLARATIONS) if patterns else ():
        for opening, closing, begin, end in patterns:
            if path.startswith(begin) and path.endswith(end):
                yield opening + path.removeprefix(begin).removesuffix(end) + closing, path
                break


def _entries(package: NodePackage, tree: FileTree) -> Iterator[str]:
    """The existing files that the entries of a package mean: declarations, or code where there are none."""
    single = (_first_file(tree, declaration_candidates(entry)) for entry in package.entries if "*" not in entry)
    found = [path for path in single if path]
    patterns = [entry.partition("*")[::2] for entry in package.entries if "*" in entry][:_MOST_PATTERNS]
    if patterns:  # each file is compared with all of them: one walk, and not too many
        every = walk_files(package.folder, DECLARATIONS)
        found += (p for p in every if any(p.startswith(begin) and p.endswith(end) for begin, end in patterns))
    yield from found or (path for path in package.entries if tree.is_file(path))


def _first_file(tree: FileTree, paths: list[str]) -> str:
    return next((path for path in paths if tree.is_file(path)), "")


def _without_twins(
    package: NodePackage,
    files: dict[str, LinkedFile],
    digests: dict[str, bytes],
    imports: dict[str, dict[str, ImportedName]],
) -> _Declarations:
    """Declarations for `import` and for `require` say the same: each is documented once."""
    names = public_names(files)
    kept: dict[bytes | str, str] = {}
    documented: list[str] = []
    for path in files:
        twin = _twin(path, files)
        same = twin or kept.setdefault(digests.get(path, path), path)
        if same == path:
            documented.append(path)
            continue
        imports[same] = {**imports.pop(path, {}), **imports.get(same, {})}
        for name, aliases in names.pop(path, {}).items():
            if twin and name not in names.get(twin, {}):  # the other form says it in another way
                continue
            known = names.setdefault(same, {}).setdefault(name, [])
            known += [alias for alias in aliases if alias not in known]
    return _Declarations(package, files, tuple(documented), names, imports)


def _twin(path: str, files: Container[str]) -> str:
    """The declarations for `import` beside those for `require`, which may be written differently; empty without."""
    if not path.endswith(".d.cts"):
        return ""
    stem = path.removesuffix(".d.cts")
    return next((other for other in (f"{stem}.d.ts", f"{stem}.d.mts") if other in files), "")


def _digest(data: bytes) -> bytes:
    """Of what a file declares: twins for `import` and `require` differ in the suffixes of the files that they name."""
    for suffix, usual in ((b".cjs", b".js"), (b".mjs", b".js"), (b".cts", b".ts"), (b".mts", b".ts")):
        data = data.replace(suffix, usual)
    return hashlib.blake2b(data, digest_size=16).digest()


def _prefix(package: NodePackage) -> str:
    return f"npm:{package.name}@{package.version}/"


def _package_of(specifier: str) -> str:
    """`@vue/runtime-dom/dist/x` as `@vue/runtime-dom`."""
    return "/".join(specifier.split("/")[: 2 if specifier.startswith("@") else 1])


# ---------------------------------------------------------------------- what runs in a child process


def read_declarations(name: str, data: bytes, public: PublicNames) -> PageText:
    """The API that a TypeScript or JavaScript file declares."""
    return text_of(describe_declarations(name, data, public))
