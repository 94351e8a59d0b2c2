"""`deltos api links`, `drift` and `from-code`: compare API descriptions with the handlers and client calls in code."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_project, add_verb, open_app, print_json, print_notes
from deltos.cli.progress_bar import ProgressBar
from deltos.config import Config
from deltos.errors import BadArgument

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from deltos.cli.command import Subparsers
    from deltos.federation.contracts.links import ContractMap

EXIT_DRIFT = 1
FAIL_ON = ("any", "operations", "handlers", "calls", "never")


def add_contract_verbs(verbs: Subparsers) -> None:
    """Add the subcommands `links`, `drift` and `from-code`."""
    links = add_verb(verbs, "links", _links, "list endpoints with their handlers and client calls in code")
    links.add_argument("endpoint", nargs="?", default="", metavar="'METHOD /PATH'", help="only this endpoint")
    links.add_argument("--path", default="", help="only endpoints whose path contains this text")
    drift = add_verb(verbs, "drift", _drift, "compare API descriptions with the code")
    drift.add_argument(
        "--fail-on", choices=FAIL_ON, default="any", help="kind of difference that makes the exit code 1; default: any"
    )
    for verb in (links, drift):
        verb.add_argument("--api", default="", metavar="NAME", help="only this API; default: all of the projects")
    from_code = add_verb(verbs, "from-code", _from_code, "write an OpenAPI 3.1 description of the routes in code")
    from_code.add_argument("--output", default="-", metavar="FILE", help="file to write; default: standard output")
    from_code.add_argument("--title", default="", help="title of the API; default: the name of the folder")
    for verb in (links, drift, from_code):
        add_project(verb, takes_several=True)


@contextmanager
def _open_contracts(arguments: argparse.Namespace) -> Iterator[ContractMap]:
    """Update the indexes of the selected projects, and return the links between API operations and code."""
    from deltos.federation.contracts.workspace import WorkspaceContracts  # deferred import: not needed for `--help`
    from deltos.workspace.project_selection import answer_on_fresh, select

    bar = ProgressBar()
    config = Config.from_environment()
    with open_app(replace(config, toolsets=tuple(dict.fromkeys((*config.toolsets, "graph"))))) as app:
        selection = select(app.domains.projects, arguments.project, [Path.cwd()], folders_first=True)
        fresh = answer_on_fresh(selection, bar, lambda fresh: fresh, wait_seconds=float("inf"))
        bar.clear()
        contracts = WorkspaceContracts(lambda: app.domains.apis)
        named = [(each.name, each.index) for each in fresh.ready]
        unparsed = contracts.unparsed_files([each.index for each in fresh.ready])
        missing = [f"{unparsed} files could not be parsed; their routes are missing."] if unparsed else []
        print_notes([*fresh.notes_about("graph"), *missing], with_json=True)
        yield contracts.contracts(named, getattr(arguments, "api", ""))


def _links(arguments: argparse.Namespace) -> int:
    return print_links(arguments, arguments.endpoint, arguments.path)


def print_links(arguments: argparse.Namespace, endpoint: str = "", path: str = "") -> int:
    """Print the handlers and client calls of one endpoint, or of all endpoints whose path contains a text."""
    from deltos.federation.contracts.links import parse_key
    from deltos.federation.contracts.render import contract_json, render_links

    key = parse_key(endpoint) if endpoint else None
    if endpoint and key is None:
        raise BadArgument(f"Not an endpoint: {endpoint[:80]!r}", hint="Example: 'POST /orders/{id}'.")
    with _open_contracts(arguments) as found:
        chosen = found.matching(*key) if key else list(found.contracts)
        chosen = [each for each in chosen if path in each.path]
        if arguments.json:
            for each in chosen:
                print_json(contract_json(each))
        else:
            print(render_links(found, chosen))
    return 0 if chosen else 1


def _drift(arguments: argparse.Namespace) -> int:
    from deltos.federation.contracts.render import drift_json, render_drift

    with _open_contracts(arguments) as found:
        print_json(drift_json(found)) if arguments.json else print(render_drift(found))
    differences = {
        "operations": found.without_handler,
        "handlers": found.without_operation,
        "calls": found.unknown_calls,
        "never": (),
    }
    differences["any"] = [*found.without_handler, *found.without_operation, *found.unknown_calls]
    return EXIT_DRIFT if differences[arguments.fail_on] else 0


def _from_code(arguments: argparse.Namespace) -> int:
    import json

    from deltos.federation.contracts.openapi import openapi_of

    with _open_contracts(arguments) as found:
        title = arguments.title or Path(arguments.project).absolute().name
        document = openapi_of(title, found.contracts)
    text = json.dumps(document, ensure_ascii=False, indent=2)
    if arguments.output == "-":
        print_json(document) if arguments.json else print(text)
    else:
        Path(arguments.output).write_text(f"{text}\n", "utf-8", newline="\n")
        print(f"{arguments.output}: {len(document['paths'])} paths")
    return 0 if document["paths"] else 1
