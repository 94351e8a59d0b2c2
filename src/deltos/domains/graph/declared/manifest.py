"""Manifests that give packages their names. Only Go needs one: its import paths start with the module of `go.mod`."""

from __future__ import annotations

import re

from deltos.domains.graph.declared.facts import GoModule
from deltos.domains.graph.kernel.resolver import FileFacts

MANIFEST_LANGUAGE = "go.mod"
_MODULE = re.compile(rb"^[ \t\r\f\v]*module\s++(\S++)", re.MULTILINE)


def is_manifest(path: str) -> bool:
    """Whether a file is a manifest that imports depend on."""
    return path.rpartition("/")[2] == "go.mod"


def manifest_facts(data: bytes) -> FileFacts:
    """The module's name as the interface; nothing else."""
    found = _MODULE.search(data)
    return FileFacts((), GoModule(found[1].decode("utf-8", "replace").strip('"')) if found else None, None)
