"""Maps of folders and files within a token budget.

A map lists folders with numbers of files, modules with the first sentence of the docstring, and the most used symbols.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.graph.budgeted_lines import Piece
from deltos.domains.graph.definitions import NOT_CODE
from deltos.domains.graph.line_format import first_sentence, outline_line
from deltos.languages.file_summary import summarise_file
from deltos.languages.table import detect
from deltos.text.counts import counted, first_names
from deltos.wording import truncated
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.domains.graph.budgeted_lines import BudgetedLines
    from deltos.domains.graph.search import GraphSearch
    from deltos.store.graph import ImportRow
    from deltos.store.symbols import Symbol
    from deltos.tool import Answer

MAP_TOKENS = 2_000
_MAX_FILES_READ = 400  # maximum number of files whose first lines are read
_MAX_RANKED_SYMBOLS = 3_000
_MAX_KEY_SYMBOLS = 4
_SENTENCE_CHARACTERS = 110
_MAX_TOP_MODULES = 60  # maximum number of modules listed for the requested folder itself
_MAX_MODULES_PER_FOLDER = 8  # maximum number of modules listed per subfolder if not all modules fit
_MAX_NAMED_MODULES = 8  # maximum number of module names listed in the line about the modules that are not shown
_MAX_COMPLETE_MODULES = 100  # maximum number of modules in a map that shows every module on its own line
_MAX_LISTED_FOLDERS = 30
_MAX_FOLDERS = 80  # maximum number of folders in the map; more folders never fit the token budget
_SECONDARY_FOLDERS = frozenset(
    """test tests __tests__ spec specs testdata fixtures benchmarks bench examples example fuzz docs vendor
    third_party""".split()
)
_MAX_NAMED_IMPORTERS = 6
_PACKAGE_FILE_STEMS = frozenset({"__init__", "index", "mod", "lib", "doc", "package-info", "main"})
_README_NAMES = ("readme.md", "readme.rst", "readme.txt", "readme")


@dataclass(slots=True)
class _FolderSummary:
    """A folder with its direct files and folders, and the number of all files below the folder."""

    path: str
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    total_files: int = 0


def render_map(search: GraphSearch, folder: str, *, page: BudgetedLines) -> Answer:
    """Return the map of a folder. An empty path means the root of the project."""
    return _FolderMapBuilder(search, folder).render(page.with_max_tokens(MAP_TOKENS))


class _FolderMapBuilder:
    """Builder of the map of one folder."""

    def __init__(self, search: GraphSearch, folder: str) -> None:
        self._search = search
        self._top = folder
        prefix = f"{folder}/" if folder else ""
        self._paths = [path for path in search.reader.paths() if path.startswith(prefix)]
        self._tree = _build_tree(self._paths, folder)
        with search.reader.snapshot():
            users = search.reader.referring_file_counts(limit=_MAX_RANKED_SYMBOLS, below=folder)
            symbols = search.reader.symbols(users)
        self._key: defaultdict[str, list[Symbol]] = defaultdict(list)
        self._use: Counter[str] = Counter()
        for node_id, files in users.items():
            if (row := symbols.get(node_id)) is not None:
                self._use[row.path] += files
                if row.kind not in ("variable", "property"):
                    self._key[row.path].append(row)
        self._weights: Counter[str] = Counter()
        for path, number in self._use.items():
            for above in _folders_above(path):
                self._weights[above] += number
        self._languages = {path: _language(path) for path in self._paths}
        self._modules_in: dict[str, list[str]] = {}
        self._sentences: dict[str, str] = {}
        # Sentences taken from definitions, for modules without a docstring.
        self._fallback_sentences: dict[str, str] = {}
        self._shows_all_modules = False  # whether each module is shown on its own line

    def render(self, page: BudgetedLines) -> Answer:
        """Return the folders, then modules of the most used folders with as many symbols as the budget allows."""
        folders = list(self._breadth_first())
        order = sorted(
            folders,
            key=lambda folder: (
                folder.path != self._top,
                _is_secondary(folder.path),
                -sum(self._use[path] for path in folder.files),
            ),
        )
        total = sum(len(self._modules(folder)) for folder in order)
        can_show_all = self._shows_all_modules = total <= _MAX_COMPLETE_MODULES and len(order) <= _MAX_FOLDERS
        order = order[:_MAX_FOLDERS]
        readme_files = [path for path in self._tree[self._top].files if _name(path).lower() in _README_NAMES]
        self._read_sentences([*readme_files, *(path for folder in order for path in self._shown_modules(folder))])

        def header(shown: int) -> str:
            text = self._headline()
            how = self._how_to_see_more(order)
            return text if shown >= total else f"{truncated(shown, total, 'modules', how)}\n{text}"

        folder_list = self._folder_list(folders[1:])
        pieces: list[Piece] = []
        for shows_all, has_symbols in ((True, True), (True, False), (False, True), (False, False)):
            if shows_all and not can_show_all:
                continue
            self._shows_all_modules = shows_all
            pieces = [
                *folder_list,
                *(piece for folder in order for piece in self._folder_pieces(folder, has_symbols=has_symbols)),
            ]
            if page.count_fitting(header, pieces) == len(pieces):
                break
        return page.answer(header, pieces)

    def _folder_list(self, folders: Sequence[_FolderSummary]) -> list[Piece]:
        """Return one line per folder with its description, excluding folders inside tests, examples and
        documentation."""
        prefix = f"{self._top}/" if self._top else ""
        near = [each for each in folders if not _is_secondary(each.path.removeprefix(prefix).rpartition("/")[0])]
        if not near:
            return []
        self._read_sentences(
            path for folder in near[:_MAX_LISTED_FOLDERS] for path in folder.files if _is_package_file(path)
        )
        lines = []
        for folder in near[:_MAX_LISTED_FOLDERS]:
            about = self._folder_sentence(folder.path)
            lines.append(f"{folder.path.removeprefix(prefix)}/ {folder.total_files}{f' — {about}' if about else ''}")
        if len(folders) > len(lines):
            lines.append(f"and {len(folders) - len(lines)} more folders")
        titles = ("--- folders (number of files) ---", "--- modules, most used first ---")
        return [Piece("\n".join([titles[0], *lines, titles[1]]), 0)]

    def _headline(self) -> str:
        """Return the first line of the map: the folder's name, number of files by language, and description."""
        top = self._tree[self._top]
        languages = Counter(self._languages.values())
        counts = _language_counts(languages, limit=5)
        sentence = self._folder_sentence(self._top)
        name = f"{self._top}/" if self._top else self._search.root.name
        return f"map of {name}: {counted(top.total_files, 'file')} ({counts}){f' — {sentence}' if sentence else ''}"

    def _how_to_see_more(self, order: Sequence[_FolderSummary]) -> str:
        """Return instructions for listing the remaining modules."""
        inside = [
            folder
            for folder in order
            if folder.path != self._top and len(self._modules(folder)) > _MAX_MODULES_PER_FOLDER
        ]
        return f"ask for a folder, such as {inside[0].path}" if inside else "find_symbol lists the others"

    def _breadth_first(self) -> Iterator[_FolderSummary]:
        """Yield the folders of each level before their subfolders, most used folders first, tests and examples last."""
        level = [self._top]
        while level:
            level.sort(key=lambda path: (_is_secondary(path), -self._weights[path], path))
            yield from (self._tree[path] for path in level)
            level = [inner for path in level for inner in self._tree[path].folders]

    def _shown_modules(self, folder: _FolderSummary) -> list[str]:
        """Return the modules of a folder that are shown on a line of their own."""
        modules = self._modules(folder)
        return (
            modules
            if self._shows_all_modules
            else modules[: _MAX_TOP_MODULES if folder.path == self._top else _MAX_MODULES_PER_FOLDER]
        )

    def _modules(self, folder: _FolderSummary) -> list[str]:
        """Return the source files of a folder, most used first, tests last."""
        if folder.path not in self._modules_in:
            code = [path for path in folder.files if self._languages[path] not in NOT_CODE]
            code.sort(key=lambda path: (is_test(path), -self._use[path], path))
            self._modules_in[folder.path] = code
        return self._modules_in[folder.path]

    def _read_sentences(self, paths: Iterable[str]) -> None:
        """Read the first sentences of files and cache them."""
        wanted = [path for path in dict.fromkeys(paths) if path not in self._sentences][:_MAX_FILES_READ]
        for path, head in self._search.source.heads(wanted).items():
            self._sentences[path] = first_sentence(summarise_file(path, head), _SENTENCE_CHARACTERS)
            if self._languages[path] not in NOT_CODE and not (self._sentences[path] and self._key[path]):
                self._describe_from_definitions(path)

    def _describe_from_definitions(self, path: str) -> None:
        """Set the key symbols or the sentence of a file from its top-level definitions if they are missing."""
        rows = [row for row in self._search.reader.symbols_in(path) if "." not in row.key and row.kind != "variable"]
        if not self._key[path]:
            self._key[path] = rows
        documented = next((row for row in (*self._key[path], *rows) if row.doc), None)
        if documented is not None:
            sentence = first_sentence(documented.doc, _SENTENCE_CHARACTERS)
            is_named = sentence.startswith(documented.name)
            self._fallback_sentences[path] = sentence if is_named else f"{documented.label}: {sentence}"

    def _folder_sentence(self, folder: str) -> str:
        """Return a folder's description from its package file or, if the folder was requested, from its README."""
        files = self._tree[folder].files
        names = {path.rpartition("/")[2].lower(): path for path in files}
        sources = [names[name] for name in _README_NAMES if name in names] if folder == self._top else []
        sources += filter(_is_package_file, files)
        return next((sentence for path in sources if (sentence := self._sentences.get(path))), "")

    def _folder_pieces(self, folder: _FolderSummary, *, has_symbols: bool) -> Iterator[Piece]:
        """Yield one line for each listed module of a folder, then a line with the number of omitted files."""
        modules, shown = self._modules(folder), self._shown_modules(folder)
        heading = f"{folder.path}/\n" if folder.path != self._top else ""
        for path in shown:
            yield Piece(f"{heading} {self._module_line(path, has_symbols=has_symbols)}")
            heading = ""
        others = Counter(name for path in folder.files if (name := self._languages[path]) in NOT_CODE)
        rest = []
        if more := modules[len(shown) :]:
            names = first_names([*map(_name, more)], _MAX_NAMED_MODULES)
            rest.append(f"and {counted(len(more), 'more module')}: {names}")
        rest += [f"not code: {_language_counts(others)}"] if others and not heading else []
        if rest:
            yield Piece(f"{heading} {'; '.join(rest)}", 0)

    def _module_line(self, path: str, *, has_symbols: bool) -> str:
        """Return the line of a module: name, sentence and key symbols."""
        sentence = self._sentences.get(path) or self._fallback_sentences.get(path)
        if _is_package_file(path) and sentence == self._folder_sentence(path.rpartition("/")[0]):
            sentence = ""  # the sentence is already part of the folder's line
        text = f"{_name(path)} — {sentence}" if sentence else _name(path)
        symbols = self._outermost_symbols(path)[:_MAX_KEY_SYMBOLS] if has_symbols else ()
        return f"{text} [{', '.join(f'{row.label}:{row.line}' for row in symbols)}]" if symbols else text

    def _outermost_symbols(self, path: str) -> list[Symbol]:
        """Return the most used symbols of a file, without the members of classes that are listed themselves."""
        rows = self._key[path]
        named = {row.label for row in rows if "." not in row.label}
        return [row for row in rows if row.label.partition(".")[0] not in named or "." not in row.label]


