"""Fuzz targets for the files of installed packages: RECORD, METADATA, package.json, requirements, pyproject, sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.target import Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_RECORD = (
    b",,\n",
    b",sha256=",
    b"../",
    b"/etc/passwd",
    b"a/__init__.py,,\n",
    b'"',
    b".dist-info/",
    b"a/README.md,,\n",
    b"\r\n",
    b"\\",
    b"a/link.md,,\n",
)
_METADATA = (b"Name: a\n", b"Version: 1\n", b"Description-Content-Type: text/markdown\n", b"\n\n", b"Description: ", b"        |", b"Content-Type: multipart/mixed; boundary=a\n",
             b"--a\n", b"Content-Transfer-Encoding: base64\n", b"=?utf-8?q?a?=", b": ", b"\n ")  # fmt: skip
_REQUIREMENTS = (
    b"-r other.txt\n",
    b"-r /etc/passwd\n",
    b"--requirement ",
    b"-e .\n",
    b"a==1\n",
    b"a[b]>=1; python_version < '3'\n",
    b"a @ https://x\n",
    b" #",
    b"\\\n",
    b"-c ",
)
_PYPROJECT = (b"[project]\n", b"dependencies = [", b"]\n", b"[project.optional-dependencies]\n", b"[dependency-groups]\n", b"[tool.poetry.dependencies]\n", b"a = 1\n",
              b'"', b"'''", b"{", b"}", b"[[a]]\n", b"a.b.c = ", b"1979-05-27T07:32:00Z", b"inf", b"\\u")  # fmt: skip
_NODE = (
    b'"exports"',
    b'"types"',
    b'"main"',
    b'"."',
    b'"./sub"',
    b'"../x"',
    b'"version"',
    b'"dependencies"',
    b'"import"',
)


_DECLARATIONS = (
    b"/**",
    b"*/",
    b"export ",
    b"declare ",
    b"import './x'",
    b"/// <reference path='",
    b"namespace A {",
    b"}",
)


def targets() -> Iterator[Target]:
    """Return one target for each kind of file that lists installed or required packages."""
    yield Target("record", without_cleanup(_distribution_target("RECORD")), ("record",), ("RECORD",), _RECORD)
    yield Target("metadata", without_cleanup(_distribution_target("METADATA")), ("metadata",), ("METADATA",), _METADATA)
    yield Target(
        "package-json", without_cleanup(_node_package), ("package-json",), ("package.json",), _NODE, is_json=True
    )
    yield Target(
        "requirements",
        without_cleanup(_requirements_target("requirements.txt")),
        ("requirements",),
        ("requirements.txt",),
        _REQUIREMENTS,
    )
    yield Target(
        "pyproject", without_cleanup(_requirements_target("pyproject.toml")), ("pyproject",), (".toml",), _PYPROJECT
    )
    yield Target(
        "python-api",
        without_cleanup(_python_api),
        ("tests/languages/samples/python.sample",),
        (".py", ".pyi"),
        (b"def f(", b"class A:\n", b"    ", b"@a\n", b"-", b"(", b"lambda: ", b"'''", b"\\", b"*", b":=", b"if x:\n"),
    )
    for name, make in (("node-links", _node_links), ("node-api", _node_api)):
        yield Target(
            name, without_cleanup(make), ("tests/languages/samples/typescript.sample",), (".d.ts",), _DECLARATIONS
        )


def _distribution_target(changed: str) -> Callable[[Path], Run]:
    def make(scratch: Path) -> Run:
        from deltos.domains.docs.python_package import PythonPackage
        from deltos.store.documents import CrawlAddress, SourceRow
        from fuzz.inline_parser import InlineParser, read_and_parse

        site = scratch / ".venv" / "lib" / "python3.11" / "site-packages"
        info = site / "a-1.dist-info"
        (site / "a").mkdir(parents=True, exist_ok=True)
        info.mkdir(exist_ok=True)
        (scratch / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
        (site / "a" / "__init__.py").write_text('"""A."""\n\n\ndef f(x: int) -> int:\n    """Do it."""\n    return x\n')
        (site / "a" / "README.md").write_text("# A\n\ntext\n")
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a\nVersion: 1\n\n# A\n")
        (info / "RECORD").write_text("a/__init__.py,,\na/README.md,,\n")
        source = SourceRow("", "a", "pypi", "pypi:a", project_root=scratch.as_posix())

        def run(data: bytes) -> None:
            (info / changed).write_bytes(data)
            package = PythonPackage(source, (), InlineParser())
            for url in [url for url in package.start_addresses() if isinstance(url, str)][:5]:
                read_and_parse(package, CrawlAddress(url, 0))

        return run

    return make


def _node_package(scratch: Path) -> Run:
    from deltos.domains.docs.node_package import NpmPackage
    from deltos.store.documents import CrawlAddress, SourceRow
    from fuzz.inline_parser import InlineParser, read_and_parse

    folder = scratch / "node_modules" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.d.ts").write_text("/** Do it. */\nexport declare function f(x: number): number;\n")
    (folder / "README.md").write_text("# A\n\ntext\n")
    source = SourceRow("", "a", "npm", "npm:a", project_root=scratch.as_posix())

    def run(data: bytes) -> None:
        from deltos.domains.docs.dependencies import direct_dependencies

        (folder / "package.json").write_bytes(data)
        (scratch / "package.json").write_bytes(data)
        direct_dependencies(scratch, InlineParser())
        package = NpmPackage(source, InlineParser())
        for url in [each for each in package.start_addresses() if isinstance(each, str)][:5]:
            read_and_parse(package, CrawlAddress(url, 0))

    return run


def _requirements_target(name: str) -> Callable[[Path], Run]:
    def make(scratch: Path) -> Run:
        from deltos.domains.docs.dependencies import direct_dependencies
        from fuzz.inline_parser import InlineParser

        (scratch / "other.txt").write_text("b\n-r requirements.txt\n")

        def run(data: bytes) -> None:
            (scratch / name).write_bytes(data)
            "\n".join(direct_dependencies(scratch, InlineParser()).addresses).encode()

        return run

    return make


def _python_api(_scratch: Path) -> Run:
    from deltos.domains.docs.chunk import chunk_document
    from deltos.domains.docs.python_api import describe_module
    from deltos.domains.docs.python_names import PackageNames, read_names

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        modules = [read_names("a", "a/__init__.py", text), read_names("a._b", "a/_b.py", text)]
        exports = PackageNames(modules).exports()
        for module in modules:
            if module.is_public or module.name in exports:
                chunk_document(describe_module(module, exports.get(module.name, {}), text))

    return run


def _node_links(_scratch: Path) -> Run:
    from deltos.domains.docs.node_exports import DeclarationFiles

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        files = DeclarationFiles({"index.d.ts": text, "x.d.ts": text}.get)
        files.follow([("a", "index.d.ts"), ("a/x", "x.d.ts")], "a")

    return run


def _node_api(_scratch: Path) -> Run:
    from deltos.domains.docs.chunk import chunk_document
    from deltos.domains.docs.node_api import describe_declarations
    from deltos.domains.docs.node_exports import ImportableNames

    public = ImportableNames("a", {"default": "a", "Point": "Dot"}, "a.")

    def run(data: bytes) -> None:
        chunk_document(describe_declarations("a/index.d.ts", data, public))

    return run
