"""How a Python process of ours is started: isolated, at a fixed folder, with nothing of any project on its path.

The one place that does so. `-I` leaves out the working directory, PYTHON* variables and the user's packages; folders
that this installation needs are put back at the very end of the path, where they shadow no module.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import BadConfiguration
from deltos.logins import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# `deltos` itself is taken from where the parent has it, whatever else is installed; all other modules as usual.
_BOOT = """\
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
_IS_KNOWN = "import sys, importlib.util as u; sys.exit(any(u.find_spec(name) is None for name in ('deltos', 'mcp')))"
# With a password or key of the user: logins for sites, the database's, that of a service for vectors.
_SECRETS = (PREFIX, "DELTOS_DATABASE", "DELTOS_EMBED_KEY")
_PACKAGES_FOLDERS = ("site-packages", "dist-packages")


def command(module: str, *words: str, importable_from: Sequence[str] = ()) -> list[str]:
    """The command line that runs `main` of one of our modules; `importable_from` adds folders to its path."""
    own = str(Path(__file__).resolve().parents[2])
    flags = ["-I", "-B"] if sys.dont_write_bytecode else ["-I"]
    folders = "\n".join((*_installed_packages(), *importable_from))
    return [sys.executable, *flags, "-c", _BOOT, module, own, folders, *words]


def environment(**changes: str) -> dict[str, str]:
    """Our variables without those that steer Python, also for what the child starts in turn."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | changes


def parser_environment() -> dict[str, str]:
    """The same for a child that only parses: no login or key of the user's is its business."""
    return {name: value for name, value in environment().items() if not name.startswith(_SECRETS)}


def fixed_folder() -> str:
    """Where children run: a folder that is always there and never a project."""
    return Path(sys.executable).anchor or os.sep


def start_detached(module: str, *words: str, variables: Mapping[str, str]) -> None:
    """Run `main` of one of our modules in a process that outlives this one and is heard of no more."""
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
    """The safest `python … -m deltos` that starts from any folder, for where there is no `deltos` script.

    `-I` serves most installations; one among the user's packages needs those; one that PYTHONPATH names needs that.
    """
    for flags in (["-I"], ["-E", "-P"], ["-P"]):
        known = subprocess.run(
            [sys.executable, *flags, "-c", _IS_KNOWN], cwd=fixed_folder(), stderr=subprocess.DEVNULL, check=False
        )
        if known.returncode == 0:
            return [sys.executable, *flags, "-m", "deltos"]
    raise BadConfiguration(
        "Python finds Deltos from this folder alone", hint="Say how to start it: --command '/path/to/deltos'."
    )


def _installed_packages() -> list[str]:
    """The folders of installed packages that this process knows: `-I` drops the user's own among them.

    The working directory is none of them, whatever its name: an empty entry in PYTHONPATH puts it there.
    """
    here = os.path.realpath(".")
    return [
        folder
        for folder in sys.path
        if Path(folder).is_absolute() and Path(folder).name in _PACKAGES_FOLDERS and os.path.realpath(folder) != here
    ]
