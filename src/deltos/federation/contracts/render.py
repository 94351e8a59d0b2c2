"""Render API contracts and the differences between API descriptions and code, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.federation.contracts.links import ContractMap
    from deltos.federation.contracts.model import CodeEndpoint, Contract, ContractLink

MAX_LINKS = 30  # maximum number of handlers, and of client calls, shown for one operation
MAX_ROWS = 500  # maximum number of contracts in one answer


def link_line(verb: str, link: ContractLink) -> str:
    """Return a link as a line: `implemented by app/orders.py:40 create_order (certain: fastapi route, same path)`."""
    endpoint = link.endpoint
    place = str(endpoint.place) if endpoint.at else f"{endpoint.declared_at} (declaration)"
    name = f" {endpoint.function}" if endpoint.function else ""
    return f"{verb} {place}{name} ({'certain' if link.certain else 'possible'}: {link.rule})"


def contract_lines(contract: Contract, *, calls: int = MAX_LINKS) -> list[str]:
    """Return the handlers and client calls of a contract, one per line."""
    lines = [link_line("implemented by", each) for each in contract.handlers[:MAX_LINKS]]
    lines += [link_line("called by", each) for each in contract.calls[:calls]]
    more = len(contract.calls) - calls
    return [*lines, f"{more} more client calls"] if more > 0 else lines


def render_links(found: ContractMap, contracts: Sequence[Contract]) -> str:
    """Render contracts with their handlers and client calls."""
    described = sum(bool(each.operations) for each in contracts)
    calls = sum(len(each.calls) for each in contracts)
    handled = sum(bool(each.handlers) for each in contracts)
    total = counted(len(contracts), "endpoint")
    lines = [f"{total}: {described} described, {handled} with handler. {counted(calls, 'client call')}."]
    for each in contracts[:MAX_ROWS]:
        apis = ", ".join(dict.fromkeys(one.api for one in each.operations))
        lines.append(f"{each.key}{f' — {apis}' if apis else ''}")
        lines += [f"  {line}" for line in contract_lines(each)]
    if len(contracts) > MAX_ROWS:
        lines.append(f"{len(contracts) - MAX_ROWS} more endpoints. Use --path to select some.")
    return "\n".join(lines if contracts else [_nothing_found(found)])


def _nothing_found(found: ContractMap) -> str:
    if found.contracts:
        total = counted(len(found.contracts), "endpoint")
        return f"No endpoint matches; {total} exist. Use `deltos api links` to list them."
    return "No routes, client calls or API descriptions were found in the code of these projects."


def render_drift(found: ContractMap) -> str:
    """Render the differences between API descriptions and code."""
    missing, undescribed, unknown = found.without_handler, found.without_operation, found.unknown_calls
    counts = (
        f"{counted(len(missing), 'operation')} without handler",
        f"{counted(len(undescribed), 'handler')} without operation",
        f"{counted(len(unknown), 'client call')} without operation or handler.",
    )
    lines = [", ".join(counts)]
    lines += _section("Operations without handler", (f"{each.key} — {each.operations[0].api}" for each in missing))
    lines += _section(
        "Handlers without operation", (f"{each.key} {link_line('in', each.handlers[0])[3:]}" for each in undescribed)
    )
    lines += _section("Client calls without operation or handler", (_call_line(each) for each in unknown))
    if found.external_calls:
        lines.append(
            f"Not compared: {counted(found.external_calls, 'client call')} of public hosts without a description."
        )
    return "\n".join(lines)


def _call_line(call: CodeEndpoint) -> str:
    return f"{call.key} {call.declared_at} {call.function}".rstrip()


def _section(title: str, rows: Iterable[str]) -> list[str]:
    listed = list(rows)
    more = [f"  {len(listed) - MAX_ROWS} more"] if len(listed) > MAX_ROWS else []
    return [f"{title}:", *(f"  {row}" for row in listed[:MAX_ROWS]), *more] if listed else []


def contract_json(contract: Contract) -> dict[str, Any]:
    """Return a contract as JSON."""
    return {
        "method": contract.method,
        "path": contract.path,
        "operations": [{"api": each.api, "path": each.path, "citation": each.citation} for each in contract.operations],
        "handlers": [_link_json(each) for each in contract.handlers],
        "calls": [_link_json(each) for each in contract.calls],
    }


def _link_json(link: ContractLink) -> dict[str, Any]:
    return {**endpoint_json(link.endpoint), "certain": link.certain, "rule": link.rule}


def endpoint_json(endpoint: CodeEndpoint) -> dict[str, Any]:
    """Return a route or client call as JSON."""
    return {
        "project": endpoint.place.project,
        "path": endpoint.place.path,
        "line": endpoint.place.line,
        "function": endpoint.function,
        "declared_at": f"{endpoint.declared_at.path}:{endpoint.declared_at.line}",
        "framework": endpoint.framework,
    }


def drift_json(found: ContractMap) -> dict[str, Any]:
    """Return the differences between API descriptions and code as JSON."""
    return {
        "operations_without_handler": [contract_json(each) for each in found.without_handler],
        "handlers_without_operation": [contract_json(each) for each in found.without_operation],
        "calls_without_operation": [
            {"method": each.method, "endpoint": each.path, **endpoint_json(each)} for each in found.unknown_calls
        ],
    }
