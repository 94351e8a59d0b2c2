"""Projects that are excluded from training: the benchmark projects, in any packaging.

The documentation packages that train ranking weights in benchmarks/docs_train.py are excluded too: a model that had
seen them would get too much weight.
"""

from __future__ import annotations

import re

_NAMES_TEXT = """
axios chi circe click dapper ecto exposed express fastapi flask gin guzzle httpx ktor libuv monolog pandoc
plug rack redis serde sinatra starlette telescope tokio trpc vitest xmonad zig ziglang zls zod django git sqlite sqlite3
nodejs node bitbucket circleci gitlab docker notion jira kubernetes stripe slack netlify openai spotify context7
firestore pubsub"""
_EXCLUDED_PARTS = """
bash-it bats abseil nlohmann messagepack commons-lang jackson-databind lazy.nvim aiohttp http4s alamofire
snapkit postgresql python3. django- gin-gonic go-chi trpc vitest slack stripe gitlab pubsub firestore""".split()
_RANKER_SITES = frozenset(
    """python-sqlalchemy-doc rust-doc python-celery-doc apache2-doc python-flask-doc exim4-doc-html cmake-doc python-
    scrapy-doc python-pytest-doc borgbackup-doc sphinx-doc python-tornado-doc buildbot-doc ghc-doc python-dask-
    doc python-werkzeug-doc python-djangorestframework-doc varnish-doc python-aiohttp-doc python-setuptools-doc
    postfix-doc gimp-help-en debian-handbook zsh-doc libvirt-doc slurm-wlm-doc libglib2.0-doc
    qtbase5-doc-html""".split()
)
_EXCLUDED_NAMES = frozenset(_NAMES_TEXT.split())
_PACKAGING_AFFIXES = re.compile(
    r"^(?:golang-(?:github|google|gopkg)-[^-]+-|python3?-|ruby-|php-|node-|librust-|haskell-|lua-|lib|@[\w-]+/)"
    r"|(?:-dev|-doc|-java|-perl|-rs|-cpp|\.js)$"
)


def is_excluded(project: str) -> bool:
    """Return whether a project is a benchmark project or a package of one. In names of wheels, `_` replaces `-`."""
    project = project.lower().replace("_", "-")
    if project in _RANKER_SITES:
        return True
    bare = project
    for _ in range(3):
        bare = _PACKAGING_AFFIXES.sub("", bare)
    return bare in _EXCLUDED_NAMES or project in _EXCLUDED_NAMES or any(part in project for part in _EXCLUDED_PARTS)
