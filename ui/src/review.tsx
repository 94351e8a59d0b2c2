// What a change affects: broken callers, breaking changes and tests to run, as in `deltos review`.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AgentText, Heading, Problem, Switch, useView } from "./parts";
import { address, go } from "./route";
import { count, Name, shown } from "./text";
import { isOn } from "./toolsets";
import type { ReviewPage } from "./types";

export function ReviewView({ given }: { given: Record<string, string> }): VNode {
  const { base = "", project = "", as = "" } = given;
  const [typed, setTyped] = useState(base);
  const { data, error, busy, again } = useView<ReviewPage>("review", { base, project });
  useEffect(() => setTyped(base), [base]);
  const submit = (event: Event) => {
    event.preventDefault();
    go(address("review", { base: typed.trim(), project, as }));
  };
  return (
    <div class="page">
      <Heading title="Review">
        {data && <Switch label="agent view" on={as === "agent"} flip={() => go(address("review", { base, project, as: as === "agent" ? "" : "agent" }))} />}
        <button type="button" onClick={again}>Refresh</button>
      </Heading>
      <form class="base-form" onSubmit={submit}>
        <label for="query">Compare with</label>
        <input id="query" type="text" value={typed} placeholder="commit, branch, tag or range" spellcheck={false} autocomplete="off" maxLength={200} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button class="primary">Review</button>
      </form>
      <p class="hint">Empty: the uncommitted changes, or the commits since the default branch.</p>
      <Problem text={error} again={again} />
      {busy && !data && <div class="skeleton" aria-busy="true" />}
      {data && as === "agent" && <AgentText text={data.agent_text} tokens={data.tokens} />}
      {data && as !== "agent" && (
        <div class="answer">
          <p class={data.is_breaking ? "note" : "status-line"} role="status" aria-live="polite">{shown(data.summary)} {data.milliseconds} ms · {count(data.tokens)} tokens for the agent{busy ? " · reviewing…" : ""}</p>
          {data.notes.map((note) => <p class="note">{shown(note)}</p>)}
          {data.symbols.length > 0 && isOn("graph") && (
            <section>
              <h2>Impact as a graph</h2>
              <div class="chips">{data.symbols.map((name) => <a class="chip" href={address("graph", { symbol: name, mode: "impact", project })}><Name text={name} /></a>)}</div>
            </section>
          )}
          {data.sections.map((each) => (
            <section>
              <h2>{shown(each.title)}</h2>
              <ul class="lines">{each.lines.map((line) => <li><Name text={line} /></li>)}</ul>
            </section>
          ))}
        </div>
      )}
    </div>
  );
}
