"""The committed build of the web UI: it matches the sources, is small, and loads nothing from other hosts."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

from tests.ui.opened import REPOSITORY

STATIC = REPOSITORY / "src/deltos/ui/static"
MAX_COMPRESSED_BYTES = 400_000
NODE_TIMEOUT_SECONDS = 120  # quadratic parsing of the text would take hours


def file_contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run_node(script: Path, *words: Path) -> None:
    assert (REPOSITORY / "ui/node_modules/esbuild").exists(), "esbuild is not installed: run `make ui`"
    node = Path(sys.executable).with_name("node")
    program = str(node) if node.exists() else "node"
    subprocess.run([program, str(script), *map(str, words)], check=True, timeout=NODE_TIMEOUT_SECONDS)


def test_the_committed_bundle_matches_the_sources_and_is_small(tmp_path: Path) -> None:
    run_node(REPOSITORY / "ui/build.mjs", tmp_path / "built")
    assert file_contents(tmp_path / "built") == file_contents(STATIC)
    assert sum(len(gzip.compress(content)) for content in file_contents(STATIC).values()) < MAX_COMPRESSED_BYTES


def test_untrusted_text_ids_and_layouts_are_handled_correctly(tmp_path: Path) -> None:
    run_node(REPOSITORY / "tests/ui/front_end.mjs", REPOSITORY / "ui", tmp_path)


def test_the_typescript_types_match_the_structs() -> None:
    script = [sys.executable, "-P", str(REPOSITORY / "scripts/ui_types.py"), "--check"]
    assert subprocess.run(script, check=False).returncode == 0


def test_no_page_loads_foreign_or_inline_resources() -> None:
    for name, content in file_contents(STATIC).items():
        if name.endswith(".html"):
            text = content.decode()
            assert 'src="http' not in text
            assert 'href="http' not in text
            assert "<style" not in text
            assert " on" not in text.partition("<body>")[0]
