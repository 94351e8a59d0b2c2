"""Read installed npm packages as sources: README, documents and type declarations of the installed version."""

from __future__ import annotations

import hashlib
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

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
from deltos.domains.docs.node_api import PublicNames, describe_declarations
from deltos.domains.docs.node_imports import PackageImport, shortest_imports
from deltos.domains.docs.node_links import (
    ALL_NAMES,
    DECLARATION_FILE_SUFFIXES,
    LinkedFile,
    declaration_candidates,
    import_candidates,
    public_names,
    read_links,
)
from deltos.domains.docs.pages import page_text, read_page
from deltos.errors import FileRefused, NotFound, ParserStopped, SourceError
from deltos.fetch.files import MAX_FILE_BYTES, is_hidden, walk_files
from deltos.files import FileTree, read_below
from deltos.isolated_parser import Task
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from deltos.domains.docs.installed_packages import NodePackage
    from deltos.domains.docs.pages import PageText
    from deltos.isolated_parser import Parser
    from deltos.store.documents import KnownPage, SourceRow

_MAX_EXPORT_PATTERNS = 200  # maximum number of `exports` entries that contain a wildcard
_FORMAT_VERSION = b"5"  # format version of the stored pages; if it changes, all files are parsed again


class NpmPackage(LocalFiles):
    """A package in the project's node_modules, with its `@types` package and the packages that it re-exports."""

    def __init__(self, source: SourceRow, parser: Parser) -> None:
        self._parser = parser
        self._name = source.url.partition(":")[2]
        self._root = Path(source.project_root)

    @cached_property
    def _package(self) -> NodePackage:
        return find_npm_package(self._name, self._root)

    @cached_property
    def _declarations(self) -> dict[str, _DeclarationFiles]:
        """The declaration files of the package and of related packages, by URL prefix."""
        found: dict[str, _DeclarationFiles] = {}
        queue = deque([self._package, *self._find_types_packages()])
        while queue:
            package = queue.popleft()
            if _url_prefix(package) not in found:
                found[_url_prefix(package)] = read = _read_declarations(package, self._name, self._parser)
                queue += self._reexported_packages(package, read)
                queue += [each for name in package.type_packages for each in self._find_installed(name, package)]
        return found

    def _find_types_packages(self) -> list[NodePackage]:
        """Return the installed `@types` package of this package; empty if there is none."""
        return self._find_installed("@types/" + self._name.removeprefix("@").replace("/", "__"), self._package)

    def _reexported_packages(self, package: NodePackage, read: _DeclarationFiles) -> Iterator[NodePackage]:
        """Yield the installed packages that `package` re-exports with `export *`."""
        for file in read.files.values():
            for export in file.exports:
                if export.name == ALL_NAMES and not export.alias and not export.module.startswith("."):
                    yield from self._find_installed(_package_name(export.module), package)

    def _find_installed(self, name: str, importer: NodePackage) -> list[NodePackage]:
        """Return the installed package that `importer` imports as `name`; empty if that package is not installed."""
        try:
            return [find_npm_package(name, self._root, importer.folder)]
        except (NotFound, SourceError):  # SourceError is raised for a link to a folder outside the project
            return []

    @property
    def version(self) -> str:
        """The installed version."""
        return self._package.version

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Yield the URLs of the README and documents, then of the type declarations that users can import."""
        prefix = _url_prefix(self._package)
        if (patterns := sum("*" in entry for entry in self._package.entries)) > _MAX_EXPORT_PATTERNS:
            why = f"only the first {_MAX_EXPORT_PATTERNS} of its {patterns} export patterns were read"
            yield CrawlAddress(f"{prefix}package.json", state="failed", reason=why)
        for path in walk_files(self._package.folder, (".md",), with_hidden=True):
            is_document = "/" not in path or path.startswith("docs/") or is_hidden(path)
            if path.endswith(".md") and is_document and not NON_DOCUMENT_FILE.search(PurePosixPath(path).name):
                yield document_address(prefix + path, path)
        for url_prefix, read in self._declarations.items():
            for path in read.documented_paths:
                yield url_prefix + path

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file of the package."""
        prefix = next((each for each in self._declarations if address.url.startswith(each)), _url_prefix(self._package))
        read = self._declarations[prefix]
        path = address.url.removeprefix(prefix)
        try:
            data = read_below(read.package.folder, path, MAX_FILE_BYTES)
        except FileRefused as refused:
            return skip_or_raise(refused)
        public = PublicNames(read.names.get(path, {}), read.imports.get(path, {}), knows_imports=bool(read.imports))
        whole = data + repr(public).encode("utf-8", "replace")
        digest = hashlib.blake2b(whole, digest_size=16, salt=_FORMAT_VERSION).digest()
        if known and known.hash == digest:
            return Unchanged()
        if path.endswith(".md"):
            task = Task(read_page, (bundled_page(path, data, address.url),), (data,))
        else:
            task = Task(read_declarations, (f"{read.package.name}/{path}", data, public), (data,))
        return Unparsed(task, partial(page_outcome, address.url, digest))


@dataclass(frozen=True, slots=True)
class _DeclarationFiles:
    """The declaration files reachable from the entry points of a package, with their public names and imports."""

    package: NodePackage
    files: dict[str, LinkedFile]
    documented_paths: tuple[str, ...]  # paths of the documented files; `require` variants of other files are left out
    names: dict[str, dict[str, list[str]]]
    imports: dict[str, dict[str, PackageImport]]


