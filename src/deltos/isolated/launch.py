"""Start isolated Python processes, whose working directory and module path are outside all projects.

No other module starts Python. `-I` ignores the working directory, PYTHON* variables and packages of the user. The
package folders of this installation are appended to the module path, where they cannot shadow other modules.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import BadConfiguration
from deltos.logins import VARIABLE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Script that imports `deltos` from the same folder as the parent process, even if another version is installed.
_BOOT_SCRIPT = """\
import sys
module, own, others, *words = sys.argv[1:]
sys.path.insert(0, own)
import deltos
del sys.path[0]
sys.path += [folder for folder in [own, *filter(None, others.split("\\n"))] if folder not in sys.path]
sys.argv = ["deltos", *words]
from importlib import import_module
sys.exit(import_module(module).main())
"""
_IMPORT_CHECK = (
    "import sys, importlib.util as u; sys.exit(any(u.find_spec(name) is None for name in ('deltos', 'mcp')))"
)
# Prefixes of environment variables that contain credentials: logins for sites, the database and the embedding service.
_SECRET_PREFIXES = (VARIABLE_PREFIX, "DELTOS_DATABASE", "DELTOS_EMBED_KEY")
_PACKAGES_FOLDERS = ("site-packages", "dist-packages")


def command(module: str, *words: str, importable_from: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a module's `main` function. `importable_from` is appended to the module path."""
    own = str(Path(__file__).resolve().parents[2])
    flags = ["-I", "-B"] if sys.dont_write_bytecode else ["-I"]
    folders = "\n".join((*_installed_packages(), *importable_from))
    return [sys.executable, *flags, "-c", _BOOT_SCRIPT, module, own, folders, *words]


def environment(**changes: str) -> dict[str, str]:
    """Return the environment variables of this process without PYTHON* variables, with the given changes."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | changes


def parser_environment() -> dict[str, str]:
    """Return the environment of a parser process, which contains no credentials."""
    return {name: value for name, value in environment().items() if not name.startswith(_SECRET_PREFIXES)}


def fixed_folder() -> str:
    """Return the working directory of child processes: the root folder of the file system, which is not a project."""
    return Path(sys.executable).anchor or os.sep


def start_detached(module: str, *words: str, variables: Mapping[str, str]) -> None:
    """Run `main` of a module in a process that outlives this process."""
    nowhere = subprocess.DEVNULL
    subprocess.Popen(
        command(module, *words),
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        cwd=fixed_folder(),
        env=environment(**variables),
        start_new_session=True,
    )


def find_module_command() -> list[str]:
    """Return the safest `python … -m deltos` command that works from any folder.

    `-I` works for most installations, `-E -P` for user installations, and `-P` for installations in PYTHONPATH.
    """
    for flags in (["-I"], ["-E", "-P"], ["-P"]):
        known = subprocess.run(
            [sys.executable, *flags, "-c", _IMPORT_CHECK], cwd=fixed_folder(), stderr=subprocess.DEVNULL, check=False
        )
        if known.returncode == 0:
            return [sys.executable, *flags, "-m", "deltos"]
    raise BadConfiguration(
        "Python can import Deltos only from this folder",
        hint="Pass the command that starts it: --command '/path/to/deltos'.",
    )


def _installed_packages() -> list[str]:
    """Return the package folders of this process. `-I` would remove package folders of the user."""
    # An empty entry in PYTHONPATH adds the working directory, which is excluded even if it is called `site-packages`.
    here = os.path.realpath(".")
    return [
        folder
        for folder in sys.path
        if Path(folder).is_absolute() and Path(folder).name in _PACKAGES_FOLDERS and os.path.realpath(folder) != here
    ]
