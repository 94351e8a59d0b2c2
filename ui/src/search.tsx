// Search as you type: the results that an agent would get, and their full texts.
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { DocumentPane } from "./document";
import { AgentText, Empty, Problem, Switch, useArrows, useView } from "./parts";
import { address, go } from "./route";
import { ago, count, counted, Name, shown } from "./text";
import { isOn } from "./toolsets";
import type { PageState, ProjectHealth, Result, SearchPage } from "./types";

// Name, label, and the toolsets of which at least one must be enabled.
const TABS: [string, string, string[]][] = [["", "All", [""]], ["code", "Code", ["code"]], ["doc", "Docs", ["docs"]], ["api", "APIs", ["apis"]], ["obs", "Memory", ["memory"]], ["commit", "Commits", ["code", "graph"]]];
const BUSY_WAIT_MS = 250; // delay after the last key while a request is pending; otherwise every key searches at once
const KINDS: Record<string, string> = { code: "code", doc: "docs", api: "API", obs: "memory", commit: "commit" };

export function SearchView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { q = "", tab = "", id = "", project = "", as = "", limit = "" } = given;
  const [typed, setTyped] = useState(q);
  const forAgent = as === "agent";
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const { data, error, busy, again } = useView<SearchPage>("search", { q, tab, project, limit: forAgent ? "" : limit }, { skip: !q }); // the agent view shows the default limit
  const open = (values: Record<string, string>, replace = true) => go(address("search", { q, tab, project, as, limit, ...values }), replace);

  // Queries that this field has put into the address; any other query in the address replaces the field's text.
  const asked = useRef([q]);
  const wished = useRef(q); // text of the field after the next render
  const waiting = useRef(-1); // index of the result to open when the answer arrives
  const type = (text: string) => {
    waiting.current = -1;
    wished.current = text;
    setTyped(text);
  };
  const ask = (wanted: string) => {
    asked.current.push(wanted);
    open({ q: wanted, id: "", limit: "" }, q !== "");
  };

  useLayoutEffect(() => {
    const at = asked.current.indexOf(q);
    asked.current = at < 0 ? [q] : asked.current.slice(at);
    if (at >= 0) return;
    wished.current = q;
    setTyped(q);
  }, [q]);
  // A layout effect runs before the letter is painted, which halves the perceived latency.
  useLayoutEffect(() => {
    const wanted = typed.trim();
    if (wanted === q || typed !== wished.current) return;
    if (!busy) return ask(wanted);
    const timer = setTimeout(() => ask(wanted), BUSY_WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed, q, tab, project, busy]);
  useLayoutEffect(() => { if (!id) field.current?.focus(); }, []); // immediately with the view; later it could steal the focus

  const results = (q && data?.results) || [];
  const isCut = data !== undefined && (data.total > results.length || data.total_is_least);
  const chosen = results.findIndex((result) => result.id === id);
  const choose = (index: number) => {
    if (data?.query !== q) { // the list still shows the answer to the previous query
      waiting.current = index;
      return;
    }
    const result = results[index];
    if (!result) return;
    open({ id: result.id });
    list.current?.children[index]?.scrollIntoView({ block: "nearest" });
  };
  useEffect(() => {
    const index = waiting.current;
    if (index < 0 || data?.query !== q) return;
    waiting.current = -1;
    choose(index);
  }, [data, q]);
  const arrows = useArrows(results.length, chosen, choose);
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() !== q) {
      ask(typed.trim());
      waiting.current = 0;
    } else if (results.length) choose(Math.max(0, chosen));
  };

  return (
    <div class={`search ${id ? "has-document" : ""}`}>
      {q && <h1 class="unseen">Search</h1>}
      <div class="search-head">
        <form role="search" onSubmit={submit}>
          <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="11" cy="11" r="6.5" /><path d="m16 16 4.5 4.5" /></svg>
          <input ref={field} id="query" type="search" value={typed} placeholder="Search code, docs, APIs, memory and commits" aria-label="Search everything"
            autocomplete="off" spellcheck={false} maxLength={500} onInput={(event) => type(event.currentTarget.value)} onKeyDown={arrows} />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <div class="tabs-row">
          <nav class="tabs" aria-label="kinds">
            {TABS.filter(([, , toolsets]) => toolsets.some(isOn)).map(([key, label]) => (
              <a class="tab" href={address("search", { q: typed.trim(), tab: key, project, as })} aria-current={key === tab ? "page" : undefined}>{label}</a>
            ))}
          </nav>
          {q && data && <Switch label="agent view" on={forAgent} flip={() => open({ as: forAgent ? "" : "agent" })} />}
        </div>
      </div>
      <Problem text={q ? error : ""} again={again} />
      {!q && <Welcome state={state} project={project} />}
      {q && data && forAgent && <AgentText text={data.agent_text} tokens={data.tokens} />}
      {q && data && !forAgent && (
        <div class="search-body">
          <div class="results-pane">
            <p class="status-line" role="status" aria-live="polite">
              {counted(results.length, "result")}{isCut ? ` of ${data.total_is_least ? "at least " : ""}${count(data.total)}` : ""}
              {" · "}{data.milliseconds} ms · {count(data.tokens)} tokens for the agent{busy ? " · searching…" : ""}
            </p>
            {data.notes.map((note) => <p class="note">{shown(note)}</p>)}
            {results.length === 0 && !busy && (
              <Empty title="Nothing found">
                {data.searched.length > 0 && <p>Searched {shown(data.searched.join(", "))}.</p>}
              </Empty>
            )}
            <ul class="results" ref={list} onKeyDown={arrows}>
              {results.map((result, index) => (
                <li><ResultLine result={result} chosen={index === chosen} href={address("search", { q, tab, project, limit, id: result.id })} /></li>
              ))}
            </ul>
            {isCut && results.length > 0 && (limit !== `${data.most_results}`
              ? <button type="button" class="more" disabled={busy} onClick={() => open({ limit: `${data.most_results}` })}>Show more</button>
              : <p class="muted">An answer has at most {data.most_results} results and is limited by its token budget. Refine the query to narrow it.</p>)}
          </div>
          {id && (
            <div class="document-pane">
              <a class="back" href={address("search", { q, tab, project, limit })}>← results</a>
              <DocumentPane key={id} id={id} project={project} />
            </div>
          )}
        </div>
      )}
      {!q && id && <DocumentPane key={id} id={id} project={project} />}
    </div>
  );
}