def render_file_map(search: GraphSearch, path: str, extras: Sequence[str], *, page: BudgetedLines) -> Answer:
    """Return the outline of one file, the files that import it, and the files that it imports."""
    reader = search.reader
    rows = [row for row in reader.symbols_in(path) if not row.label.rpartition(".")[2].startswith("<")]
    users = reader.referring_file_counts(limit=_MAX_RANKED_SYMBOLS, below=path)
    sentence = first_sentence(summarise_file(path, search.source.heads([path]).get(path, "")))
    imports = [row for row in reader.imports() if path in (row.path, row.target) and row.path != row.target]
    around = [
        _format_imports([row for row in imports if row.path == path]),
        _format_names("imported by", [row.path for row in imports if row.target == path]),
    ]
    head = [f"{path} {_language(path)}{f' — {sentence}' if sentence else ''}", *filter(None, around)]

    def header(shown: int) -> str:
        cut = (
            [truncated(shown, len(rows), "definitions", "find_symbol with path lists the others")]
            if shown < len(rows)
            else []
        )
        return "\n".join([*cut, *head])

    for with_sentences, with_values in ((True, True), (True, False), (False, False)):
        pieces = [
            *_outline(rows, users, with_sentences=with_sentences, with_values=with_values),
            *[Piece(each, 0) for each in extras],
        ]
        if page.count_fitting(header, pieces) == len(pieces):
            break
    return page.answer(header, pieces)


