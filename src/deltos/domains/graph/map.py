"""A map of a folder or a file within a token budget, for somebody who has not seen it: modules with what they say of
themselves and their most used symbols, folders with counts; breadth first."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.budget import shown_of
from deltos.domains.graph.definitions import NOT_CODE
from deltos.domains.graph.lines import first_sentence, outline_line
from deltos.domains.graph.page import Piece
from deltos.languages.opening import opening_sentence
from deltos.languages.table import detect
from deltos.text.counts import counted
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.domains.graph.page import BudgetedLines
    from deltos.domains.graph.search import GraphSearch
    from deltos.store.symbols import Symbol
    from deltos.tool import Answer

MAP_TOKENS = 2_000
_MOST_READ = 400  # files whose beginning is read
_MOST_USED = 3_000  # symbols, most used first
_KEY_SYMBOLS = 4
_SENTENCE_CHARACTERS = 110
_TOP_MODULES = 60  # of the folder that was asked about
_MODULES = 8  # of each folder below it, where not all fit
_NAMED_MODULES = 8  # of those that a folder has besides
_MOST_WHOLE = 100  # modules of a folder that may be told all
_MOST_FOLDERS = 30
_MOST_BLOCKS = 80  # more do not fit
_KEPT_SHARE = 2 / 3  # of the modules that stay when key symbols of others need room
_ASIDE = frozenset(
    """test tests __tests__ spec specs testdata fixtures benchmarks bench examples example fuzz docs vendor
    third_party""".split()
)
_NAMED_USERS = 6
_SPEAKS_FOR_FOLDER = frozenset({"__init__", "index", "mod", "lib", "doc", "package-info", "main"})
_READ_ME = ("readme.md", "readme.rst", "readme.txt", "readme")


@dataclass(slots=True)
class _Folder:
    """A folder of the project with what is directly in it; `total` counts all files below."""

    path: str
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    total: int = 0


def render_map(search: GraphSearch, folder: str, *, page: BudgetedLines) -> Answer:
    """The map of a folder of the project; "" is the whole."""
    return _Mapper(search, folder).render(page.within(MAP_TOKENS))


class _Mapper:
    """Draws the map of one folder."""

    def __init__(self, search: GraphSearch, folder: str) -> None:
        self._search = search
        self._top = folder
        prefix = f"{folder}/" if folder else ""
        self._paths = [path for path in search.reader.paths() if path.startswith(prefix)]
        self._tree = _tree(self._paths, folder)
        with search.reader.snapshot():
            users = search.reader.users(limit=_MOST_USED, below=folder)
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
        self._borrowed: dict[str, str] = {}  # of modules that say nothing: what a definition says
        self._is_whole = False  # every module has its line

    def render(self, page: BudgetedLines) -> Answer:
        """The folders, nearest first; the modules of those that are most used; their key symbols as far as they fit."""
        folders = list(self._breadth_first())
        order = sorted(
            folders, key=lambda folder: (folder.path != self._top, _is_aside(folder.path), -self._own_use(folder))
        )
        total = sum(len(self._modules(folder)) for folder in order)
        self._is_whole = total <= _MOST_WHOLE and len(order) <= _MOST_BLOCKS
        order = order[:_MOST_BLOCKS]
        read_me = [path for path in self._tree[self._top].files if _name(path).lower() in _READ_ME]
        self._read([*read_me, *(path for folder in order for path in self._shown_modules(folder))])

        def header(shown: int) -> str:
            what = self._headline()
            return what if shown >= total else f"{shown_of(shown, total, 'modules', self._deeper(order))}\n{what}"

        skeleton = self._skeleton(folders[1:])

        def pieces(with_symbols: frozenset[str]) -> list[Piece]:
            return [*skeleton, *(piece for folder in order for piece in self._block(folder, with_symbols))]

        best = pieces(frozenset())
        told = least = page.fitting(header, best)
        if told < len(best):
            self._is_whole = False
            best = pieces(frozenset())
            told = page.fitting(header, best)
            least = math.ceil(told * _KEPT_SHARE)
        with_symbols = self._most_used(order)
        # Symbols where there is room for them: of the most used modules, half of those at each further try.
        while with_symbols:
            tried = pieces(frozenset(with_symbols))
            if page.fitting(header, tried) >= least:
                best = tried
                break
            with_symbols = with_symbols[: len(with_symbols) // 2]
        return page.answer(header, best)

    def _skeleton(self, folders: Sequence[_Folder]) -> list[Piece]:
        """Folders with what they say of themselves, one line each; of what the product does not run only the top."""
        prefix = f"{self._top}/" if self._top else ""
        near = [each for each in folders if not _is_aside(each.path.removeprefix(prefix).rpartition("/")[0])]
        if not near:
            return []
        self._read(path for folder in near[:_MOST_FOLDERS] for path in folder.files if _speaks(path))
        lines = []
        for folder in near[:_MOST_FOLDERS]:
            about = self._about(folder.path)
            lines.append(f"{folder.path.removeprefix(prefix)}/ {folder.total}{f' — {about}' if about else ''}")
        if len(folders) > len(lines):
            lines.append(f"and {len(folders) - len(lines)} more folders")
        return [Piece("\n".join(["--- folders, with their files ---", *lines, "--- modules, most used first ---"]), 0)]

    def _headline(self) -> str:
        top = self._tree[self._top]
        languages = Counter(self._languages.values())
        told = _told(languages, most=5)
        sentence = self._about(self._top)
        name = f"{self._top}/" if self._top else self._search.root.name
        return f"map of {name}: {counted(top.total, 'file')} ({told}){f' — {sentence}' if sentence else ''}"

    def _deeper(self, order: Sequence[_Folder]) -> str:
        """How to see more: an example of a folder that has some."""
        inside = [folder for folder in order if folder.path != self._top and len(self._modules(folder)) > _MODULES]
        return f"ask for a folder, such as {inside[0].path}" if inside else "find_symbol finds the rest"

    def _breadth_first(self) -> Iterator[_Folder]:
        """Folders level by level, on each level those first that most others use; tests last."""
        level = [self._top]
        while level:
            level.sort(key=lambda path: (_is_aside(path), -self._weights[path], path))
            yield from (self._tree[path] for path in level)
            level = [inner for path in level for inner in self._tree[path].folders]

    def _own_use(self, folder: _Folder) -> int:
        return sum(self._use[path] for path in folder.files)

    def _shown_modules(self, folder: _Folder) -> list[str]:
        modules = self._modules(folder)
        return modules if self._is_whole else modules[: _TOP_MODULES if folder.path == self._top else _MODULES]

    def _modules(self, folder: _Folder) -> list[str]:
        """The source files of a folder, most used first, tests last."""
        if folder.path not in self._modules_in:
            code = [path for path in folder.files if self._languages[path] not in NOT_CODE]
            code.sort(key=lambda path: (is_test(path), -self._use[path], path))
            self._modules_in[folder.path] = code
        return self._modules_in[folder.path]

    def _read(self, paths: Iterable[str]) -> None:
        wanted = [path for path in dict.fromkeys(paths) if path not in self._sentences][:_MOST_READ]
        for path, head in self._search.source.heads(wanted).items():
            self._sentences[path] = first_sentence(opening_sentence(path, head), _SENTENCE_CHARACTERS)
            if self._languages[path] not in NOT_CODE and not (self._sentences[path] and self._key[path]):
                self._borrow(path)

    def _borrow(self, path: str) -> None:
        """Let the outermost definitions stand for used ones, and the first that is documented speak for its file."""
        rows = [row for row in self._search.reader.symbols_in(path) if "." not in row.key and row.kind != "variable"]
        if not self._key[path]:
            self._key[path] = rows
        told = next((row for row in (*self._key[path], *rows) if row.doc), None)
        if told is not None:
            sentence = first_sentence(told.doc, _SENTENCE_CHARACTERS)
            self._borrowed[path] = sentence if sentence.startswith(told.name) else f"{told.label}: {sentence}"

    def _about(self, folder: str) -> str:
        """What a folder says about itself: in its package file, at the top in its read-me."""
        files = self._tree[folder].files
        names = {path.rpartition("/")[2].lower(): path for path in files}
        speaking = [names[name] for name in _READ_ME if name in names] if folder == self._top else []
        speaking += filter(_speaks, files)
        return next((sentence for path in speaking if (sentence := self._sentences.get(path))), "")

    def _block(self, folder: _Folder, with_symbols: frozenset[str]) -> Iterator[Piece]:
        """A folder: its most used modules a piece each, and how many files it has besides."""
        modules, shown = self._modules(folder), self._shown_modules(folder)
        about = self._about(folder.path)
        heading = f"{folder.path}/\n" if folder.path != self._top else ""
        said = 0  # modules that the line about their folder has told already
        for path in shown:
            if self._is_said(path, about) and not self._is_whole:
                said += 1
                continue
            yield Piece(f"{heading} {self._module(path, path in with_symbols)}", 1 + said)
            heading, said = "", 0
        others = Counter(name for path in folder.files if (name := self._languages[path]) in NOT_CODE)
        rest = [_others(modules[len(shown) :])] if len(modules) > len(shown) else []
        rest += [f"not code: {_told(others)}"] if others and not heading else []
        if rest or said:
            yield Piece(f"{heading} {'; '.join(rest)}" if rest else f"{folder.path}/", said)

    def _is_said(self, path: str, about: str) -> bool:
        """Whether a module has nothing to tell beyond what its folder's line says."""
        return not self._key[path] and bool(about) and self._sentences.get(path) == about

    def _module(self, path: str, has_symbols: bool) -> str:
        sentence = self._sentences.get(path) or self._borrowed.get(path)
        if _speaks(path) and sentence == self._about(path.rpartition("/")[0]):
            sentence = ""  # the line of its folder tells it
        text = f"{_name(path)} — {sentence}" if sentence else _name(path)
        key = [f"{row.label}:{row.line}" for row in self._outermost(path)[:_KEY_SYMBOLS]] if has_symbols else []
        return f"{text} [{', '.join(key)}]" if key else text

    def _outermost(self, path: str) -> list[Symbol]:
        """The most used symbols of a file; a member only beside others than its own class."""
        rows = self._key[path]
        named = {row.label for row in rows if "." not in row.label}
        return [row for row in rows if row.label.partition(".")[0] not in named or "." not in row.label]

    def _most_used(self, folders: Sequence[_Folder]) -> list[str]:
        every = [path for folder in folders for path in self._shown_modules(folder)]
        told = [path for path in every if self._key[path]]
        return sorted(told, key=lambda path: (bool(self._sentences.get(path)), -self._use[path]))


