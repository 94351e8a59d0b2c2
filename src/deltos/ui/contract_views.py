"""Web page data about API endpoints: handlers, client calls, and calls between projects."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from deltos.federation.contracts.render import link_line, render_drift
from deltos.progress import Silent
from deltos.ui import structs
from deltos.workspace.project_selection import answer_on_fresh, select

if TYPE_CHECKING:
    from deltos.federation.contracts.links import ContractMap
    from deltos.federation.contracts.model import Contract
    from deltos.ui.view_request import ViewRequest
    from deltos.workspace.project_selection import FreshSelection

MAX_ENDPOINTS = 500
MAX_LINKS = 30  # maximum number of handlers, and of client calls, shown for one endpoint


def show_contracts(request: ViewRequest) -> structs.ContractsPage:
    """Return the API endpoints of the selected projects, and the number of calls between each pair of projects."""
    app = request.app
    selection = select(app.domains.projects, request.text("projects"), request.session.project_roots())

    def read(fresh: FreshSelection) -> structs.ContractsPage:
        found = app.contracts.contracts([(each.name, each.index) for each in fresh.ready])
        return structs.ContractsPage(
            endpoints=[_endpoint(each) for each in found.contracts[:MAX_ENDPOINTS]],
            total=len(found.contracts),
            services=_service_calls(found),
            drift=render_drift(found).split("\n"),
            notes=list(fresh.notes_about("graph")),
        )

    return answer_on_fresh(selection, Silent(), read)


def _endpoint(contract: Contract) -> structs.LinkedEndpoint:
    return structs.LinkedEndpoint(
        method=contract.method,
        path=contract.path,
        apis=list(dict.fromkeys(each.api for each in contract.operations)),
        handlers=[link_line("", each).strip() for each in contract.handlers[:MAX_LINKS]],
        calls=[link_line("", each).strip() for each in contract.calls[:MAX_LINKS]],
    )


def _service_calls(found: ContractMap) -> list[structs.ServiceCalls]:
    """Return the number of client calls from each project to the handlers of each other project."""
    counts = Counter(
        (call.endpoint.place.project, handler.endpoint.place.project)
        for contract in found.contracts
        for call in contract.calls
        for handler in contract.handlers[:1]
    )
    return [
        structs.ServiceCalls(caller, handler, number)
        for (caller, handler), number in counts.most_common()
        if caller != handler
    ]