def _language_counts(languages: Counter[str], *, limit: int | None = None) -> str:
    """Format the number of files by language, highest number first. Files without a language come last."""
    named = [(name, number) for name, number in languages.most_common(limit) if name]
    unnamed = languages.total() - sum(number for _, number in named)
    return ", ".join([*(f"{name} {number}" for name, number in named), *([f"others {unnamed}"] if unnamed else [])])


def _outline(
    rows: Sequence[Symbol], users: dict[int, int], *, with_sentences: bool, with_values: bool
) -> Iterator[Piece]:
    """Yield one line per definition, with members indented below the class, then one line for all variables."""
    values: list[Symbol] = []
    for row in rows:
        if row.kind in ("variable", "property"):
            values.append(row)
            continue
        used = f" ({counted(users[row.node_id], 'file')})" if row.node_id in users else ""
        yield Piece(f"{' ' * (row.label.count('.') + 1)}{_line_with_kind(row, with_sentences=with_sentences)}{used}")
    if values and with_values:
        top = [row for row in values if "." not in row.label]
        yield Piece(f" values: {', '.join(f'{row.label}:{row.line}' for row in top)}" if top else "", len(values))


def _line_with_kind(row: Symbol, *, with_sentences: bool) -> str:
    """Return a definition's outline line with its line range and, unless it is a function, its kind."""
    line = outline_line(row, with_sentence=with_sentences)
    number, _, rest = line.partition(" ")
    return f"{number}-{row.end_line} {'' if row.kind in ('function', 'method') else f'{row.kind} '}{rest}"


