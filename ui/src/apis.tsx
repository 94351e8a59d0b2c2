// API descriptions: operations by tag, each with its parameters, schemas and an example.
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { DocumentPane } from "./document";
import { Empty, Heading, Problem, useArrows, useView } from "./parts";
import { address, go } from "./route";
import { count, counted, Name, shown } from "./text";
import type { ApiOperation, ApisPage, PageState } from "./types";

export function ApisView({ given }: { given: Record<string, string>; state: PageState }): VNode {
  const { name = "", id = "", project = "" } = given;
  const [filter, setFilter] = useState("");
  const { data, error, again } = useView<ApisPage>("apis", { name });
  const wanted = filter.trim().toLowerCase();
  const schemas = (data?.schemas ?? []).filter((each) => each.name.toLowerCase().includes(wanted));
  const list = useRef<HTMLDivElement>(null);
  const operations = (data?.operations ?? []).filter((each) => `${each.method} ${each.path} ${each.title}`.toLowerCase().includes(wanted));
  const groups = byTag(operations);
  const listed = groups.flatMap(([, inside]) => inside);
  const arrows = useArrows(listed.length, listed.findIndex((each) => each.id === id), (index) => {
    go(address("apis", { name, id: listed[index]!.id, project }), true);
    list.current?.querySelectorAll(".operation")[index]?.scrollIntoView({ block: "nearest" });
  });
  return (
    <div class="page wide">
      <Heading title="APIs" />
      <Problem text={error} again={again} />
      {data?.apis.length === 0 && <Empty title="No API description yet"><p>Add an OpenAPI, GraphQL, AsyncAPI or protobuf file under <a href={address("sources")}>Sources</a>.</p></Empty>}
      <div class="chips">
        {data?.apis.map((api) => (
          <a class="chip" href={address("apis", { name: api.name })} aria-current={api.name === name ? "page" : undefined}>
            <Name text={api.name} /> <span class="muted">{counted(api.operations, "operation")}, {counted(api.schemas, "schema")}</span>
          </a>
        ))}
      </div>
      {data && name && (
        <div class={`search-body ${id ? "has-document" : ""}`}>
          <div class="results-pane" ref={list} onKeyDown={arrows}>
            <input type="search" aria-label="filter operations" placeholder="Filter operations and schemas" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
            {data.total > data.operations.length && <p class="note">The first {count(data.operations.length)} of {count(data.total)} operations.</p>}
            {groups.map(([tag, inside]) => (
              <section class="tag-group">
                <h2>{shown(tag)}</h2>
                <ul class="results">
                  {inside.map((each) => (
                    <li>
                      <a class="result operation" href={address("apis", { name, id: each.id, project })} aria-current={each.id === id ? "true" : undefined}>
                        <span class={`method method-${each.method.toLowerCase()}`}>{shown(each.method || "event")}</span>
                        <span class="result-title"><Name text={each.path || each.title} /></span>
                        <span class="result-snippet">{shown(each.title)}{each.deprecated ? " · deprecated" : ""}</span>
                      </a>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
            {schemas.length > 0 && (
              <section class="tag-group">
                <h2>schemas</h2>
                {data.schema_total > data.schemas.length && <p class="note">The first {count(data.schemas.length)} of {count(data.schema_total)} schemas.</p>}
                <div class="chips">{schemas.map((each) => <a class="chip schema" href={address("apis", { name, id: each.id, project })} aria-current={each.id === id ? "true" : undefined}><Name text={each.name} /></a>)}</div>
              </section>
            )}
          </div>
          {id && <div class="document-pane"><a class="back" href={address("apis", { name })}>← operations</a><DocumentPane key={id} id={id} project={project} /></div>}
        </div>
      )}
    </div>
  );
}

function byTag(operations: ApiOperation[]): [string, ApiOperation[]][] {
  const groups = new Map<string, ApiOperation[]>();
  for (const each of operations) {
    const tag = each.tags[0] ?? "other";
    groups.set(tag, [...(groups.get(tag) ?? []), each]);
  }
  return [...groups];
}
