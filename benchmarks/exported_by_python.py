"""Prints, as JSON, the public classes and functions of an installed distribution: exported_by_python.py NAME.

Run by the environment that has it. A module without `__all__` exports what it defines, a package also what
it imports from its own modules.
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

NOT_PUBLIC = ("tests", "conftest", "benchmarks")


def main() -> None:
    """Look into every public module of the distribution."""
    wanted = sys.argv[1].lower().replace("_", "-")
    names: set[str] = set()
    with redirect_stdout(sys.stderr):
        for top, owners in packages_distributions().items():
            if wanted in [owner.lower().replace("_", "-") for owner in owners] and not top.startswith("_"):
                for name in modules_of(top):
                    names |= exported(name, top)
    print(json.dumps(sorted(names)))


def modules_of(top: str) -> list[str]:
    """The importable public modules below a top-level one."""
    package = imported(top)
    names = [top]
    walk = pkgutil.walk_packages(getattr(package, "__path__", []), f"{top}.", onerror=lambda _name: None)
    with suppress(BaseException):  # what cannot be imported here ends the walk in some packages
        names += (module.name for module in walk if all(map(is_public, module.name.split("."))))
    return names


def is_public(part: str) -> bool:
    """Whether a part of a module's name is meant for users."""
    return not part.startswith(("_", "test_")) and part not in NOT_PUBLIC


def imported(name: str) -> ModuleType | None:
    """The module, or None when it cannot be imported here."""
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001 - some end the process
        return None


def value_of(module: ModuleType, name: str) -> object:
    """What a module calls so; None where that cannot be had here: some import on being asked."""
    try:
        return getattr(module, name, None)
    except Exception:  # noqa: BLE001 - whatever that import raises
        return None


def exported(name: str, top: str) -> set[str]:
    """The classes and functions that a module exports."""
    module = imported(name)
    if module is None:
        return set()
    listed = getattr(module, "__all__", None)
    found = set()
    for each in listed or [each for each in vars(module) if not each.startswith("_")]:
        value = value_of(module, each)
        origin = str(getattr(value, "__module__", ""))
        is_own = origin == name or ((listed or hasattr(module, "__path__")) and origin.split(".")[0].lstrip("_") == top)
        if is_own and (inspect.isclass(value) or inspect.isroutine(value)):
            found.add(each)
    return found


if __name__ == "__main__":
    main()
