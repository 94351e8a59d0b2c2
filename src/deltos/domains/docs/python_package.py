"""Read installed Python distributions as sources: README, public API and bundled documents."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deltos.domains.docs.installed_packages import distribution_of, find_python_distribution
from deltos.domains.docs.local_files import (
    NON_DOCUMENT_FILE,
    LocalFiles,
    bundled_page,
    document_address,
    page_outcome,
    skip_or_raise,
)
from deltos.domains.docs.model import Skipped, Unchanged, Unparsed
from deltos.domains.docs.pages import RawPage, page_text, read_page
from deltos.domains.docs.python_api import describe_module
from deltos.domains.docs.python_names import (
    module_name,
    public_modules,
    reexports,
    sources_without_stubs,
)
from deltos.errors import FileRefused, SourceError
from deltos.fetch.files import MAX_FILE_BYTES
from deltos.files import read_below
from deltos.isolated_parser import Task
from deltos.markup.formats import MAN_SUFFIXES, SUFFIXES
from deltos.markup.model import join_blocks
from deltos.store.documents import CrawlAddress, SourceRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.docs.installed_packages import PythonDistribution
    from deltos.domains.docs.pages import PageText
    from deltos.domains.docs.python_names import DocumentedModule, Reexport
    from deltos.isolated.wire import Reply
    from deltos.isolated_parser import Parser
    from deltos.markup.formats import Format
    from deltos.store.documents import KnownPage

_README = "README"
_DOCUMENT_SUFFIXES = SUFFIXES.difference(MAN_SUFFIXES)
_FORMAT_VERSION = b"9"  # format version of the stored pages; if it changes, all files are parsed again


@dataclass(frozen=True, slots=True)
class DocumentedDefinition:
    """Signature and docstring of a public name, and the URL of the file that defines the name."""

    url: str
    text: str


def find_definition(
    name: str, project_root: Path, environments: Sequence[Path] = (), *, parser: Parser
) -> DocumentedDefinition | None:
    """Return the documentation of a public name of an installed Python package, or None if it cannot be found."""
    if "." not in name:
        return None
    distribution = distribution_of(name.partition(".")[0], project_root, environments)
    if not distribution:
        return None
    source = SourceRow("", distribution, "pypi", f"pypi:{distribution}", project_root=project_root.as_posix())
    try:
        return PythonPackage(source, environments, parser).definition(name)
    except SourceError:  # for example, a file of the package cannot be read
        return None


def _may_define(module: DocumentedModule, name: str) -> bool:
    """Whether a module may define a public name, according to the module's exports."""
    if module.is_public and name.startswith(f"{module.name}."):
        return True
    starts = (public.removesuffix("*") if public.endswith("*") else f"{public}." for public in module.exports.values())
    return f"{name}.".startswith(tuple(starts))


