// A question about the code, answered with the code: what the tool `explore` returns.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Code, languageOf } from "./code";
import { AgentText, Problem, Switch, useView } from "./parts";
import { address, go } from "./route";
import { count, Name, shown } from "./text";
import type { ExplorePage, ExplorePart } from "./types";

const BUDGETS: [string, string][] = [["500", "short"], ["", "normal"], ["8000", "long"]];
const EXAMPLES = ["Where does the program start?", "How are errors reported to the user?", "How is the configuration read?"];

export function ExploreView({ given }: { given: Record<string, string> }): VNode {
  const { q = "", budget = "", project = "", as = "" } = given;
  const [typed, setTyped] = useState(q);
  const field = useRef<HTMLInputElement>(null);
  const { data, error, busy, again } = useView<ExplorePage>("explore", { q, budget, project }, { skip: !q });
  const open = (values: Record<string, string>) => go(address("explore", { q, budget, project, as, ...values }));
  useEffect(() => setTyped(q), [q]);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim()) open({ q: typed.trim() });
  };
  return (
    <div class="search explore">
      <h1 class={q ? "unseen" : undefined}>Explore</h1>
      <div class="search-head">
        <form role="search" onSubmit={submit}>
          <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="11" cy="11" r="6.5" /><path d="m16 16 4.5 4.5" /></svg>
          <input ref={field} id="query" type="search" value={typed} placeholder="Ask how, where or why, or paste a stack trace" aria-label="Question about the code"
            autocomplete="off" spellcheck={false} maxLength={2000} onInput={(event) => setTyped(event.currentTarget.value)} />
        </form>
        <div class="tabs-row">
          <nav class="tabs" aria-label="length of the answer">
            {BUDGETS.map(([tokens, label]) => <a class="tab" href={address("explore", { q, budget: tokens, project, as })} aria-current={tokens === budget ? "page" : undefined}>{label}</a>)}
          </nav>
          {q && data && <Switch label="agent view" on={as === "agent"} flip={() => open({ as: as === "agent" ? "" : "agent" })} />}
        </div>
      </div>
      <Problem text={q ? error : ""} again={again} />
      {!q && (
        <div class="welcome">
          <p>Shows the source that answers a question, with its callers and tests. Examples:</p>
          <ul>{EXAMPLES.map((example) => <li><a href={address("explore", { q: example, project })}>{example}</a></li>)}</ul>
        </div>
      )}
      {q && busy && data?.query !== q && <div class="skeleton" aria-busy="true" />}
      {q && data && as === "agent" && <AgentText text={data.agent_text} tokens={data.tokens} />}
      {q && data && as !== "agent" && (
        <div class="answer">
          <p class="status-line" role="status" aria-live="polite">{data.milliseconds} ms · {count(data.tokens)} tokens for the agent{busy ? " · searching…" : ""}</p>
          {data.parts.map((part, index) => <Part part={part} isNew={part.title !== data.parts[index - 1]?.title} />)}
        </div>
      )}
    </div>
  );
}

/** A block of code below its location, or lines of text. */
function Part({ part, isNew }: { part: ExplorePart; isNew: boolean }): VNode {
  if (!part.path) return <p class="answer-text">{shown(part.text.trim())}</p>;
  return (
    <section class="answer-code">
      {isNew && <h2><Name text={part.title} /></h2>}
      <Code text={part.text} language={languageOf(part.path)} firstLine={part.first_line} />
    </section>
  );
}
