"""The long description of the package: the README with links that also work away from the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

BLOB = "https://github.com/deltos/deltos/blob/main/"
RAW = "https://raw.githubusercontent.com/deltos/deltos/main/"  # a picture must be the file, not a page about it
RELATIVE_LINK = re.compile(r"(!?\[[^\[\]]*\])\((?!https?://|#|mailto:)([^()\s]+)\)")


def long_description(readme: str) -> str:
    """The text with every link to a file of the repository made absolute."""

    def absolute(found: re.Match[str]) -> str:
        base = RAW if found[1].startswith("!") else BLOB
        return f"{found[1]}({base}{found[2].removeprefix('./')})"

    return RELATIVE_LINK.sub(absolute, readme)


class LongDescription(MetadataHookInterface):
    """What hatchling asks when it builds."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the long description in."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text)}
