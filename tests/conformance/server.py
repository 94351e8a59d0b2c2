"""The fixture server. Run as a module, with the arguments of `deltos mcp --http`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from deltos import __version__
from deltos.server.describe import build_manifest, write_manifest
from deltos.server.http import listen
from deltos.server.http.options import parse_options
from deltos.tool import Toolbox
from tests.conformance.fixtures import TOOLS, build
from tests.conformance.schemas import DRAFT_2020_12_SCHEMA, HEADER_PARAMETER_SCHEMA


def main(words: list[str]) -> int:
    """Serve the fixtures until a signal arrives."""
    document = build_manifest(TOOLS, version=__version__)
    special = {"json_schema_2020_12_tool": DRAFT_2020_12_SCHEMA, "test_x_mcp_header": HEADER_PARAMETER_SCHEMA}
    for listing in (tool["listing"] for tool in document["tools"]):
        listing["inputSchema"] = special.get(listing["name"], listing["inputSchema"])
    with TemporaryDirectory() as folder:
        manifest = Path(folder, "manifest.json")
        write_manifest(document, manifest)
        return listen.serve(parse_options(words), lambda _: Toolbox(TOOLS, close=lambda: None), manifest, build)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
