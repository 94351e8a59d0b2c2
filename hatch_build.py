"""The long description of the package: the README with links that also work away from the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

BLOB = "https://github.com/deltos/deltos/blob/main/"
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^()\s]+)\)")


def long_description(readme: str) -> str:
    """The text with every link to a file of the repository made absolute."""
    return RELATIVE_LINK.sub(lambda found: f"]({BLOB}{found[1].removeprefix('./')})", readme)


class LongDescription(MetadataHookInterface):
    """What hatchling asks when it builds."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the long description in."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text)}
