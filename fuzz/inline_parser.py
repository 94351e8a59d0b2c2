"""Run parsers in the current process, so that the fuzzer can measure them. Deltos itself runs them in a child process."""

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


class InlineParser:
    """Runs every function immediately. `broke` is the last unexpected exception, even if it was caught."""

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


def read_and_parse(origin: Origin, place: CrawlAddress) -> None:
    """Read a file and parse its content."""
    fetched = origin.read(place, None)
    if isinstance(fetched, Unparsed):
        fetched.finish(fetched.task.function(*fetched.task.arguments))
