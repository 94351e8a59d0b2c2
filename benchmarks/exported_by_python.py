"""Print the public classes and functions of an installed distribution as JSON.

    python exported_by_python.py NAME

Run it with the interpreter in whose environment the distribution is installed. A module without `__all__` exports its
definitions; a package also exports names that it imports from its own modules.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
from contextlib import redirect_stdout, suppress
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

PRIVATE_MODULES = ("tests", "conftest", "benchmarks")


def main() -> None:
    """Print the exports of every public module of the distribution."""
    wanted = sys.argv[1].lower().replace("_", "-")
    names: set[str] = set()
    with redirect_stdout(sys.stderr):
        for top, owners in packages_distributions().items():
            if wanted in [owner.lower().replace("_", "-") for owner in owners] and not top.startswith("_"):
                for name in public_modules(top):
                    names |= exported_definitions(name, top)
    print(json.dumps(sorted(names)))


def public_modules(top: str) -> list[str]:
    """Yield the importable public modules below a top-level module."""
    package = import_module_or_none(top)
    names = [top]
    walk = pkgutil.walk_packages(getattr(package, "__path__", []), f"{top}.", onerror=lambda _name: None)
    with suppress(BaseException):  # A package whose import fails stops the search for modules with an error.
        names += (module.name for module in walk if all(map(is_public, module.name.split("."))))
    return names


def is_public(part: str) -> bool:
    """Return whether a part of a module name is public."""
    return not part.startswith(("_", "test_")) and part not in PRIVATE_MODULES


def import_module_or_none(name: str) -> ModuleType | None:
    """Import a module and return it, or None if the import fails."""
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001 - some modules call sys.exit
        return None


def attribute_or_none(module: ModuleType, name: str) -> object:
    """Return an attribute of a module, or None if access fails, as it may for lazy imports."""
    try:
        return getattr(module, name, None)
    except Exception:  # noqa: BLE001 - a lazy import may raise anything
        return None


def exported_definitions(name: str, top: str) -> set[str]:
    """Yield the classes and functions that a module exports."""
    module = import_module_or_none(name)
    if module is None:
        return set()
    listed = getattr(module, "__all__", None)
    found = set()
    for each in listed or [each for each in vars(module) if not each.startswith("_")]:
        value = attribute_or_none(module, each)
        origin = str(getattr(value, "__module__", ""))
        is_own = origin == name or ((listed or hasattr(module, "__path__")) and origin.split(".")[0].lstrip("_") == top)
        if is_own and (inspect.isclass(value) or inspect.isroutine(value)):
            found.add(each)
    return found


if __name__ == "__main__":
    main()