class PythonPackage(LocalFiles):
    """A distribution in the project's virtual environment."""

    def __init__(self, source: SourceRow, environments: Sequence[Path], parser: Parser) -> None:
        self._parser = parser
        self._name = source.url.partition(":")[2]
        self._root = Path(source.project_root)
        self._environments = environments

    @cached_property
    def _distribution(self) -> PythonDistribution:
        return find_python_distribution(self._name, self._root, self._environments)

    @cached_property
    def _modules(self) -> dict[str, DocumentedModule]:
        """The modules of the distribution that have public names, by file path."""
        files = [path for path in self._distribution.files if path.endswith((".py", ".pyi"))]
        content = ("\n".join(files).encode("utf-8", "replace"), repr(self._reexported).encode())
        modules = self._parser.run(public_modules, files, self._reexported, content=content)
        return {module.path: module for module in modules}

    @cached_property
    def _reexported(self) -> dict[str, list[Reexport]]:
        """The re-exports of each module, by name of the module."""
        return {module: reply.value for module, _, reply in self._reexport_replies if reply.error is None}

    @cached_property
    def _reexport_replies(self) -> list[tuple[str, str, Reply]]:
        """Name, path and parsed re-exports of each module."""
        packages, tasks = [], []
        for path in sources_without_stubs(self._distribution.files):
            if module := module_name(path):
                with suppress(FileRefused):  # ignored here, because the crawl reports the error when it reads the file
                    source = self._read_source(path)
                    read = reexports if path.endswith(("__init__.py", "__init__.pyi")) else reexports_of_module
                    tasks.append(Task(read, (module, source), (source.encode("utf-8", "replace"),)))
                    packages.append((module, path))
        replies = self._parser.run_all(tasks)
        return [(package, path, reply) for (package, path), reply in zip(packages, replies, strict=True)]

    @property
    def version(self) -> str:
        """The installed version."""
        return self._distribution.version

    @property
    def _url_prefix(self) -> str:
        return f"pypi:{self._distribution.name}@{self._distribution.version}/"

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Yield the URLs of the README, the public modules and the bundled documents."""
        for _, path, reply in self._reexport_replies:
            if reply.error is not None:
                yield CrawlAddress(self._url_prefix + path, state="failed", reason=str(reply.error))
        if self._distribution.readme.strip():
            yield self._url_prefix + _README
        for path in self._modules:
            yield self._url_prefix + path
        for path in self._distribution.files:
            if PurePosixPath(path).suffix.lower() in _DOCUMENT_SUFFIXES and not NON_DOCUMENT_FILE.search(path):
                yield document_address(self._url_prefix + path, path)

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file of the package, unless the file is unchanged."""
        path = address.url.removeprefix(self._url_prefix)
        try:
            text = self._distribution.readme if path == _README else self._read_source(path)
        except FileRefused as refused:
            return skip_or_raise(refused)
        stub = self._read_stub(self._modules.get(path))
        data = (text + stub).encode("utf-8", "replace")
        digest = hashlib.blake2b(data, digest_size=16, salt=_FORMAT_VERSION).digest()
        if known and known.hash == digest:
            return Unchanged()
        return Unparsed(self._parsing_task(path, text, data, address.url), partial(page_outcome, address.url, digest))

    def definition(self, name: str) -> DocumentedDefinition | None:
        """Return the documentation of a public name such as `httpx.Client.get`, or None if it is not defined."""
        for path, module in self._modules.items():
            if not _may_define(module, name):
                continue
            source = self._read_source(path)
            stub = self._read_stub(module)
            content = ((source + stub).encode("utf-8", "replace"),)
            found = self._parser.run(definition_in, name, module, source, stub, content=content)
            if found is not None:
                return DocumentedDefinition(self._url_prefix + path, found)
        return None

    def _parsing_task(self, path: str, text: str, data: bytes, url: str) -> Task:
        """Return the task that parses a README, module or bundled document."""
        if path == _README:
            form: Format = "rst" if self._distribution.readme_is_rst else "markdown"
            title = f"{self._distribution.name} {self._distribution.version}"
            return Task(read_page, (RawPage(data, form, url, "utf-8", title),), (data,))
        if module := self._modules.get(path):
            return Task(read_module, (module, text, self._read_stub(module)), (data,))
        return Task(read_page, (bundled_page(path, data, url),), (data,))

    def _read_stub(self, module: DocumentedModule | None) -> str:
        """Return the text of a module's stub file, or "" if there is no readable stub file."""
        with suppress(FileRefused):
            return self._read_source(module.stub) if module and module.stub else ""
        return ""

    def _read_source(self, path: str) -> str:
        """Return the text of a file of the distribution."""
        return read_below(self._distribution.folder, path, MAX_FILE_BYTES).decode("utf-8", "replace")


# ---------------------------------------------------------------------- functions run in a child process


def read_module(module: DocumentedModule, source: str, stub: str) -> PageText:
    """Return the public API of a Python module, split into chunks; ignore a stub file that cannot be parsed."""
    try:
        return page_text(describe_module(module, source, stub))
    except SourceError:
        if not stub:
            raise
        return page_text(describe_module(module, source))


def reexports_of_module(module: str, source: str) -> list[Reexport]:
    """Return the re-exports of a module that is not an `__init__` module."""
    return reexports(module, source, is_package=False)


def definition_in(name: str, module: DocumentedModule, source: str, stub: str) -> str | None:
    """Return the signature and docstring of a public name, or None if the module does not define it."""
    for section in describe_module(module, source, stub).sections:
        if section.is_definition and name in section.anchors:
            return join_blocks(section.blocks)
    return None
