"""Resolve the names of imports, constants, functions and classes across the files of a project."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.federation.contracts.facts import Assignment, CodeDefinition, ContractFacts, ImportedName

_EXTENSIONS = (
    ".py",
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".rb",
    ".php",
    ".java",
    ".kt",
    ".cs",
    ".go",
    ".rs",
)
_SCRIPT_INDEX = ("index.ts", "index.js", "index.tsx", "index.mjs", "__init__.py", "mod.rs")
_MAX_REEXPORTS_FOLLOWED = 6  # maximum number of re-exports that are followed
_MAX_DEFINITIONS_PER_NAME = 200  # maximum number of definitions of a name that is resolved
_MAX_GO_PACKAGE_FILES = 40  # maximum number of files of one Go package
_JAVASCRIPT_EXPORTS = ("module.exports", "export default", "exports")


class ContractNames:
    """Resolves names to definitions. `paths` lists all files of the project, and `files` the parsed files."""

    def __init__(self, paths: Sequence[str], files: Mapping[str, ContractFacts]) -> None:
        self.paths = frozenset(paths)
        self.files = files
        self._unique: dict[tuple[str, str, str], tuple[ContractFacts, CodeDefinition] | None] = {}
        self._modules: dict[tuple[str, str, str], list[str]] = {}

    @cached_property
    def _by_basename(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            found[posixpath.basename(path)].append(path)
        return found

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            found[posixpath.dirname(path)].append(path)
        return found

    @cached_property
    def functions(self) -> dict[str, list[tuple[ContractFacts, CodeDefinition]]]:
        """Functions of all parsed files, by name."""
        found: dict[str, list[tuple[ContractFacts, CodeDefinition]]] = defaultdict(list)
        for file in self.files.values():
            for each in file.functions.values():
                if each.name:
                    found[each.name.rpartition(".")[2]].append((file, each))
        return found

    @cached_property
    def classes(self) -> dict[str, list[tuple[ContractFacts, CodeDefinition]]]:
        """Classes of all parsed files, by name."""
        found: dict[str, list[tuple[ContractFacts, CodeDefinition]]] = defaultdict(list)
        for file in self.files.values():
            for each in file.classes.values():
                found[each.name].append((file, each))
        return found

    def module_files(self, file: ContractFacts, module: str) -> list[str]:
        """Return the project files to which an import of `module` refers."""
        key = (file.language, posixpath.dirname(file.path), module)
        if key not in self._modules:
            self._modules[key] = self._find_module(file, module)
        return self._modules[key]

    def _find_module(self, file: ContractFacts, module: str) -> list[str]:
        if file.language == "python":
            return self._python_module(file.path, module)
        if file.language in ("javascript", "jsx", "typescript", "tsx"):
            return self._script_module(file.path, module)
        if file.language == "go":
            return self._go_package(module)
        return self._named_file(module)

    def _python_module(self, path: str, module: str) -> list[str]:
        dots = len(module) - len(module.lstrip("."))
        tail = module.lstrip(".").replace(".", "/")
        if dots:
            folder = path
            for _ in range(dots):
                folder = posixpath.dirname(folder)
            base = posixpath.join(folder, tail) if tail else folder
            return [each for each in (f"{base}.py", f"{base}/__init__.py") if each in self.paths]
        return self._ending_with(f"{tail}.py") or self._ending_with(f"{tail}/__init__.py")

    def _script_module(self, path: str, module: str) -> list[str]:
        if module.startswith("."):
            base = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
            return self._with_extension(base)
        tail = module.lstrip("@~#").lstrip("/").removeprefix("src/")
        if module.startswith(("@", "~/", "src/", "#")):  # a path alias in the compiler configuration
            ends = (*_EXTENSIONS[1:7], "/index.ts", "/index.js")
            return [each for end in ends for each in self._ending_with(f"{tail}{end}")][:1]
        return []

    def _with_extension(self, base: str) -> list[str]:
        stem, extension = posixpath.splitext(base)
        plain = stem if extension in (".js", ".mjs", ".cjs", ".jsx") else base
        candidates = [base, *(f"{plain}{each}" for each in _EXTENSIONS), *(f"{base}/{each}" for each in _SCRIPT_INDEX)]
        return [each for each in candidates if each in self.paths][:1]

    def _ending_with(self, tail: str) -> list[str]:
        """Return the file whose path equals or ends with `tail`, as a list. The shortest path is preferred."""
        same = self._by_basename.get(posixpath.basename(tail), [])
        return sorted((each for each in same if each == tail or each.endswith(f"/{tail}")), key=len)[:1]

    def _go_package(self, module: str) -> list[str]:
        parts = module.split("/")
        for start in range(max(1, len(parts) - 1)):
            if found := self._by_folder.get("/".join(parts[start:])):
                return [each for each in found if each.endswith(".go")][:_MAX_GO_PACKAGE_FILES]
        last = [each for each in self._by_folder if posixpath.basename(each) == parts[-1]]
        return [each for each in self._by_folder[last[0]] if each.endswith(".go")] if len(last) == 1 else []

    def _named_file(self, module: str) -> list[str]:
        """Return the files named like a Rust module, or like a class in Java, Kotlin, C# or PHP."""
        last = module.rpartition(".")[2]
        found = [each for name in (f"{last}.rs", f"{last}.java", f"{last}.php", f"{last}.cs", f"{last}.kt")
                 for each in self._by_basename.get(name, ())]  # fmt: skip
        return found or self._ending_with(f"{last}/mod.rs")

    def imported(self, file: ContractFacts, local: str) -> Iterator[tuple[str, str]]:
        """Yield the files and names to which a local name may refer. An empty name means the module itself."""
        for each in file.imported(local):
            yield from self._import_targets(file, each)

    def _import_targets(self, file: ContractFacts, each: ImportedName) -> Iterator[tuple[str, str]]:
        if each.name and file.language == "python":  # `from package import module`
            separator = "" if each.module.endswith(".") else "."
            for path in self.module_files(file, f"{each.module}{separator}{each.name}"):
                yield path, ""
        elif each.name and file.language in ("java", "csharp", "php", "kotlin", "rust"):
            for path in self.module_files(file, each.name):
                yield path, ""
        for path in self.module_files(file, each.module):
            yield path, each.name

    def assignment(self, file: ContractFacts, name: str, hops: int = 0) -> tuple[ContractFacts, Assignment] | None:
        """Return the module-level assignment to a dotted name in this file or an imported file, or None."""
        own = [each for each in self._module_names(file, name) if not each.scope]
        if own:
            return file, own[-1]
        head, _, rest = name.partition(".")
        for path, imported in self.imported(file, head) if hops < _MAX_REEXPORTS_FOLLOWED else ():
            target = self.files.get(path)
            inner = ".".join(part for part in (imported, rest) if part and part != "default")
            if target is None:
                continue
            for wanted in [inner] if inner else _JAVASCRIPT_EXPORTS:
                if found := self.assignment(target, wanted, hops + 1):
                    return found
            if imported == "default" and not rest and (found := self._default_export(target)):
                return found
        return self._class_constant(file, name)

    @staticmethod
    def _module_names(file: ContractFacts, name: str) -> list[Assignment]:
        """Return the assignments to a name, including JavaScript exports such as `module.exports.name`."""
        return file.assigned(name) or [
            row for prefix in _JAVASCRIPT_EXPORTS[::2] for row in file.assigned(f"{prefix}.{name}")
        ]

    def _default_export(self, file: ContractFacts) -> tuple[ContractFacts, Assignment] | None:
        own = [
            each for each in file.assignments if not each.scope and each.name in ("export default", "module.exports")
        ]
        return (file, own[-1]) if own else None

    def _class_constant(self, file: ContractFacts, name: str) -> tuple[ContractFacts, Assignment] | None:
        """Return the assignment to a class constant, such as `Paths.ORDERS`, whose class is not imported, or None."""
        owner, _, last = name.rpartition(".")
        if not owner or file.language in ("python", "javascript"):
            return None
        for target, _ in self.classes.get(owner.rpartition(".")[2], [])[:2]:
            own = target.assigned(f"{owner.rpartition('.')[2]}.{last}")
            if own:
                return target, own[-1]
        return None

    def type(self, file: ContractFacts, name: str, hops: int = 0) -> tuple[ContractFacts, CodeDefinition] | None:
        """Return the class to which a dotted name refers, or None if it is unknown or ambiguous."""
        head, _, rest = name.partition(".")
        own = [definition for each, definition in self.classes.get(name, ()) if each is file]
        if own:
            return file, own[0]
        for path, imported in self.imported(file, head) if hops < _MAX_REEXPORTS_FOLLOWED else ():
            wanted = rest or (imported if imported != "default" else head)
            if path in self.files and (known := self.type(self.files[path], wanted, hops + 1)):
                return known
        found = self.classes.get(name.rpartition(".")[2], [])
        return found[0] if len(found) == 1 and hops == 0 else None

    def function(self, file: ContractFacts, name: str, hops: int = 0) -> tuple[ContractFacts, CodeDefinition] | None:
        """Return the function to which a dotted name refers, or None if it is unknown or ambiguous."""
        head, _, rest = name.partition(".")
        last = name.rpartition(".")[2]
        same = [definition for each, definition in self.functions.get(last, ()) if each is file]
        own = [each for each in same if not rest or head in (each.container, "self")]
        if own:
            return file, own[0]
        for path, imported in self.imported(file, head) if hops < _MAX_REEXPORTS_FOLLOWED else ():
            target = self.files.get(path)
            if target is None:
                continue
            wanted = rest or (imported if imported != "default" else "")
            exported = self._exported_name(target) if rest and imported == "default" else ""
            wanted = f"{exported}.{rest}" if exported else wanted
            if not wanted and (found := self._exported_function(target)):
                return target, found
            if wanted and (known := self.function(target, wanted, hops + 1)):
                return known
        return self._unique_function(file, name) if hops == 0 else None

    @staticmethod
    def _exported_name(file: ContractFacts) -> str:
        """Return the name that a JavaScript module exports by default."""
        return next((each.value.text for each in file.assignments if each.name in _JAVASCRIPT_EXPORTS), "")

    def _exported_function(self, file: ContractFacts) -> CodeDefinition | None:
        """Return the function that is the default export of a JavaScript module, or None."""
        for each in file.assignments:
            if each.name in _JAVASCRIPT_EXPORTS and each.value.kind == "function":
                return file.functions.get(each.value.place)
            if each.name in _JAVASCRIPT_EXPORTS and each.value.kind == "name":
                known = [one for one in file.functions.values() if one.name == each.value.text]
                return known[0] if known else None
        return None

    def _unique_function(self, file: ContractFacts, name: str) -> tuple[ContractFacts, CodeDefinition] | None:
        key = (file.language, posixpath.dirname(file.path), name)
        if key not in self._unique:
            self._unique[key] = self._find_unique_function(file, name)
        return self._unique[key]

    def _find_unique_function(self, file: ContractFacts, name: str) -> tuple[ContractFacts, CodeDefinition] | None:
        owner, _, last = name.rpartition(".")
        every = self.functions.get(last, ())
        if len(every) > _MAX_DEFINITIONS_PER_NAME:
            return None
        found = [row for row in every if row[0].language == file.language]
        if file.language in ("javascript", "jsx", "typescript", "tsx", "python") and not owner:
            return None
        if owner and len(found) > 1:
            wanted = owner.rpartition(".")[2].lower()
            found = [row for row in found if wanted in (row[1].container.lower(), *_file_and_folder_names(row[0].path))]
        if not owner and len(found) > 1:
            found = [row for row in found if posixpath.dirname(row[0].path) == posixpath.dirname(file.path)]
        # Of several definitions in one file, the first is used. The others are nested, for example in an inline module.
        is_one_file = len({row[0].path for row in found}) == 1
        return found[0] if is_one_file else None


def _file_and_folder_names(path: str) -> tuple[str, str]:
    """Return the name of a file without its extension and the name of its folder, both in lower case."""
    folder, name = posixpath.split(path.lower())
    return posixpath.splitext(name)[0], posixpath.basename(folder)
