"""Decide by the rules of each language whether a definition is part of the public API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.federation.review.declarations import CALLABLE_KINDS
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.federation.review.declarations import Declaration, FileDeclarations

_SCRIPT_LANGUAGES = frozenset({"javascript", "jsx", "typescript", "tsx"})
_PUBLIC_MODIFIERS = {
    "java": ("public", "protected"), "csharp": ("public", "protected"), "swift": ("public", "open"), "rust": ("pub",),
}  # fmt: skip
_PRIVATE_MODIFIERS = {
    "kotlin": ("private", "internal"), "php": ("private", "protected"), "scala": ("private", "protected"),
    "typescript": ("private", "protected"), "tsx": ("private", "protected"), "c": ("static",), "cpp": ("static",),
}  # fmt: skip
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".inl")
# Kinds of definitions whose members are public even without a modifier such as `public`.
_PUBLIC_MEMBER_CONTAINERS = frozenset({"interface", "enum", "trait", "protocol"})
_SUPPORT_FOLDERS = re.compile(
    r"(?:^|/)(?:examples?|docs?|benchmarks?|benches|bench|scripts?|tools|samples?|internal|demos?)(?:/|$)"
)
_WORD = re.compile(r"[^\W\d]\w*")


def is_public(path: str, declaration: Declaration, file: FileDeclarations) -> bool:
    """Whether a definition is part of the public API. Files for tests, examples and tools have none."""
    if is_test(path) or _SUPPORT_FOLDERS.search(path):
        return False
    by_label = {each.label: each for each in file.declarations}
    labels = _enclosing_labels(declaration.label)
    if any(label in by_label and by_label[label].kind in CALLABLE_KINDS for label in labels[:-1]):
        return False  # a local function
    return all(_is_visible(path, by_label[label], file, by_label) for label in labels if label in by_label)


def _enclosing_labels(label: str) -> list[str]:
    """Return a qualified name and the qualified names of all enclosing definitions."""
    parts = label.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _is_visible(
    path: str, declaration: Declaration, file: FileDeclarations, by_label: Mapping[str, Declaration]
) -> bool:
    """Whether one definition is visible from outside its container."""
    language, name = file.language, declaration.name
    words = _words_before_name(declaration)
    if not words.isdisjoint(_PRIVATE_MODIFIERS.get(language, ())):
        return False
    if language == "python":
        return _is_python_public(path, declaration, file)
    if language in _SCRIPT_LANGUAGES:
        is_member = bool(declaration.container)
        return not name.startswith(("_", "#")) and (is_member or "export" in words or name in file.exported)
    if language == "go":
        return name[:1].isupper()
    if language in ("c", "cpp"):
        return path.endswith(_HEADER_SUFFIXES)
    if wanted := _PUBLIC_MODIFIERS.get(language):
        container = by_label.get(declaration.container)
        is_implicit = container is not None and container.kind in _PUBLIC_MEMBER_CONTAINERS
        return is_implicit or (not words.isdisjoint(wanted) and "pub(" not in declaration.header)
    return not name.startswith("_")


def _is_python_public(path: str, declaration: Declaration, file: FileDeclarations) -> bool:
    """Whether neither a Python name nor its module starts with an underscore, and `__all__`, if present, lists it.

    Names such as `__init__` are public in classes, and names such as `__all__` are not public in modules.
    """
    parts = path.removesuffix(".pyi").removesuffix(".py").split("/")
    if any(part.startswith("_") and not part.endswith("__") for part in parts):
        return False
    name = declaration.name
    if name.startswith("_") and not (declaration.container and name.endswith("__")):
        return False
    return bool(declaration.container) or not file.exported or name in file.exported


def _words_before_name(declaration: Declaration) -> set[str]:
    """Return the words before the name in a header, which include all modifiers."""
    words = _WORD.findall(declaration.header)
    return set(words[: words.index(declaration.name)] if declaration.name in words else words[:6])
