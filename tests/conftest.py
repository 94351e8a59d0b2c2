"""Settings and fixtures for all tests."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from deltos.isolated.process_pool import ProcessPool
from tests.attacks import LimitedProcess
from tests.isolation import WriteGuard, isolated_home
from tests.loopback import Site, serving
from tests.platforms import posix_names
from tests.poison import TESTS_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("patient", deadline=None)  # no time limit, because tests are slow on a busy machine
settings.load_profile("patient")


_home = ExitStack()
_guard = WriteGuard()


def pytest_configure() -> None:
    """Set the default folders of this process and its children to a temporary home, before tests are collected.

    A shell without job control starts background commands with SIGINT ignored, and children inherit that: tests of
    Ctrl-C would wait forever.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _home.enter_context(isolated_home())
    _guard.install()


def pytest_unconfigure() -> None:
    """Remove the temporary home folder."""
    _home.close()


@pytest.fixture(autouse=True)
def _no_writes_outside(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that changes files outside temporary folders."""
    _guard.is_on = not request.config.getoption("--rewrite-goldens")
    yield
    _guard.is_on = False


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options of this test suite."""
    parser.addoption("--rewrite-goldens", action="store_true", help="write what is found as the expected rankings")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that use features that Windows lacks, such as signals and named pipes."""
    for item in items if sys.platform == "win32" else ():
        if isinstance(item, pytest.Function) and (names := posix_names(item.function)):
            item.add_marker(pytest.mark.skip(reason=f"Windows has no {', '.join(names)}"))


def pytest_collection_finish() -> None:
    """Exclude the thousands of collected tests, which are kept until the end, from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def workers() -> Iterator[ProcessPool]:
    """Child processes that can also run test functions; shared because starting one is slow."""
    with closing(ProcessPool(importable_from=(TESTS_ROOT,))) as running:
        yield running


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on loopback that has no pages yet."""
    with serving() as running:
        yield running


@pytest.fixture(scope="session")
def limited_process() -> Iterator[LimitedProcess]:
    """A child process that calls functions on hostile input within limits."""
    limited_process = LimitedProcess()
    yield limited_process
    limited_process.close()
