"""Resolve pytest fixtures: a parameter of a test or fixture refers to the fixture of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.entities import FunctionInfo
from deltos.domains.graph.python.nodes import CallExpression, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.graph.python.entities import ClassInfo, Entity, ModuleInfo
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expressions

FIXTURE_REQUEST_FUNCTIONS = frozenset({"usefixtures", "getfixturevalue"})
"""Functions that take fixture names as strings."""
_FIXTURE_DECORATORS = frozenset({"fixture", "yield_fixture"})


def takes_fixtures(name: str, decorators: Expressions) -> bool:
    """Whether a function is a test or a fixture, to which pytest passes fixtures by parameter name."""
    return name.startswith("test") or is_fixture(decorators)


def is_fixture(decorators: Expressions) -> bool:
    """Whether a function's decorators make it a fixture: `@pytest.fixture`, `@fixture(scope="module")`."""
    called = [each.function if type(each) is CallExpression else each for each in decorators]
    return any(last_name(each) in _FIXTURE_DECORATORS for each in called)


def visible_fixtures(
    inference: Inference, module: ModuleInfo, owner: ClassInfo | None, requester: str, name: str
) -> tuple[FunctionInfo, ...]:
    """Return the nearest fixtures with this name, found in the class, the file, or the conftest.py of a parent folder.

    `requester` is the key of the function that requests the fixture. A fixture that requests its own name gets the
    fixture of the next outer scope.
    """
    for entities in _fixture_candidates(inference, module, owner, name):
        found = [each for each in entities if type(each) is FunctionInfo and is_fixture(each.decorators)]
        kept = tuple([each for each in found if each.key != requester or each.module is not module])
        if kept:
            return kept
    return ()


def _fixture_candidates(
    inference: Inference, module: ModuleInfo, owner: ClassInfo | None, name: str
) -> Iterator[Sequence[Entity]]:
    """Yield the definitions of a name in the class, in the file and in each conftest.py, nearest first."""
    names = inference.names
    if owner is not None:
        yield inference.find_member(owner, name)
    yield names.name_in(module, name, imported=True)
    folder = module.path
    while folder:
        folder = folder.rpartition("/")[0]
        conftest = names.module(f"{folder}/conftest.py" if folder else "conftest.py")
        if conftest is not None and conftest is not module:
            yield names.name_in(conftest, name, imported=True)
