"""Determine the names under which users import the declarations of an npm package, from its export statements."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

DECLARATION_FILE_SUFFIXES = (".ts", ".mts", ".cts")
_CODE_SUFFIX = re.compile(r"(?:\.d)?\.[cm]?[jt]s$")
_STATEMENT = re.compile(
    r"""\b(import|export)\s++(?:type\s++)?+([\w$]++\s*+,?)??\s*+(\*(?:\s*+as\s++[\w$]++)?+|\{[^{}]*+\})?+\s*+"""
    r"""(?:from\s*+["']([^"'\n]++)["'])?+"""
)
_DEFAULT_EXPORT = re.compile(r"\bexport\s++default\s++([\w$]++)\s*+;")
_FILE_REFERENCE = re.compile(
    r"""(?:import|require)\(\s*+["'](\.{1,2}/[^"'\n]++)["']|<reference\s++path=["']([^"'\n]++)["']"""
)
_DEFAULT = "default"
_MAX_NAMES_PER_FILE = 50  # maximum number of import paths for which the exports of one file are followed


class ExportStatement(NamedTuple):
    """An import or export statement. `names` maps names in this file to names in `module`; it is None for `*`.

    `module` is empty if names of the same file are exported. `namespace` is set for `* as namespace`.
    """

    is_export: bool
    module: str
    names: Mapping[str, str] | None
    namespace: str = ""


class ImportableNames(NamedTuple):
    """Names under which users can import the declarations of a file, from the import path `specifier`.

    `names` maps names in the file to public names. All other names are public too, with `prefix` before them, unless
    `is_complete` is set. `is_deep` is set if the import path is longer than the package's name.
    """

    specifier: str = ""
    names: Mapping[str, str] = {}
    prefix: str = ""
    is_complete: bool = False
    is_deep: bool = False

    def public_name(self, name: str) -> str:
        """Return the public name of a declaration, or "" if users cannot import it."""
        if name in self.names:
            return self.names[name]
        return "" if self.is_complete or not self.specifier else self.prefix + name


class _ExportedFile(NamedTuple):
    """A file whose names users can import: all names, or only `names`."""

    path: str
    specifier: str
    names: Mapping[str, str] | None
    prefix: str


def read_statements(text: str) -> list[ExportStatement]:
    """Return the import and export statements of a file."""
    found = []
    for keyword, default, braces, module in _STATEMENT.findall(text):
        is_export, is_star = keyword == "export", braces.startswith("*")
        if not module and not (is_export and braces.startswith("{")):
            continue
        names = dict(_names_in_braces(braces)) if braces.startswith("{") else {}
        if default and not is_export:
            names[default.rstrip(", \t\r\n")] = _DEFAULT
        namespace = braces.partition(" as ")[2].strip() if is_star else ""
        found.append(ExportStatement(is_export, module, None if is_star else names, namespace))
    found += (ExportStatement(True, "", {_DEFAULT: name}) for name in _DEFAULT_EXPORT.findall(text))
    return found


def _names_in_braces(text: str) -> Iterator[tuple[str, str]]:
    """Yield alias and name of each name in `{ a, b as c, type d }`."""
    for part in text.strip("{}").split(","):
        name, _, alias = part.strip().removeprefix("type ").partition(" as ")
        if name.strip():
            yield (alias or name).strip(), name.strip()


class DeclarationFiles:
    """The declaration files that are exported by a package, with the names under which users import declarations."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._statements: dict[str, list[ExportStatement]] = {}
        self._targets: dict[str, list[str]] = {}
        self.importable: dict[str, ImportableNames] = {}
        self.star_modules: dict[str, None] = {}  # modules of other packages whose names the package re-exports

    def follow(self, entries: Iterable[tuple[str, str]], package: str) -> None:
        """Follow the exports of the entry files. `entries` are pairs of import path and file, shortest path first."""
        for specifier, path in entries:
            queue = deque([_ExportedFile(path, specifier, None, "")])
            seen: Counter[str] = Counter()
            while queue:
                wanted = queue.popleft()
                seen[wanted.path] += 1
                is_open = seen[wanted.path] <= _MAX_NAMES_PER_FILE and self._open(wanted.path) is not None
                if is_open and self._add(wanted, is_deep=specifier != package or bool(wanted.prefix)):
                    queue.extend(self._exported_files(wanted))
        self._add_imported_files()

    def _open(self, path: str) -> list[ExportStatement] | None:
        """Return the statements of a file, or None if it cannot be read."""
        if path not in self._statements:
            text = self._read(path)
            if text is None:
                return None
            self._statements[path] = read_statements(text)
            references = (relative or f"./{other}" for relative, other in _FILE_REFERENCE.findall(text))
            modules = (each.module for each in self._statements[path] if each.module.startswith("."))
            self._targets[path] = [target for name in (*modules, *references) if (target := self._resolve(path, name))]
        return self._statements[path]

    def _resolve(self, path: str, module: str) -> str:
        """Return the file of the package that a relative import refers to, or "" if there is none."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
        candidates = [] if target.startswith("..") else declaration_candidates(target)
        return next((each for each in candidates if self._open(each) is not None), "")

    def _add(self, wanted: _ExportedFile, *, is_deep: bool) -> bool:
        """Record the names of a file that users can import. Return whether names were added."""
        exports = (each.names or {} for each in self._statements[wanted.path] if each.is_export and not each.module)
        local = {alias: name for names in exports for alias, name in names.items()}
        if wanted.names is None:
            names = {name: wanted.prefix + (name if alias == _DEFAULT else alias) for alias, name in local.items()}
        else:
            names = {local.get(name, name): wanted.prefix + public for name, public in wanted.names.items()}
        known = self.importable.get(wanted.path)
        is_complete = wanted.names is not None
        if known is None:
            added = ImportableNames(wanted.specifier, names, wanted.prefix, is_complete, is_deep)
        else:
            added = known._replace(names={**names, **known.names}, is_complete=known.is_complete and is_complete)
            if not is_complete and (known.is_complete or len(wanted.prefix) < len(known.prefix)):
                added = added._replace(prefix=wanted.prefix, is_deep=known.is_deep and is_deep)
        self.importable[wanted.path] = added
        return added != known

    def _exported_files(self, wanted: _ExportedFile) -> Iterator[_ExportedFile]:
        """Yield the files from which a file re-exports names."""
        imported: dict[str, tuple[str, str]] = {}
        for each in self._statements[wanted.path]:
            if not each.is_export and each.names:
                imported |= {alias: (each.module, name) for alias, name in each.names.items()}
            elif not each.is_export and each.namespace:
                imported[each.namespace] = (each.module, "*")
        for each in self._statements[wanted.path]:
            if not each.is_export:
                continue
            if each.names is None:
                yield from self._file_of_star_export(each, wanted)
                continue
            for alias, name in each.names.items():
                if wanted.names is not None and alias not in wanted.names:
                    continue
                public = alias if wanted.names is None else wanted.names[alias]
                module, inner = (each.module, name) if each.module else imported.get(name, ("", ""))
                if target := self._resolve(wanted.path, module) if module.startswith(".") else "":
                    if inner == "*":
                        yield _ExportedFile(target, wanted.specifier, None, f"{wanted.prefix}{public}.")
                    else:
                        yield _ExportedFile(target, wanted.specifier, {inner: public}, wanted.prefix)

    def _file_of_star_export(self, statement: ExportStatement, wanted: _ExportedFile) -> Iterator[_ExportedFile]:
        """Yield the file to which an `export *` statement refers, if it belongs to the package."""
        if not statement.module.startswith("."):
            if not statement.namespace:
                self.star_modules[statement.module] = None
            return
        target = self._resolve(wanted.path, statement.module)
        if target and not statement.namespace:
            yield wanted._replace(path=target)
        elif target and (wanted.names is None or statement.namespace in wanted.names):
            yield _ExportedFile(target, wanted.specifier, None, f"{wanted.prefix}{statement.namespace}.")

    def _add_imported_files(self) -> None:
        """Add the files that importable declarations refer to; users cannot import their names."""
        queue = deque(self.importable)
        while queue:
            for target in self._targets[queue.popleft()]:
                if target not in self.importable:
                    self.importable[target] = ImportableNames()
                    queue.append(target)


def declaration_candidates(target: str) -> list[str]:
    """Return the possible paths of the type declarations of a package file, most probable first."""
    stem = _CODE_SUFFIX.sub("", target)
    index = "index" if stem in ("", ".") else f"{stem}/index"
    return [target] * target.endswith(DECLARATION_FILE_SUFFIXES) + [
        f"{stem}.d.ts", f"{stem}.d.mts", f"{stem}.d.cts", f"{index}.d.ts", f"{index}.d.mts", f"{stem}.ts",
    ]  # fmt: skip