function ResultLine({ result, chosen, href }: { result: Result; chosen: boolean; href: string }): VNode {
  return (
    <a class="result" href={href} aria-current={chosen ? "true" : undefined} data-kind={result.kind}>
      <span class={`kind kind-${result.kind}`}>{KINDS[result.kind] ?? result.kind}</span>
      <Title result={result} />
      <span class="result-snippet">{shown(result.snippet)}</span>
    </a>
  );
}

/** The title of a result; for code, the symbol and its location. */
function Title({ result }: { result: Result }): VNode {
  const at = result.path ? result.title.lastIndexOf(` ${result.path}:`) : -1;
  if (at <= 0) return <span class="result-title"><Name text={result.title} /></span>;
  return <span class="result-title"><Name text={result.title.slice(0, at)} /> <span class="muted path"><Name text={result.title.slice(at + 1)} /></span></span>;
}

const EXAMPLES = ["Where does the program start?", "How are errors reported to the user?", "How is the configuration read?"];

/** The start view: the state of the project, and three questions to try. */
function Welcome({ state, project }: { state: PageState; project: string }): VNode {
  const { data } = useView<ProjectHealth>("health", { project }, { skip: state.project.files === 0 });
  return (
    <div class="welcome">
      <h1>What does your agent know?</h1>
      {state.project.files > 0
        ? <p>The project <b><Name text={data?.project.name ?? state.project.name} /></b> has {counted(data?.project.files ?? state.project.files, "file")} in the index{data ? ` with ${counted(data.lines, "line")}, ${counted(data.symbols, "symbol")} and ${counted(data.edges, "resolved reference")}` : ""}.</p>
        : <p>The project <b><Name text={state.project.name} /></b> is not indexed yet; the first search indexes it.</p>}
      {data && (
        <p class="muted">
          Most files: {shown(data.languages.slice(0, 3).map((each) => each.language).join(", "))}. Last change indexed {ago(data.project.synced_at)}.{" "}
          {data.project.failure_count > 0 && <a href={address("health", { project })}>{counted(data.project.failure_count, "file")} could not be indexed.</a>}
        </p>
      )}
      {isOn("code") && <ul class="examples">{EXAMPLES.map((question) => <li><a href={address("explore", { q: question, project })}>{question}</a></li>)}</ul>}
    </div>
  );
}
