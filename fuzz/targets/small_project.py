"""A small project that is indexed quickly and has results for every tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "billing.py": '"""Billing."""\n\n\nclass Ledger:\n    """Keeps entries."""\n\n    def add(self, amount: int) -> int:\n        return rounded(amount)\n\n\n'
    'def rounded(amount: int) -> int:\n    """Round to whole cents."""\n    return amount\n',
    "web.ts": "import { x } from './other';\n\nexport function handler(request: Request): Response {\n  return new Response(String(x));\n}\n",
    "other.ts": "export const x = 1;\n",
    "docs/guide.md": "# Ledger guide\n\n## Adding entries\n\nCall add on a ledger to keep an entry.\n",
    "openapi.yaml": 'openapi: 3.0.0\ninfo: {title: Billing, version: "1"}\npaths:\n  /entries:\n    get: {operationId: listEntries, summary: List entries, '
    'responses: {"200": {description: All entries}}}\n',
}  # fmt: skip


def write_project(root: Path) -> Path:
    """Write the project into `root`."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
