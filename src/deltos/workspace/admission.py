"""Whether a file's content is worth indexing; if not, for which reason it is skipped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.languages.table import detect

if TYPE_CHECKING:
    from deltos.languages.table import Language
    from deltos.workspace.sources import SourceTree

MAX_CODE_BYTES = 4_000_000
MAX_DATA_BYTES = 400_000  # larger ones are fixtures and exports, which would fill the index
_DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "xml", "html", "css"})
_HEAD_BYTES = 8_192
_MARK_BYTES = 2_000  # where a file says that it is generated
_LONGEST_MEAN_LINE = 250  # characters; what people write stays far below, minified code far above
_SMALLEST_MINIFIED = 2_000

BINARY_SUFFIXES = frozenset(
    """.png .jpg .jpeg .gif .webp .ico .bmp .tiff .psd .pdf .zip .gz .bz2 .xz .zst .7z .tar .tgz .jar .war
    .class .pyc .pyo .so .o .a .dylib .dll .exe .bin .dat .db .sqlite .sqlite3 .woff .woff2 .ttf .otf .eot
    .mp3 .mp4 .mov .avi .wav .ogg .webm .wasm .npy .npz .parquet .onnx .safetensors .pt .pth .h5 .mo .gmo
    .lockb .whl .deb .rpm .iso .ai .eps .ps .indd .sketch .fig .xcf .dwg .blend .fbx .glb .stl .icns .cur .heic .avif
    .flac .m4a .mkv .pkl .pickle .joblib .feather .arrow .rds .rdata .mat .docx .xlsx .pptx .odt .ods .odp .epub .dmg
    .msi .apk .ipa .swf .jks .p12 .pfx .keystore""".split()
)
GENERATED_NAMES = frozenset(
    """package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock poetry.lock pdm.lock uv.lock
    Pipfile.lock Cargo.lock composer.lock Gemfile.lock go.sum flake.lock mix.lock pubspec.lock
    packages.lock.json""".split()
)
DATA_SUFFIXES = frozenset({".svg", ".csv", ".tsv", ".po", ".pot", ".log", ".map", ".snap", ".lock", ".ipynb"})
# What drawings and documents begin with; they are text, but not one that a person wrote.
_ASSET_MARKS = (b"%PDF-", b"%!PS", b"{\\rtf")
# Said in a comment: code that looks for these marks must not be taken for generated itself.
_COMMENT_MARKS = (b"//", b"#", b"*", b"/*", b"--", b";", b"%", b"<!--", b'"""', b"'''")
_GENERATED_TAG = re.compile(rb"@generated\b")
_CODE_GENERATED = re.compile(rb"\bCode generated\b")
_DO_NOT_EDIT = re.compile(rb"\bDO NOT EDIT")
_SAID_GENERATED = re.compile(rb"(?i)\b(?:auto(?:matically)?[- ]?generated|this file (?:is|was) generated)\b")
_SAID_DO_NOT_EDIT = re.compile(rb"(?i)\bdo not (?:edit|modify)\b")
_BUILT_SUFFIXES = (".js", ".cjs", ".mjs", ".css")
_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|css|mjs)$|\.bundle\.js$|\.chunk\.js$")
# By their first bytes; the longer mark comes first, because it begins with the shorter one.
_ENCODINGS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """Content worth indexing, as UTF-8."""

    data: bytes
    language: Language | None


def refuse_by_name(path: str, size: int) -> str | None:
    """The reason to skip a file that its name and size alone give; None when its content must be seen."""
    name = path.rsplit("/", 1)[-1]
    suffix = "." + name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if suffix in BINARY_SUFFIXES:
        return "binary"
    if name in GENERATED_NAMES:
        return "generated"
    if suffix in DATA_SUFFIXES:
        return "data"
    if "/dist/" in f"/{path}" and path.endswith(_BUILT_SUFFIXES):
        return "built"
    if _MINIFIED_NAME.search(name):
        return "minified"
    if size > MAX_CODE_BYTES:
        return "too large"
    return None if size else "empty"


def admit(tree: SourceTree, path: str, size: int) -> Admitted | str:
    """Read a file; its content and language, or the reason why it is skipped."""
    if reason := refuse_by_name(path, size):
        return reason
    data = read_source(tree, path)
    if data is None:
        return "unreadable"
    language = detect(path, data[:_HEAD_BYTES])
    return refuse_by_content(data, language) or Admitted(to_utf8(data), language)


def read_source(tree: SourceTree, path: str) -> bytes | None:
    """The content of a file, at most a little more than we index; None for a link, a pipe, or what cannot be read."""
    try:
        return tree.read_head(path, MAX_CODE_BYTES + 1)
    except FileRefused:
        return None


def refuse_by_content(data: bytes, language: Language | None) -> str | None:
    """The reason to skip content that is no source written by a person; None when it is."""
    head = data[:_HEAD_BYTES]
    if (b"\0" in head and _marked_encoding(head) is None) or head.startswith(_ASSET_MARKS):
        return "binary"
    if len(data) > MAX_CODE_BYTES:
        return "too large"
    if (language is None or language.name in _DATA_LANGUAGES) and len(data) > MAX_DATA_BYTES:
        return "data"
    if not data.strip():
        return "empty"
    if _is_minified(data) and not (language and language.name == "markdown"):
        return "minified"
    return "generated" if _is_generated(head[:_MARK_BYTES]) else None


def _is_generated(head: bytes) -> bool:
    """Whether a comment near the top says that no person wrote the file."""
    lines = [line.lstrip(b" \t") for line in head.split(b"\n")]
    return any(
        _says_generated(line, lines[number + 1 : number + 3])
        for number, line in enumerate(lines)
        if line.startswith(_COMMENT_MARKS)
    )


def _says_generated(line: bytes, following: list[bytes]) -> bool:
    if _GENERATED_TAG.search(line):
        return True
    if (code := _CODE_GENERATED.search(line)) and _DO_NOT_EDIT.search(line, code.end()):
        return True
    said = _SAID_GENERATED.search(line)
    return said is not None and any(map(_SAID_DO_NOT_EDIT.search, (line[said.end() :], *following)))


def _is_minified(data: bytes) -> bool:
    return len(data) > _SMALLEST_MINIFIED and len(data) / (data.count(b"\n") + 1) > _LONGEST_MEAN_LINE


def _marked_encoding(data: bytes) -> str | None:
    return next((name for mark, name in _ENCODINGS if data.startswith(mark)), None)


def to_utf8(data: bytes) -> bytes:
    """Any encoding as UTF-8, line for line."""
    if data.isascii():
        return data
    if encoding := _marked_encoding(data):
        return data.decode(encoding, "replace").encode("utf-8", "replace")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1").encode("utf-8")
    return data
