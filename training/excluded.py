"""Projects that no training text may come from: those that the benchmarks measure on, in any packaging."""

from __future__ import annotations

import re

_WHOLE = """axios chi circe click dapper ecto exposed express fastapi flask gin guzzle httpx ktor libuv monolog pandoc plug
rack redis serde sinatra starlette telescope tokio trpc vitest xmonad zig ziglang zls zod django git sqlite sqlite3 nodejs node
bitbucket circleci gitlab docker notion jira kubernetes stripe slack netlify openai spotify context7 firestore pubsub"""
_PARTS = """bash-it bats abseil nlohmann messagepack commons-lang jackson-databind lazy.nvim aiohttp http4s alamofire snapkit
postgresql python3. django_ python-django django-doc""".split()
_NAMES = frozenset(_WHOLE.split())
_FRAME = re.compile(
    r"^(?:golang-(?:github|google|gopkg)-[^-]+-|python3?-|ruby-|php-|node-|librust-|haskell-|lua-|lib|@[\w-]+/)"
    r"|(?:-dev|-doc|-java|-perl|-rs|-cpp|\.js)$"
)


def is_excluded(project: str) -> bool:
    """Whether a project is one of the benchmarks' own, or a part or packaging of it."""
    bare = project
    for _ in range(3):
        bare = _FRAME.sub("", bare)
    return bare in _NAMES or project in _NAMES or any(part in project for part in _PARTS)