def _read_declarations(package: NodePackage, imported_as: str, parser: Parser) -> _DeclarationFiles:
    """Read the declaration files reachable from the entry points, or the JavaScript files if there are none.

    `imported_as` is the name of the package that users import; for `@types` and re-exported packages, it differs from
    the name of the package.
    """
    files: dict[str, LinkedFile] = {}
    digests: dict[str, bytes] = {}
    with FileTree(package.folder) as tree:
        queue = deque(_entry_files(package, tree))
        while queue:
            path = queue.popleft()
            if path in files or not tree.is_file(path):
                continue
            files[path] = LinkedFile({}, ())
            # Ignored here, because the crawl reports the error when it reads the file.
            with suppress(FileRefused, ParserStopped):
                data = tree.read(path, MAX_FILE_BYTES)
                digests[path] = _digest(data)
                links = parser.run(read_links, path, data, content=(data,))
                modules = {*links.imports, *(e.module for e in links.exports if e.module.startswith("."))}
                targets = {name: _first_file(tree, import_candidates(path, name)) for name in sorted(modules)}
                files[path] = LinkedFile(targets, links.exports, links.declared_names)
                queue += [target for name in links.imports if (target := targets[name])]
        specifiers = [
            (imported_as + name.removeprefix(package.name), path) for name, path in _import_specifiers(package, tree)
        ]
    return _merge_variants(package, files, digests, shortest_imports(files, specifiers, imported_as))


def _import_specifiers(package: NodePackage, tree: FileTree) -> Iterator[tuple[str, str]]:
    """Yield the import specifiers of a package, each with its declaration file."""
    patterns: list[tuple[str, str, str, str]] = []
    for specifier, entry in package.specifiers:
        if "*" not in entry:
            if path := _first_file(tree, declaration_candidates(entry)):
                yield specifier, path
        elif len(patterns) < _MAX_EXPORT_PATTERNS:
            patterns.append((*specifier.partition("*")[::2], *entry.partition("*")[::2]))
    for path in walk_files(package.folder, DECLARATION_FILE_SUFFIXES) if patterns else ():
        for opening, closing, begin, end in patterns:
            if path.startswith(begin) and path.endswith(end):
                yield opening + path.removeprefix(begin).removesuffix(end) + closing, path
                break


def _entry_files(package: NodePackage, tree: FileTree) -> Iterator[str]:
    """Yield the declaration files of a package's entry points; if there are none, yield the entry files."""
    single = (_first_file(tree, declaration_candidates(entry)) for entry in package.entries if "*" not in entry)
    found = [path for path in single if path]
    patterns = [entry.partition("*")[::2] for entry in package.entries if "*" in entry][:_MAX_EXPORT_PATTERNS]
    if patterns:  # all patterns are matched against every file in one pass
        every = walk_files(package.folder, DECLARATION_FILE_SUFFIXES)
        found += (p for p in every if any(p.startswith(begin) and p.endswith(end) for begin, end in patterns))
    yield from found or (path for path in package.entries if tree.is_file(path))


def _first_file(tree: FileTree, paths: list[str]) -> str:
    return next((path for path in paths if tree.is_file(path)), "")


def _merge_variants(
    package: NodePackage,
    files: dict[str, LinkedFile],
    digests: dict[str, bytes],
    imports: dict[str, dict[str, PackageImport]],
) -> _DeclarationFiles:
    """Merge the `import` and `require` variants of declaration files, so that only one variant is documented."""
    names = public_names(files)
    kept: dict[bytes | str, str] = {}
    documented: list[str] = []
    for path in files:
        variant = _import_variant(path, files)
        same = variant or kept.setdefault(digests.get(path, path), path)
        if same == path:
            documented.append(path)
            continue
        imports[same] = {**imports.pop(path, {}), **imports.get(same, {})}
        for name, aliases in names.pop(path, {}).items():
            if variant and name not in names.get(variant, {}):  # only the `require` variant declares the name
                continue
            known = names.setdefault(same, {}).setdefault(name, [])
            known += [alias for alias in aliases if alias not in known]
    return _DeclarationFiles(package, files, tuple(documented), names, imports)


def _import_variant(path: str, files: Container[str]) -> str:
    """Return the path of the `import` variant of a `.d.cts` file; empty if there is none."""
    if not path.endswith(".d.cts"):
        return ""
    stem = path.removesuffix(".d.cts")
    return next((other for other in (f"{stem}.d.ts", f"{stem}.d.mts") if other in files), "")


def _digest(data: bytes) -> bytes:
    """Return a hash of a declaration file; the `import` and `require` variants of a file have the same hash."""
    for suffix, common in ((b".cjs", b".js"), (b".mjs", b".js"), (b".cts", b".ts"), (b".mts", b".ts")):
        data = data.replace(suffix, common)
    return hashlib.blake2b(data, digest_size=16).digest()


def _url_prefix(package: NodePackage) -> str:
    return f"npm:{package.name}@{package.version}/"


def _package_name(specifier: str) -> str:
    """Return the package name in a specifier: `@vue/runtime-dom` for `@vue/runtime-dom/dist/x`."""
    return "/".join(specifier.split("/")[: 2 if specifier.startswith("@") else 1])


# ---------------------------------------------------------------------- functions run in a child process


def read_declarations(name: str, data: bytes, public: PublicNames) -> PageText:
    """Return the API that a TypeScript or JavaScript file declares, split into chunks."""
    return page_text(describe_declarations(name, data, public))
