// Endpoints with their handlers and client calls, the calls between projects, and differences to API descriptions.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Empty, Heading, Problem, useView } from "./parts";
import { count, counted, Name, shown } from "./text";
import type { ContractsPage, LinkedEndpoint, PageState, ServiceCalls } from "./types";

export function ContractsView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { project = "" } = given;
  const [all, setAll] = useState(state.projects.length > 1 && !project);
  const [filter, setFilter] = useState("");
  const { data, error, busy, again } = useView<ContractsPage>("contracts", { projects: all ? "*" : project });
  const wanted = filter.trim().toLowerCase();
  const endpoints = (data?.endpoints ?? []).filter((each) => `${each.method} ${each.path} ${each.apis.join(" ")}`.toLowerCase().includes(wanted));
  return (
    <div class="page wide">
      <Heading title="Contracts">
        {state.projects.length > 1 && <button type="button" aria-pressed={all} onClick={() => setAll(!all)}>All projects</button>}
        <button type="button" onClick={again}>Refresh</button>
      </Heading>
      <Problem text={error} again={again} />
      {busy && !data && <div class="skeleton" aria-busy="true" />}
      {data?.notes.map((note) => <p class="note">{shown(note)}</p>)}
      {data?.total === 0 && <Empty title="No endpoints found"><p>No routes, client calls or API descriptions were found in this code. Add a description under Sources, or select all projects.</p></Empty>}
      {data && data.services.length > 0 && <Services calls={data.services} />}
      {data && data.total > 0 && (
        <section>
          <h2>{counted(data.total, "endpoint")}</h2>
          <input type="search" aria-label="filter endpoints" placeholder="Filter by method, path or API" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
          {data.total > data.endpoints.length && <p class="note">The first {count(data.endpoints.length)} are listed.</p>}
          <ul class="results">{endpoints.map((each) => <li><Line endpoint={each} /></li>)}</ul>
        </section>
      )}
      {data && data.total > 0 && (
        <section>
          <h2>Differences to API descriptions</h2>
          <ul class="lines">{data.drift.map((line) => <li><Name text={line.trim()} /></li>)}</ul>
        </section>
      )}
    </div>
  );
}

function Line({ endpoint }: { endpoint: LinkedEndpoint }): VNode {
  return (
    <details class="endpoint">
      <summary>
        <span class={`method method-${endpoint.method.toLowerCase()}`}>{shown(endpoint.method)}</span>{" "}
        <b><Name text={endpoint.path} /></b>{" "}
        <span class="muted">{shown(endpoint.apis.join(", "))} {counted(endpoint.handlers.length, "handler")}, {counted(endpoint.calls.length, "client call")}</span>
      </summary>
      <ul class="lines">
        {endpoint.handlers.map((line) => <li>implemented by <Name text={line} /></li>)}
        {endpoint.calls.map((line) => <li>called by <Name text={line} /></li>)}
      </ul>
    </details>
  );
}

/** A map of the projects: callers on the left, handlers on the right, lines as wide as the number of calls. */
function Services({ calls }: { calls: ServiceCalls[] }): VNode {
  const callers = [...new Set(calls.map((each) => each.caller))];
  const handlers = [...new Set(calls.map((each) => each.handler))];
  const height = 44 * Math.max(callers.length, handlers.length) + 12;
  const most = Math.max(...calls.map((each) => each.count));
  const y = (names: string[], name: string) => 28 + 44 * names.indexOf(name);
  const label = calls.map((each) => `${each.caller} calls ${each.handler} ${each.count} times`).join("; ");
  return (
    <section>
      <h2>Calls between projects</h2>
      <svg class="services" viewBox={`0 0 640 ${height}`} role="img" aria-label={label}>
        {calls.map((each) => (
          <path d={`M210 ${y(callers, each.caller)} C320 ${y(callers, each.caller)} 320 ${y(handlers, each.handler)} 430 ${y(handlers, each.handler)}`} style={{ strokeWidth: 1 + (5 * each.count) / most }}>
            <title>{`${each.count} calls`}</title>
          </path>
        ))}
        {callers.map((name) => <text x="202" y={y(callers, name) + 5} text-anchor="end">{shown(name)}</text>)}
        {handlers.map((name) => <text x="438" y={y(handlers, name) + 5}>{shown(name)}</text>)}
      </svg>
    </section>
  );
}
