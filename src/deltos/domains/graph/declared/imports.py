"""Import statements, and the packages, namespaces, modules or files that they import."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ImportClause

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    import tree_sitter

    Text = Callable[[tree_sitter.Node], str]

_SEPARATORS = re.compile(r"::|\\|/")


def read_package(node: tree_sitter.Node, text: Text) -> str:
    """Return the package or namespace that a file declares, dotted."""
    name = node.child_by_field_name("name") or (node.named_children[0] if node.named_child_count else None)
    return _SEPARATORS.sub(".", text(name)).strip(".") if name is not None else ""


def read_import(language: str, node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the names that an import statement imports, each with the node that names it."""
    if language == "rust":
        yield from _rust(node, text)
    else:
        yield from ((clause, node) for clause in _READERS[language](node, text))


def _last(dotted: str) -> str:
    """Return the last part of a dotted name."""
    return dotted.rpartition(".")[2]


def _go(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the import of a Go import specification."""
    path, alias = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is not None:
        name = text(path).strip('"`')
        given = text(alias) if alias is not None else ""
        yield ImportClause("all" if given == "." else "module", name, given or f"/{_go_default(name)}")


def _go_default(path: str) -> str:
    """Return the conventional name of a Go package: `x` of `example.com/x/v2`, `yaml` of `gopkg.in/yaml.v3`."""
    folder, _, last = path.rpartition("/")
    if folder and last.startswith("v") and last[1:].isdigit():
        last = folder.rpartition("/")[2]
    stem, _, version = last.rpartition(".v")
    return stem if stem and version.isdigit() else last


def _java(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the import of a Java import declaration."""
    body = text(node).removeprefix("import").strip().rstrip(";").strip()
    static = body.startswith("static ")
    name = body.removeprefix("static ").strip()
    if name.endswith(".*"):
        yield ImportClause("all", name[:-2])
    elif static:
        yield ImportClause("member", name, _last(name))
    else:
        yield ImportClause("name", name, _last(name))


def _kotlin(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the import of a Kotlin import header."""
    body, _, alias = text(node).strip().removeprefix("import").strip().partition(" as ")
    name = body.strip()
    if name.endswith(".*"):
        yield ImportClause("all", name[:-2])
    else:
        yield ImportClause("name", name, alias.strip() or _last(name))


def _csharp(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the import of a C# using directive."""
    written = text(node).strip().rstrip(";")
    body = written.removeprefix("global ").removeprefix("using").strip()
    is_global = written.startswith("global ")
    if body.startswith("static "):
        name = body.removeprefix("static ").strip()
        yield ImportClause("name", name, _last(name), is_global=is_global)
    elif "=" in body:
        alias, _, name = body.partition("=")
        yield ImportClause("name", name.strip(), alias.strip(), is_global=is_global)
    else:
        yield ImportClause("all", body, is_global=is_global)


def _rust(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the imports of a Rust `use` or `mod` item, each with the node that names it."""
    if node.type == "mod_item":
        name = node.child_by_field_name("name")
        if name is not None and node.child_by_field_name("body") is None:
            yield ImportClause("module", f"self.{text(name)}", text(name)), node
        return
    argument = node.child_by_field_name("argument")
    for path, alias, end in _rust_paths(argument, text) if argument is not None else ():
        form = "all" if path.endswith(".*") else "name"
        yield ImportClause(form, path.removesuffix(".*"), alias or _last(path)), end


def _rust_paths(argument: tree_sitter.Node, text: Text) -> Iterator[tuple[str, str, tree_sitter.Node]]:
    """Yield each dotted path of a `use` tree with its alias and last node: `a.b` and `a.c` (alias d) for `a::{b, c as
    d}`."""
    pending = [(argument, "")]
    while pending:
        node, prefix = pending.pop()
        if node.type == "scoped_use_list":
            path, names = node.child_by_field_name("path"), node.child_by_field_name("list")
            head = prefix + _dotted(path, text) + "." if path is not None else prefix
            if names is not None and len(head) <= _MAX_RUST_PATH_CHARACTERS:
                pending.extend((child, head) for child in reversed(names.named_children))
        elif node.type == "use_list":
            pending.extend((child, prefix) for child in reversed(node.named_children))
        elif node.type == "use_as_clause":
            path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
            if path is not None and alias is not None:
                yield (prefix + _dotted(path, text)).removesuffix(".self"), text(alias), _end(path)
        elif node.type == "use_wildcard":
            inner = node.named_children[0] if node.named_child_count else None
            yield (prefix + _dotted(inner, text) if inner is not None else prefix.rstrip(".")) + ".*", "", node
        elif node.type in _RUST_NAMES:
            yield (prefix + _dotted(node, text)).removesuffix(".self"), "", _end(node)


_RUST_NAMES = frozenset({"identifier", "scoped_identifier", "self", "crate", "super", "metavariable"})
_MAX_RUST_PATH_CHARACTERS = 1_000


def _dotted(node: tree_sitter.Node, text: Text) -> str:
    """Return a Rust path with dots instead of `::`."""
    return "".join(text(node).split()).replace("::", ".").strip(".")


def _end(path: tree_sitter.Node) -> tree_sitter.Node:
    """Return the last name node of a Rust path."""
    return path.child_by_field_name("name") or path


# Headers of C, POSIX and C++: in angle brackets they never refer to a file of the project, even one of the same name.
_SYSTEM_HEADERS = frozenset(
    """assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h tgmath.h
    threads.h time.h uchar.h wchar.h wctype.h aio.h cpio.h dirent.h dlfcn.h fcntl.h fmtmsg.h fnmatch.h ftw.h glob.h
    grp.h iconv.h langinfo.h libgen.h monetary.h mqueue.h ndbm.h netdb.h nl_types.h poll.h pthread.h pwd.h regex.h
    sched.h search.h semaphore.h spawn.h strings.h stropts.h syslog.h tar.h termios.h trace.h ulimit.h unistd.h utime.h
    utmpx.h wordexp.h alloca.h endian.h err.h execinfo.h features.h getopt.h ifaddrs.h malloc.h memory.h mntent.h
    paths.h pty.h resolv.h stdio_ext.h sysexits.h ucontext.h utmp.h values.h byteswap.h crypt.h link.h elf.h
    windows.h winsock2.h ws2tcpip.h io.h process.h direct.h conio.h tchar.h intrin.h""".split()
)


def _include(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the import of `#include` or of C++'s `using namespace`."""
    path = node.child_by_field_name("path")
    if path is not None:
        name = text(path)
        form = "outside" if name.startswith("<") and name.strip("<>") in _SYSTEM_HEADERS else "file"
        yield ImportClause(form, name.strip('"<>'), "system" if name.startswith("<") else "")
    elif node.type == "using_declaration":
        name = text(node).removeprefix("using").strip().rstrip(";").strip()
        if name.startswith("namespace "):
            yield ImportClause("all", name.removeprefix("namespace ").strip().replace("::", "."))


def _php(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the imports of a PHP `use` statement."""
    body = re.sub(r"\s+", " ", text(node)).removeprefix("use").strip().rstrip(";").strip()
    body = re.sub(r"^(?:function|const) ", "", body)
    head, brace, rest = body.partition("{")
    parts = [head + part for part in rest.rpartition("}")[0].split(",")] if brace else body.split(",")
    for part in parts:
        name, _, alias = part.partition(" as ")
        dotted = re.sub(r"\s", "", name).replace("\\", ".").strip(".")
        if dotted:
            yield ImportClause("name", dotted, alias.strip() or _last(dotted))


def _ruby(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """Yield the import of Ruby's `require` or `require_relative`."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or not arguments.named_child_count:
        return
    form, argument = text(method), arguments.named_children[0]
    if form in ("require", "require_relative") and argument.type == "string":
        name = text(argument).strip("\"'").removesuffix(".rb")
        yield ImportClause("file", f"{name}.rb", "system" if form == "require" else "")


_READERS: dict[str, Callable[[tree_sitter.Node, Text], Iterator[ImportClause]]] = {
    "go": _go,
    "java": _java,
    "kotlin": _kotlin,
    "csharp": _csharp,
    "c": _include,
    "cpp": _include,
    "php": _php,
    "ruby": _ruby,
}


# --- targets of imports


def file_package(language: str, path: str, package: str) -> str:
    """Return the dotted package of a file's top-level definitions: declared, or given by the path in Go and Rust."""
    folder, _, name = path.rpartition("/")
    if language == "go":
        return folder.replace("/", ".")
    if language == "rust":
        stem = name.removesuffix(".rs")
        own = folder if stem in ("mod", "lib", "main") else f"{folder}/{stem}"
        return own.strip("/").replace("/", ".")
    return package


def crate_of(path: str) -> str:
    """Return the dotted folder of a Rust file's crate root: the nearest `src` above it, else its own folder."""
    parts = path.split("/")[:-1]
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            return ".".join(parts[: index + 1])
    return ".".join(parts)


def absolute_rust(name: str, package_path: str, crate: str, paths: Collection[str], crates: Mapping[str, str]) -> str:
    """A path of a `use` counted from the project's root; `crates` are the folders of crate roots by name."""
    first, _, rest = name.partition(".")
    if first == "crate":
        return f"{crate}.{rest}" if crate else rest
    base = package_path
    while first in ("self", "super"):
        if first == "super":
            base = base.rpartition(".")[0]
        name = rest
        first, _, rest = name.partition(".")
        if first not in ("self", "super"):
            return f"{base}.{name}".strip(".")
    if first in crates:
        return f"{crates[first]}.{rest}".strip(".")
    for folder in (first, first.replace("_", "-"), f"crates/{first.replace('_', '-')}", f"crates/{first}"):
        if f"{folder}/src/lib.rs" in paths:
            return f"{folder.replace('/', '.')}.src.{rest}".strip(".")
    return f"{package_path}.{name}".strip(".")


def included_file(name: str, importer: str, paths: Collection[str], by_name: Callable[[str], list[str]]) -> str | None:
    """Return the file of an `#include` or `require`: relative to the importer, from the root, or the only match by
    suffix."""
    relative_path = posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
    for candidate in (relative_path, posixpath.normpath(name), f"include/{name}", f"src/{name}"):
        if candidate in paths:
            return candidate
    ending = [path for path in by_name(posixpath.basename(name)) if path == name or path.endswith(f"/{name}")]
    return ending[0] if len(ending) == 1 else None