def _others(paths: Sequence[str]) -> str:
    """How many modules a folder has besides, and the names of the first."""
    names = ", ".join(map(_name, paths[:_NAMED_MODULES]))
    return f"and {counted(len(paths), 'more module')}: {names}{' …' if len(paths) > _NAMED_MODULES else ''}"


def render_file_map(search: GraphSearch, path: str, extras: Sequence[str], *, page: BudgetedLines) -> Answer:
    """The outline of one file with what each definition says of itself, who imports it and what it imports."""
    reader = search.reader
    rows = [row for row in reader.symbols_in(path) if not row.label.rpartition(".")[2].startswith("<")]
    users = reader.users(limit=_MOST_USED, below=path)
    sentence = first_sentence(opening_sentence(path, search.source.heads([path]).get(path, "")))
    imports = [row for row in reader.imports() if path in (row.path, row.target) and row.path != row.target]
    around = [
        _named("imports", [row.target for row in imports if row.path == path]),
        _named("imported by", [row.path for row in imports if row.target == path]),
    ]
    head = [f"{path} {_language(path)}{f' — {sentence}' if sentence else ''}", *filter(None, around)]

    def header(shown: int) -> str:
        cut = (
            [shown_of(shown, len(rows), "definitions", "find_symbol with path finds the rest")]
            if shown < len(rows)
            else []
        )
        return "\n".join([*cut, *head])

    for is_told, with_values in ((True, True), (True, False), (False, False)):
        pieces = [
            *_outline(rows, users, is_told=is_told, with_values=with_values),
            *[Piece(each, 0) for each in extras],
        ]
        if page.fitting(header, pieces) == len(pieces):
            break
    return page.answer(header, pieces)


