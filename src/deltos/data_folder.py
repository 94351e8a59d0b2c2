"""Where data lives: DELTOS_HOME, or what the platform keeps for it. Apart from config.py because hooks start on every
tool call and need nothing else of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "deltos"


def data_folder(environ: Mapping[str, str]) -> Path:
    """The folder that everything Deltos keeps is in; it need not exist."""
    if chosen := environ.get("DELTOS_HOME"):
        return user_path(chosen, "DELTOS_HOME")
    if sys.platform == "linux" and "ANDROID_DATA" not in environ:
        base = environ.get("XDG_DATA_HOME", "").strip()
        return Path(base or Path("~/.local/share").expanduser()) / _NAME  # as platformdirs answers, without its imports
    import platformdirs

    return Path(platformdirs.user_data_dir(_NAME, appauthor=False))


def user_path(text: str, name: str) -> Path:
    """The path that a user wrote into the variable `name`."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:  # ~somebody, who is not known here
        raise BadArgument(f"{name} names no folder: {text[:200]}", hint="Give a full path.") from None
