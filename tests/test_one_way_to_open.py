"""Foreign files are opened in one way, and git is started in one place; exceptions are listed here with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "deltos"
READERS = frozenset("open read_text read_bytes scandir iterdir glob rglob listdir fdopen".split())
# Paths that others do not control: packaged data, the data folder, or a path that the user typed.
OWN = {
    "browser/process.py": "what the kernel says of the browser",
    "cli/api.py": "a file that the user names",
    "cli/command.py": "a file that the user names",
    "cli/doctor.py": "the data folder",
    "cli/memory.py": "a file that the user names",
    "cli/suggest.py": "the data folder",
    "cli/terminal.py": "the null device",
    "cli/ui.py": "a link in the browser, not a file",
    "clients/files.py": "the configuration of the user's clients",
    "clients/uv.py": "came with us: what the installer noted",
    "clones/fetching.py": "the data folder",
    "clones/storage.py": "the data folder",
    "config.py": "the data folder",
    "domains/code/scope.py": "names of folders for a hint",
    "domains/memory/search/glossary.py": "came with us: the table of words",
    "domains/docs/background_crawls.py": "an origin, not a file",
    "domains/docs/source.py": "an origin, not a file",
    "domains/graph/resolution_process.py": "the temporary file in which a child notes what it reads",
    "domains/graph/typescript/check/library.py": "came with us",
    "domains/memory/capture/kinds.py": "came with us",
    "domains/apis/intent.py": "came with us",
    "domains/apis/operations.py": "came with us",
    "redaction/blocks.py": "came with us",
    "embed/encoder.py": "a folder that the user names",
    "embed/identity.py": "came with us",
    "embed/inner_encoder.py": "came with us",
    "embed/words_reader.py": "came with us",
    "embed/static.py": "came with us",
    "federation/rank.py": "came with us",
    "fetch/configured_endpoint.py": "an address, not a file",
    "files.py": "the one way",
    "hook_settings.py": "the data folder",
    "isolated/child.py": "the null device",
    "languages/bounds.py": "what the kernel says of this process",
    "languages/grammar.py": "came with us",
    "ranking.py": "came with us",
    "server/http/page.py": "came with us",
    "server/manifest.py": "came with us",
    "server/wire.py": "the null device",
    "store/sqlite/code.py": "the data folder",
    "store/sqlite/external_tables.py": "the temporary copy of a database that the user names",
    "store/sqlite/memory/read_only.py": "the temporary copy of the data folder's file",
    "store/sqlite/memory/reader.py": "the data folder",
    "store/sqlite/memory/repair.py": "the data folder",
    "store/postgres/jobs.py": "came with us: the tables of the queue",
    "store/private_files.py": "the data folder",
    "workspace/git.py": "the temporary folder that git sees",
    "store/sqlite/projects.py": "the data folder",
    "text/english.py": "came with us: the glossaries",
}
STARTERS = {
    "browser/process.py": "the browser that the user installed, where a source asks for it",
    "clients/uv.py": "uv, once the user agrees, to install Deltos where it stays",
    "clients/trial.py": "what a client's configuration of the user starts, for `deltos doctor`",
    "isolated/launch.py": "Python, isolated",
    "isolated/process.py": "Python, isolated",
    "server/deadline.py": "a fork of the server that waits and kills, nothing else",
    "server/http/workers.py": "forks of the server that serve one port",
    "workspace/git.py": "git",
}


def calls(path: Path) -> set[str]:
    """Names of all functions that a module calls."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    names.add(name)
    return names


def modules() -> list[str]:
    return [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")]


def calling(wanted: frozenset[str]) -> set[str]:
    return {path for path in modules() if wanted & calls(SOURCE / path)}


def test_only_listed_modules_open_files_by_themselves() -> None:
    opened = calling(READERS)
    assert opened - OWN.keys() == set(), "use deltos.files, or say above why not"
    assert OWN.keys() - opened == set(), "listed for nothing"


def test_only_listed_modules_start_processes() -> None:
    started = calling(frozenset("system execv execve posix_spawn spawnv fork".split()))
    started |= {path for path in modules() if "import subprocess" in (SOURCE / path).read_text("utf-8")}
    assert started == STARTERS.keys()
