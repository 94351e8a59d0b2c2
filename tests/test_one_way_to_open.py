"""Untrusted files are opened only through `deltos.files`, and processes started only by listed modules, with reasons."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "deltos"
OPENING_FUNCTIONS = frozenset("open read_text read_bytes scandir iterdir glob rglob listdir fdopen".split())
# Modules that may open files themselves: packaged data, the data folder, or a path that the user typed.
ALLOWED_FILE_READS = {
    "cli/command.py": "a file that the user names",
    "cli/doctor.py": "the data folder",
    "cli/memory.py": "a file that the user names",
    "cli/suggest.py": "the data folder",
    "cli/terminal.py": "the null device",
    "cli/ui.py": "an address in the browser, not a file",
    "clients/config_files.py": "the configuration of the user's clients",
    "clients/uv.py": "packaged data: the record of the installer",
    "clones/fetching.py": "the data folder",
    "clones/storage.py": "the data folder",
    "config.py": "the data folder",
    "domains/apis/intent.py": "packaged data",
    "domains/code/scope.py": "names of folders for a hint",
    "domains/docs/background_crawls.py": "an origin, not a file",
    "domains/docs/source.py": "an origin, not a file",
    "domains/graph/declared/languages/go.py": "packaged data",
    "domains/graph/resolution_process.py": "the temporary file in which a child records what it reads",
    "domains/graph/typescript/check/library.py": "packaged data",
    "domains/memory/capture/agents.py": "packaged data",
    "domains/memory/capture/ask.py": "the data folder",
    "domains/memory/capture/commands.py": "packaged data",
    "domains/memory/capture/journal.py": "the data folder",
    "domains/memory/capture/outcome.py": "packaged data",
    "embed/bundled_encoder.py": "packaged data",
    "embed/distilled_encoder.py": "packaged data",
    "embed/observation_encoder.py": "packaged data",
    "embed/identity.py": "packaged data",
    "embed/static.py": "packaged data",
    "federation/contracts/frameworks.py": "packaged data",
    "federation/contracts/syntax.py": "packaged data",
    "federation/rank.py": "packaged data",
    "fetch/configured_endpoint.py": "an address, not a file",
    "files.py": "the module that opens foreign files",
    "hook_settings.py": "the data folder",
    "isolated/child.py": "the null device",
    "languages/grammar.py": "packaged data",
    "languages/parser_limits.py": "memory of this process from the kernel",
    "ranking.py": "packaged data",
    "redaction/blocks.py": "packaged data",
    "server/http/ui_routes.py": "packaged data",
    "server/manifest.py": "packaged data",
    "server/pipes.py": "the null device",
    "store/private_files.py": "the data folder",
    "store/sqlite/external_tables.py": "the temporary copy of a database that the user names",
    "store/sqlite/memory/read_only.py": "the temporary copy of the data folder's file",
    "store/sqlite/memory/reader.py": "the data folder",
    "store/sqlite/memory/repair.py": "the data folder",
    "redaction/tokens.py": "packaged data",
    "redaction/word_lists.py": "packaged data",
    "store/sqlite/projects.py": "the data folder",
    "text/language_table.py": "packaged data",
    "text/translation.py": "packaged data: the glossaries",
    "workspace/git.py": "the temporary folder that git uses",
}
ALLOWED_PROCESS_STARTS = {
    "clients/server_check.py": "the command in a client's configuration, for `deltos doctor`",
    "clients/uv.py": "uv, with the consent of the user, to install Deltos permanently",
    "isolated/launch.py": "Python, isolated",
    "isolated/process_pool.py": "Python, isolated",
    "server/deadline.py": "a fork of the server that only waits and kills",
    "store/sqlite/clone.py": "Python or cp, to clone a file of the data folder",
    "workspace/git.py": "git",
}


def called_functions(path: Path) -> set[str]:
    """Return the names of all functions that a module calls."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    names.add(name)
    return names


def source_modules() -> list[str]:
    return [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")]


def modules_calling(wanted: frozenset[str]) -> set[str]:
    return {path for path in source_modules() if wanted & called_functions(SOURCE / path)}


def test_only_listed_modules_open_files_by_themselves() -> None:
    opened = modules_calling(OPENING_FUNCTIONS)
    assert opened - ALLOWED_FILE_READS.keys() == set(), (
        "use deltos.files, or add the module to ALLOWED_FILE_READS with a reason"
    )
    assert ALLOWED_FILE_READS.keys() - opened == set(), (
        "these modules no longer open files: remove them from ALLOWED_FILE_READS"
    )


def test_only_listed_modules_start_processes() -> None:
    started = modules_calling(frozenset("system execv execve posix_spawn spawnv fork".split()))
    started |= {path for path in source_modules() if "import subprocess" in (SOURCE / path).read_text("utf-8")}
    assert started == ALLOWED_PROCESS_STARTS.keys()