def _format_imports(rows: Sequence[ImportRow]) -> str:
    """Format the files that a file imports, or their folders if an import names a folder, as in Go."""
    lines: defaultdict[int, set[str]] = defaultdict(set)
    for row in rows:
        lines[row.line].add(row.target)
    names_folders = any(len(found) > 1 and len({_folder(path) for path in found}) == 1 for found in lines.values())
    if names_folders:
        return _format_names("imports", [_folder(row.target) or "." for row in rows], "package")
    return _format_names("imports", [row.target for row in rows])


def _format_names(what: str, paths: Sequence[str], noun: str = "file") -> str:
    """Format the number of files or packages, followed by the first names."""
    every = sorted(dict.fromkeys(paths), key=lambda path: (is_test(path), path))
    if not every:
        return ""
    return f"{what} {counted(len(every), noun)}: {first_names(every, _MAX_NAMED_IMPORTERS)}"


def _build_tree(paths: Sequence[str], top: str) -> dict[str, _FolderSummary]:
    """Return the folders from `top` down, skipping folders that contain only one folder."""
    tree = {top: _FolderSummary(top)}
    for path in paths:
        folder = path.rpartition("/")[0]
        _folder_at(tree, folder, top).files.append(path)
        while True:
            tree[folder].total_files += 1
            if folder == top:
                break
            folder = folder.rpartition("/")[0]
    for each in tree.values():
        each.folders = [_skip_single_folders(tree, path) for path in each.folders]
    return tree


def _folder_at(tree: dict[str, _FolderSummary], path: str, top: str) -> _FolderSummary:
    """Return the folder at `path` in the tree, creating the folder and its parent folders if needed."""
    if path not in tree:
        tree[path] = _FolderSummary(path)
        parent = path.rpartition("/")[0]
        _folder_at(tree, parent if parent != path else top, top).folders.append(path)
    return tree[path]


def _skip_single_folders(tree: dict[str, _FolderSummary], path: str) -> str:
    """Return the first folder at or below `path` that contains a file or several folders."""
    while not tree[path].files and len(tree[path].folders) == 1:
        path = tree[path].folders[0]
    return path


def _is_package_file(path: str) -> bool:
    """Whether a file describes the folder that contains it, such as `__init__.py`."""
    return _name(path).partition(".")[0] in _PACKAGE_FILE_STEMS


def _is_secondary(folder: str) -> bool:
    """Whether a folder contains tests, examples, documentation or similar secondary files."""
    return any(part.lower() in _SECONDARY_FOLDERS for part in folder.split("/"))


def _folders_above(path: str) -> Iterator[str]:
    """Yield the folders that contain a file, nearest first."""
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _language(path: str) -> str:
    language = detect(path)
    return language.name if language else ""


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
