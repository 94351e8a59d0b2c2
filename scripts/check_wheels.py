"""List the dependencies without a wheel for each platform and Python version. Only metadata is downloaded."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
INSTALL_PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- make wheels -->", "<!-- /make wheels -->"
PYTHON_VERSIONS = ("3.11", "3.12", "3.13", "3.14")
WORKERS = 6


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform with its environment markers and accepted wheel tags, best first."""

    title: str
    target: str
    system: str
    machine: str
    wheel_platforms: tuple[str, ...]

    def environment(self, python: str) -> dict[str, str]:
        """Return the values of the environment markers for a Python version."""
        names = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
        os_name, platform_system = names[self.system]
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{python}.0",
            "os_name": os_name,
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": platform_system,
            "platform_version": "",
            "python_full_version": f"{python}.0",
            "python_version": python,
            "sys_platform": self.system,
        }

    def tags(self, python: str) -> frozenset[Tag]:
        """Return the tags of the wheels that can be installed with a Python version."""
        major, minor = (int(part) for part in python.split("."))
        cpython = cpython_tags((major, minor), platforms=self.wheel_platforms)
        return frozenset([*cpython, *compatible_tags((major, minor), f"cp{major}{minor}", self.wheel_platforms)])


def _glibc_tags(machine: str) -> tuple[str, ...]:
    """Return the platform tags for glibc 2.28, the version of the oldest supported distributions, and older ones."""
    return (*(f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)), f"manylinux2014_{machine}",
            f"manylinux2010_{machine}", f"manylinux1_{machine}")  # fmt: skip


def _musl_tags(machine: str) -> tuple[str, ...]:
    return f"musllinux_1_2_{machine}", f"musllinux_1_1_{machine}"


PLATFORMS = (
    Platform("Linux x86-64", "x86_64-manylinux_2_28", "linux", "x86_64", _glibc_tags("x86_64")),
    Platform("Linux aarch64", "aarch64-manylinux_2_28", "linux", "aarch64", _glibc_tags("aarch64")),
    Platform("Linux x86-64, musl", "x86_64-unknown-linux-musl", "linux", "x86_64", _musl_tags("x86_64")),
    Platform("Linux aarch64, musl", "aarch64-unknown-linux-musl", "linux", "aarch64", _musl_tags("aarch64")),
    Platform("macOS arm64", "aarch64-apple-darwin", "darwin", "arm64", tuple(mac_platforms((13, 0), "arm64"))),
    Platform("macOS x86-64", "x86_64-apple-darwin", "darwin", "x86_64", tuple(mac_platforms((13, 0), "x86_64"))),
    Platform("Windows x86-64", "x86_64-pc-windows-msvc", "win32", "AMD64", ("win_amd64",)),
    Platform("Windows ARM64", "aarch64-pc-windows-msvc", "win32", "ARM64", ("win_arm64",)),
)


@dataclass(frozen=True, slots=True)
class Package:
    """A resolved dependency with its environment marker and the tags of its wheels."""

    name: str
    marker: Marker | None
    wheels: tuple[frozenset[Tag], ...]

    def is_needed(self, platform: Platform, python: str) -> bool:
        """Return whether an installation on the platform needs the package."""
        return self.marker is None or self.marker.evaluate(dict(platform.environment(python)))

    def has_wheel(self, platform: Platform, python: str) -> bool:
        """Return whether one of the package's wheels can be installed on the platform."""
        tags = platform.tags(python)
        return any(not tags.isdisjoint(wheel) for wheel in self.wheels)


@dataclass(frozen=True, slots=True)
class PlatformResult:
    """Packages without a wheel for a platform and Python version, and packages that are not installed there."""

    missing: tuple[str, ...]
    excluded: tuple[str, ...]


def resolve(uv: str) -> list[Package]:
    """Return the dependencies for all platforms, with the tags of their wheels."""
    lock = _run_uv_compile(
        uv,
        str(ROOT / "pyproject.toml"),
        "--universal",
        "--python-version",
        PYTHON_VERSIONS[0],
        "--format",
        "pylock.toml",
    )
    if lock.returncode:
        raise SystemExit(lock.stderr)
    return [
        Package(
            row["name"],
            Marker(row["marker"]) if "marker" in row else None,
            tuple(parse_wheel_filename(wheel["url"].rpartition("/")[2])[3] for wheel in row.get("wheels", ())),
        )
        for row in tomllib.loads(lock.stdout)["packages"]
    ]


def older_version_has_wheel(uv: str, requirement: str, platform: Platform, python: str) -> bool:
    """Return whether an older version of a package has a wheel for the platform."""
    options = ("--no-deps", "--only-binary", ":all:", "--python-platform", platform.target, "--python-version", python)
    return _run_uv_compile(uv, "-", *options, stdin=requirement).returncode == 0


def _run_uv_compile(uv: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    # Without these options, uv searches for each requested Python version and tries to download it.
    python_options = ("--python", sys.executable, "--no-python-downloads")
    words = (uv, "pip", "compile", "--quiet", "--no-header", *python_options, *words)
    return subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)


def check_platform(uv: str, packages: list[Package], platform: Platform, python: str) -> PlatformResult:
    """Return the packages without a wheel and the packages not installed on one platform and Python version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements: dict[str, Requirement] = {
        canonicalize_name(requirement.name): requirement for requirement in map(Requirement, project["dependencies"])
    }
    missing = [
        package.name
        for package in packages
        if package.is_needed(platform, python)
        and not package.has_wheel(platform, python)
        and not older_version_has_wheel(
            uv,
            f"{package.name}{requirements[package.name].specifier}" if package.name in requirements else package.name,
            platform,
            python,
        )
    ]
    environment = platform.environment(python)
    excluded = [
        name
        for name, requirement in requirements.items()
        if requirement.marker and not requirement.marker.evaluate(dict(environment))
    ]
    return PlatformResult(tuple(sorted(missing)), tuple(sorted(excluded)))


def _merged_rows(platform: Platform, cells: list[PlatformResult]) -> list[str]:
    """Return the table rows of a platform, with one row for consecutive Python versions with equal results."""
    rows = []
    start = 0
    for end in range(1, len(PYTHON_VERSIONS) + 1):
        if end < len(PYTHON_VERSIONS) and cells[end] == cells[start]:
            continue
        pythons = PYTHON_VERSIONS[start] if end - start == 1 else f"{PYTHON_VERSIONS[start]}–{PYTHON_VERSIONS[end - 1]}"
        missing, excluded = (
            ", ".join(f"`{name}`" for name in names) for names in (cells[start].missing, cells[start].excluded)
        )
        rows.append(f"| {platform.title} | {pythons} | {missing or '–'} | {excluded or '–'} |")
        start = end
    return rows


def main(uv: str) -> int:
    """Write the table. Return 0, because a missing wheel is not an error."""
    packages = resolve(uv)
    rows = ["| platform | Python | no wheel of | omitted there |", "|---|---|---|---|"]
    # The work is done by uv processes, which mostly wait for the package index.
    with ThreadPoolExecutor(WORKERS) as pool:
        found = {
            (platform.title, python): pool.submit(check_platform, uv, packages, platform, python)
            for platform in PLATFORMS
            for python in PYTHON_VERSIONS
        }
        for platform in PLATFORMS:
            rows += _merged_rows(platform, [found[platform.title, python].result() for python in PYTHON_VERSIONS])
    print("\n".join(rows), f"\n{len(packages)} packages")
    before, _, rest = INSTALL_PAGE.read_text("utf-8").partition(BEGIN)
    INSTALL_PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{rest.partition(END)[2]}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "uv"))
