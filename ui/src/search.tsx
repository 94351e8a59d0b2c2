// Search over everything as you type: what the agent would get, and what is behind it.
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { DocumentPane } from "./document";
import { AgentText, Empty, Problem, Switch, useArrows, useView } from "./parts";
import { address, go } from "./route";
import { count, counted, Name, shown } from "./text";
import { isOn } from "./toolsets";
import type { PageState, Result, SearchPage } from "./types";

// Name, label, and the toolsets of which one must be on.
const TABS: [string, string, string[]][] = [["", "All", [""]], ["code", "Code", ["code"]], ["doc", "Docs", ["docs"]], ["api", "APIs", ["apis"]], ["obs", "Memory", ["memory"]], ["commit", "Commits", ["code", "graph"]]];
const BUSY_WAIT_MS = 250; // after the last key, while an answer is awaited; otherwise every key asks at once
const KINDS: Record<string, string> = { code: "code", doc: "docs", api: "API", obs: "memory", commit: "commit" };

export function SearchView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { q = "", tab = "", id = "", project = "", as = "", limit = "" } = given;
  const [typed, setTyped] = useState(q);
  const forAgent = as === "agent";
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const { data, error, busy, again } = useView<SearchPage>("search", { q, tab, project, limit: forAgent ? "" : limit }, { skip: !q }); // agents ask for no more at first
  const open = (values: Record<string, string>, replace = true) => go(address("search", { q, tab, project, as, limit, ...values }), replace);

  // What this field put into the address itself and may still be on its way: only what others put there is taken over.
  const asked = useRef([q]);
  const wished = useRef(q); // what is to stand in the field, be it typed or taken over: `typed` follows with the next render
  const waiting = useRef(-1); // the result that is opened once the answer is there
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
  // Before the letter is painted, not after: that is half of the time a person waits.
  useLayoutEffect(() => {
    const wanted = typed.trim();
    if (wanted === q || typed !== wished.current) return;
    if (!busy) return ask(wanted);
    const timer = setTimeout(() => ask(wanted), BUSY_WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed, q, tab, project, busy]);
  useLayoutEffect(() => { if (!id) field.current?.focus(); }, []); // with the view, never a moment later: focus that a person moved meanwhile would jump

  const results = (q && data?.results) || [];
  const isCut = data !== undefined && (data.total > results.length || data.total_is_least);
  const chosen = results.findIndex((result) => result.id === id);
  const choose = (index: number) => {
    if (data?.query !== q) { // the list still shows the answer to what was asked before
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
          {q && data && <Switch label="as the agent" on={forAgent} flip={() => open({ as: forAgent ? "" : "agent" })} />}
        </div>
      </div>
      <Problem text={q ? error : ""} again={again} />
      {!q && <Welcome state={state} />}
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
              : <p class="muted">An answer has {data.most_results} results at most, and no more than its tokens allow: other words narrow it.</p>)}
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

/** A title; of code, the symbol and, quieter, where it is. */
function Title({ result }: { result: Result }): VNode {
  const at = result.path ? result.title.lastIndexOf(` ${result.path}:`) : -1;
  if (at <= 0) return <span class="result-title"><Name text={result.title} /></span>;
  return <span class="result-title"><Name text={result.title.slice(0, at)} /> <span class="muted path"><Name text={result.title.slice(at + 1)} /></span></span>;
}

function Welcome({ state }: { state: PageState }): VNode {
  return (
    <div class="welcome">
      <h1>What does your agent know?</h1>
      <p>
        Ask as your agent would. {state.project.files > 0
          ? <>The project <b><Name text={state.project.name} /></b> has {counted(state.project.files, "file")} in the index.</>
          : <>The project <b><Name text={state.project.name} /></b> is not indexed yet: the first search does it.</>}
      </p>
    </div>
  );
}
