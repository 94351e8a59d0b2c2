"""Resolves all dependencies for every platform and Python, from wheels alone, and writes which have none."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- make wheels -->", "<!-- /make wheels -->"
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "Linux x86-64, musl": "x86_64-unknown-linux-musl",
    "Linux aarch64, musl": "aarch64-unknown-linux-musl",
    "macOS arm64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
    "Windows ARM64": "aarch64-pc-windows-msvc",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MOST_MISSING = 80
WORKERS = 6


def missing_wheels(uv: str, platform: str, python: str) -> list[str]:
    """The dependencies without a wheel for a platform and a Python; each is left out and the rest tried again."""
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        overrides = Path(folder) / "overrides.txt"
        while len(missing) < MOST_MISSING:
            overrides.write_text("".join(f'{name} ; python_version < "3"\n' for name in missing))
            done = subprocess.run(
                [uv, "pip", "compile", str(ROOT / "pyproject.toml"), "--quiet", "--no-header", "--only-binary", ":all:",
                 "--python-platform", platform, "--python-version", python, "--override", str(overrides)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode == 0:
                return sorted(missing)
            lacking = re.search(r"Wheels are (?:required|available) for `([^`]+)`", done.stderr)
            if not lacking or lacking[1] in missing:
                raise SystemExit(f"{platform}, Python {python}: {done.stderr}")
            missing.append(lacking[1])
    raise SystemExit(f"{platform}: more than {MOST_MISSING} dependencies have no wheel")


def main(uv: str) -> int:
    """Write the table; 0 whatever it says, because what is missing is stated there."""
    head = "| platform | " + " | ".join(f"Python {python}" for python in PYTHONS) + " |"
    rows = [head, "|---" * (len(PYTHONS) + 1) + "|"]
    with ThreadPoolExecutor(WORKERS) as pool:  # uv waits for the registry most of the time
        found = {
            (title, python): pool.submit(missing_wheels, uv, platform, python)
            for title, platform in PLATFORMS.items()
            for python in PYTHONS
        }
        for title in PLATFORMS:
            cells = [", ".join(f"no `{name}`" for name in found[title, python].result()) or "all" for python in PYTHONS]
            rows.append(f"| {title} | " + " | ".join(cells) + " |")
            print(rows[-1], flush=True)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{rest.partition(END)[2]}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "uv"))
