"""Location of the data folder: DELTOS_HOME, or the default folder of the platform.

Separate from config.py because hooks run on every tool call and must start fast.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER_NAME = "deltos"


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the path of the data folder, which may not exist yet."""
    if chosen := environ.get("DELTOS_HOME"):
        return user_path(chosen, "DELTOS_HOME")
    if sys.platform == "linux" and "ANDROID_DATA" not in environ:
        base = environ.get("XDG_DATA_HOME", "").strip()
        # Same result as platformdirs, whose import is slow.
        return Path(base or Path("~/.local/share").expanduser()) / _FOLDER_NAME
    import platformdirs

    return Path(platformdirs.user_data_dir(_FOLDER_NAME, appauthor=False))


def user_path(text: str, name: str) -> Path:
    """Return the absolute path in `text`, the value of the variable `name`."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:  # the home folder of an unknown user
        raise BadArgument(f"{name} is not a valid path: {text[:200]}", hint="Pass a full path.") from None