def _told(languages: Counter[str], *, most: int | None = None) -> str:
    """How many files there are of each language, most first; those of none last."""
    named = [(name, number) for name, number in languages.most_common(most) if name]
    unnamed = languages.total() - sum(number for _, number in named)
    return ", ".join([*(f"{name} {number}" for name, number in named), *([f"others {unnamed}"] if unnamed else [])])


def _outline(rows: Sequence[Symbol], users: dict[int, int], *, is_told: bool, with_values: bool) -> Iterator[Piece]:
    """One piece per definition, members below their class; values in one line."""
    values: list[Symbol] = []
    for row in rows:
        if row.kind in ("variable", "property"):
            values.append(row)
            continue
        used = f" ({counted(users[row.node_id], 'file')})" if row.node_id in users else ""
        yield Piece(f"{' ' * (row.label.count('.') + 1)}{_with_kind(row, is_told=is_told)}{used}")
    if values and with_values:
        top = [row for row in values if "." not in row.label]
        yield Piece(f" values: {', '.join(f'{row.label}:{row.line}' for row in top)}" if top else "", len(values))


def _with_kind(row: Symbol, *, is_told: bool) -> str:
    line = outline_line(row, with_sentence=is_told)
    number, _, rest = line.partition(" ")
    return f"{number}-{row.end_line} {'' if row.kind in ('function', 'method') else f'{row.kind} '}{rest}"


