from __future__ import annotations
import os.path as p, sys
from lib import Base, helper as h
from .pkg import *
__all__ = ["A"]
T = TypeVar("T")
class A(Base, metaclass=M):
    x: int = 1
    __slots__ = ("a",)
    @property
    def fuzz_for(self) -> "A": return super().fuzz_for()
    @overload
    async def f(self, a, /, b: int = 3, *args, c=h(1), **kw) -> list[A]:
        with open(p) as f, \
             lock:
            yield [y async for y in self.x if (z := y)]
        match a:
            case {"k": [A(x=1), *rest]} | None if rest: pass
        try: del self.x
        except* (ValueError, TypeError) as e: raise X from e
        finally: global g; g = lambda q, *r: q
def outer[T: int](x: T, y=A().fuzz_for.f):
    def inner(): nonlocal x; x += 1; return inner
    return {**{k: v for k, v in x.items()}, f"{x!r:>{y}}": 1}
if TYPE_CHECKING: from lib import other
type Alias[T] = dict[str, T]
