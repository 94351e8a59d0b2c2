"""Read installed npm packages as sources: README, documents and type declarations of the installed version."""

from __future__ import annotations

import hashlib
from collections import deque
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.installed_packages import find_npm_package
from deltos.domains.docs.local_files import (
    NON_DOCUMENT_FILE,
    LocalFiles,
    bundled_page,
    document_address,
    page_outcome,
    skip_or_raise,
)
from deltos.domains.docs.model import Skipped, Unchanged, Unparsed
from deltos.domains.docs.node_api import describe_declarations
from deltos.domains.docs.node_exports import (
    DECLARATION_FILE_SUFFIXES,
    DeclarationFiles,
    ImportableNames,
    declaration_candidates,
)
from deltos.domains.docs.pages import page_text, read_page
from deltos.errors import FileRefused, NotFound, SourceError
from deltos.fetch.files import MAX_FILE_BYTES, is_hidden, walk_files
from deltos.files import FileTree, read_below
from deltos.isolated_parser import Task
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.docs.installed_packages import NodePackage
    from deltos.domains.docs.pages import PageText
    from deltos.isolated_parser import Parser
    from deltos.store.documents import KnownPage, SourceRow

_MAX_EXPORT_PATTERNS = 200  # maximum number of `exports` entries that contain a wildcard
_FORMAT_VERSION = b"6"  # format version of the stored pages; if it changes, all files are parsed again


class _DeclaredFile(NamedTuple):
    """A declaration file of a package, and the names under which users import its declarations."""

    package: NodePackage
    path: str
    names: ImportableNames


class NpmPackage(LocalFiles):
    """A package in the project's node_modules, with its `@types` package and packages from which it re-exports."""

    def __init__(self, source: SourceRow, parser: Parser) -> None:
        self._parser = parser
        self._name = source.url.partition(":")[2]
        self._root = Path(source.project_root)

    @cached_property
    def _package(self) -> NodePackage:
        return find_npm_package(self._name, self._root)

    @cached_property
    def _declarations(self) -> dict[str, _DeclaredFile]:
        """The declaration files of the package and of related packages, by URL."""
        found: dict[str, _DeclaredFile] = {}
        types = f"@types/{self._name.removeprefix('@').replace('/', '__')}"
        queue = deque([self._package, *self._find_installed([types], self._package)])
        known: set[str] = set()
        while queue:
            package = queue.popleft()
            if package.name in known:
                continue
            known.add(package.name)
            files = _read_declarations(package, self._name)
            for path, names in files.importable.items():
                found[_url_prefix(package) + path] = _DeclaredFile(package, path, names)
            related = (_package_name(module) for module in files.star_modules)
            queue += self._find_installed([*related, *package.type_packages], package)
        return found

    def _find_installed(self, names: list[str], importer: NodePackage) -> Iterator[NodePackage]:
        """Yield the installed packages that the package `importer` imports under the given names."""
        for name in names:
            try:
                yield find_npm_package(name, self._root, importer.folder)
            except (NotFound, SourceError):  # SourceError is raised for an invalid package.json
                continue

    @property
    def version(self) -> str:
        """The installed version."""
        return self._package.version

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Yield the URLs of the README and documents, then of the type declarations that users can import."""
        prefix = _url_prefix(self._package)
        if (patterns := sum("*" in path for _, path in self._package.entries)) > _MAX_EXPORT_PATTERNS:
            why = f"only the first {_MAX_EXPORT_PATTERNS} of its {patterns} export patterns were read"
            yield CrawlAddress(f"{prefix}package.json", state="failed", reason=why)
        for path in walk_files(self._package.folder, (".md",), with_hidden=True):
            is_document = "/" not in path or path.startswith("docs/") or is_hidden(path)
            if path.endswith(".md") and is_document and not NON_DOCUMENT_FILE.search(PurePosixPath(path).name):
                yield document_address(prefix + path, path)
        yield from self._declarations

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file of the package."""
        path = address.url.removeprefix(_url_prefix(self._package))
        declared = self._declarations.get(address.url, _DeclaredFile(self._package, path, ImportableNames()))
        try:
            data = read_below(declared.package.folder, declared.path, MAX_FILE_BYTES)
        except FileRefused as refused:
            return skip_or_raise(refused)
        whole = data + repr(declared.names).encode("utf-8", "replace")
        digest = hashlib.blake2b(whole, digest_size=16, salt=_FORMAT_VERSION).digest()
        if known and known.hash == digest:
            return Unchanged()
        if path.endswith(".md"):
            task = Task(read_page, (bundled_page(path, data, address.url),), (data,))
        else:
            name = f"{declared.package.name}/{declared.path}"
            task = Task(read_declarations, (name, data, declared.names), (data,))
        return Unparsed(task, partial(page_outcome, address.url, digest))


def _read_declarations(package: NodePackage, imported_as: str) -> DeclarationFiles:
    """Follow the exports of a package's declaration files. If there are none, follow those of its JavaScript files.

    `imported_as` is the name of the package that users import; for `@types` and re-exported packages, it differs from
    the name of the package.
    """

    def read(path: str) -> str | None:
        try:
            return read_below(package.folder, path, MAX_FILE_BYTES).decode("utf-8", "replace")
        except FileRefused:
            return None

    files = DeclarationFiles(read)
    with FileTree(package.folder) as tree:
        entries = list(_declared_entries(package, tree))
        if not entries:
            entries = [(specifier, path) for specifier, path in package.entries if tree.is_file(path)][:1]
    named = [(imported_as + specifier.removeprefix(package.name), path) for specifier, path in entries]
    files.follow(named, imported_as)
    return files


def _declared_entries(package: NodePackage, tree: FileTree) -> Iterator[tuple[str, str]]:
    """Yield the import paths of a package, each with its declaration file. Variants for `require` are left out."""
    patterns: list[tuple[str, str, str, str]] = []
    specifiers: set[str] = set()
    for specifier, entry in package.entries:
        if "*" in entry and len(patterns) < _MAX_EXPORT_PATTERNS:
            patterns.append((*specifier.partition("*")[::2], *entry.partition("*")[::2]))
        elif "*" not in entry and specifier not in specifiers:
            path = next((each for each in declaration_candidates(entry) if tree.is_file(each)), "")
            if path:
                specifiers.add(specifier)
                yield specifier, path
    for path in walk_files(package.folder, DECLARATION_FILE_SUFFIXES) if patterns else ():
        for opening, closing, begin, end in patterns:
            if path.startswith(begin) and path.endswith(end):
                yield opening + path.removeprefix(begin).removesuffix(end) + closing, path
                break


def _url_prefix(package: NodePackage) -> str:
    return f"npm:{package.name}@{package.version}/"


def _package_name(specifier: str) -> str:
    """Return the package name in a specifier: `@vue/runtime-dom` for `@vue/runtime-dom/dist/x`."""
    return "/".join(specifier.split("/")[: 2 if specifier.startswith("@") else 1])


# ---------------------------------------------------------------------- functions run in a child process


def read_declarations(name: str, data: bytes, names: ImportableNames) -> PageText:
    """Return the API that a TypeScript or JavaScript file declares, split into chunks."""
    return page_text(describe_declarations(name, data, names))