def _named(what: str, paths: Sequence[str]) -> str:
    every = sorted(dict.fromkeys(paths), key=lambda path: (is_test(path), path))
    if not every:
        return ""
    more = f" and {len(every) - _NAMED_USERS} more" if len(every) > _NAMED_USERS else ""
    return f"{what} {counted(len(every), 'file')}: {', '.join(every[:_NAMED_USERS])}{more}"


def _tree(paths: Sequence[str], top: str) -> dict[str, _Folder]:
    """The folders from `top` down; one that holds nothing but another folder is passed over."""
    tree = {top: _Folder(top)}
    for path in paths:
        folder = path.rpartition("/")[0]
        _at(tree, folder, top).files.append(path)
        while True:
            tree[folder].total += 1
            if folder == top:
                break
            folder = folder.rpartition("/")[0]
    for each in tree.values():
        each.folders = [_through(tree, path) for path in each.folders]
    return tree


def _at(tree: dict[str, _Folder], path: str, top: str) -> _Folder:
    if path not in tree:
        tree[path] = _Folder(path)
        parent = path.rpartition("/")[0]
        _at(tree, parent if parent != path else top, top).folders.append(path)
    return tree[path]


def _through(tree: dict[str, _Folder], path: str) -> str:
    while not tree[path].files and len(tree[path].folders) == 1:
        path = tree[path].folders[0]
    return path


def _speaks(path: str) -> bool:
    """Whether a file speaks for its folder: the file of a package."""
    return _name(path).partition(".")[0] in _SPEAKS_FOR_FOLDER


def _is_aside(folder: str) -> bool:
    """Whether a folder holds what the product does not run."""
    return any(part.lower() in _ASIDE for part in folder.split("/"))


def _folders_above(path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _language(path: str) -> str:
    language = detect(path)
    return language.name if language else ""


def _name(path: str) -> str:
    return path.rpartition("/")[2]
