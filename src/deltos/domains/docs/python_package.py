"""Read installed Python distributions as sources: README, public API and bundled documents."""

from __future__ import annotations

import hashlib
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deltos.domains.docs.installed_packages import find_python_distribution
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
from deltos.domains.docs.python_names import PackageNames, module_name, read_names
from deltos.errors import FileRefused
from deltos.fetch.files import MAX_FILE_BYTES
from deltos.files import read_below
from deltos.isolated_parser import Task
from deltos.markup.formats import MAN_SUFFIXES, SUFFIXES
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.domains.docs.installed_packages import PythonDistribution
    from deltos.domains.docs.pages import PageText
    from deltos.domains.docs.python_names import ModuleNames
    from deltos.isolated_parser import Parser
    from deltos.markup.formats import Format
    from deltos.store.documents import KnownPage, SourceRow

_README = "README"
_DOCUMENT_SUFFIXES = SUFFIXES.difference(MAN_SUFFIXES)
_FORMAT_VERSION = b"10"  # format version of the stored pages; if it changes, all files are parsed again


class PythonPackage(LocalFiles):
    """A distribution in the project's virtual environment."""

    def __init__(self, source: SourceRow, environments: Sequence[Path], parser: Parser) -> None:
        self._parser = parser
        self._name = source.url.partition(":")[2]
        self._root = Path(source.project_root)
        self._environments = environments
        self._failures: list[CrawlAddress] = []
        self._unreadable: list[str] = []

    @cached_property
    def _distribution(self) -> PythonDistribution:
        return find_python_distribution(self._name, self._root, self._environments)

    @cached_property
    def _modules(self) -> dict[str, ModuleNames]:
        """The modules of the distribution by path. A stub file adds names that its source file does not define."""
        files = set(self._distribution.files)
        tasks: dict[str, Task] = {}
        for path in sorted(files):
            name = module_name(path)
            if name:
                try:
                    source = self._read_source(path)
                except FileRefused:  # the crawl reports the error when it reads the file
                    self._unreadable.append(path)
                    continue
                tasks[path] = Task(read_names, (name, path, source), (source.encode("utf-8", "replace"),))
        replies = dict(zip(tasks, self._parser.run_all(list(tasks.values())), strict=True))
        self._failures = [
            CrawlAddress(self._url_prefix + path, state="failed", reason=str(reply.error))
            for path, reply in replies.items()
            if reply.error is not None
        ]
        modules = {path: reply.value for path, reply in replies.items() if reply.error is None}
        for path, stub in modules.items():
            if path.endswith(".pyi") and path[:-1] in modules:
                modules[path] = stub._replace(defined=stub.defined - modules[path[:-1]].defined, imported=())
        return modules

    @cached_property
    def _exports(self) -> dict[str, dict[str, str]]:
        """The public names of definitions, by defining module and name."""
        return PackageNames(sorted(self._modules.values(), key=lambda each: each.path, reverse=True)).exports()

    @property
    def version(self) -> str:
        """The installed version."""
        return self._distribution.version

    @property
    def _url_prefix(self) -> str:
        return f"pypi:{self._distribution.name}@{self._distribution.version}/"

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Yield the URLs of the README, the public modules and the bundled documents."""
        if self._distribution.readme.strip():
            yield self._url_prefix + _README
        for path, module in self._modules.items():
            if module.is_public or module.name in self._exports:
                yield self._url_prefix + path
        yield from self._failures
        yield from (self._url_prefix + path for path in self._unreadable)
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
        module = self._modules.get(path)
        exports = self._exports.get(module.name, {}) if module else {}
        data = text.encode("utf-8", "replace")
        digest = hashlib.blake2b(data + repr(exports).encode(), digest_size=16, salt=_FORMAT_VERSION).digest()
        if known and known.hash == digest:
            return Unchanged()
        if module:
            task = Task(read_module, (module, exports, text), (data,))
        else:
            task = Task(read_page, (self._page(path, data, address.url),), (data,))
        return Unparsed(task, partial(page_outcome, address.url, digest))

    def _page(self, path: str, data: bytes, url: str) -> RawPage:
        """Return the README or a bundled document as a page that has not been parsed yet."""
        if path != _README:
            return bundled_page(path, data, url)
        form: Format = "rst" if self._distribution.readme_is_rst else "markdown"
        return RawPage(data, form, url, "utf-8", f"{self._distribution.name} {self._distribution.version}")

    def _read_source(self, path: str) -> str:
        """Return the text of a file of the distribution."""
        return read_below(self._distribution.folder, path, MAX_FILE_BYTES).decode("utf-8", "replace")


# ---------------------------------------------------------------------- functions run in a child process


def read_module(module: ModuleNames, exports: Mapping[str, str], source: str) -> PageText:
    """Return the public API of a Python module, split into chunks."""
    return page_text(describe_module(module, exports, source))
