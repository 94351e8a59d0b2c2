"""Parses in this process, where the fuzzer measures: the product does the same in a child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from deltos.domains.docs.model import Unparsed
from deltos.errors import DeltosError
from deltos.isolated.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.domains.docs.model import Origin
    from deltos.isolated_parser import Task
    from deltos.store.documents import CrawlAddress

_T = TypeVar("_T")


class Here:
    """Runs every function at once. `broke` is what a parser raised that is no answer, whoever catches it."""

    def __init__(self) -> None:
        self.broke: Exception | None = None

    def run(self, function: Callable[..., _T], *arguments: Any, content: Iterable[bytes]) -> _T:
        tuple(content)
        try:
            return function(*arguments)
        except DeltosError:
            raise
        except Exception as exc:
            self.broke = exc
            raise

    def run_all(self, tasks: Sequence[Task]) -> list[Reply]:
        return [Reply(task.function(*task.arguments)) for task in tasks]


def read_whole(origin: Origin, place: CrawlAddress) -> None:
    """Read a place and parse what is there."""
    fetched = origin.read(place, None)
    if isinstance(fetched, Unparsed):
        fetched.finish(fetched.task.function(*fetched.task.arguments))
