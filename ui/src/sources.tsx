// Documentation sources: live progress, failures, and adding, updating and removing sources.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { renewSession, tool } from "./api";
import { Empty, Heading, Problem, RETRY_MS, errorMessage, useToast, useView } from "./parts";
import { address } from "./route";
import { ago, count, counted, moment, Name, shown, WebLink } from "./text";
import type { PageState, SourcesPage, SourceState } from "./types";

export function SourcesView({ state }: { given: Record<string, string>; state: PageState }): VNode {
  const first = useView<SourcesPage>("sources", {});
  const [live, setLive] = useState<SourcesPage>();
  const [connected, setConnected] = useState(true);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [toast, say] = useToast();
  useEffect(() => {
    let stream: EventSource | undefined;
    let timer = 0;
    const open = () => {
      const own = new EventSource("/api/events");
      stream = own;
      own.addEventListener("sources", (event) => { setLive(JSON.parse(event.data) as SourcesPage); setConnected(true); });
      own.onopen = () => setConnected(true);
      own.onerror = () => {
        setConnected(false);
        // The browser reconnects automatically, except after an error response, which means that the session has ended.
        if (own.readyState === EventSource.CLOSED) timer = setTimeout(() => void renewSession().then(open), RETRY_MS);
      };
    };
    open();
    return () => { clearTimeout(timer); stream?.close(); };
  }, []);

  const call = async (name: string, given: Record<string, unknown>) => {
    setProblem("");
    setBusy(true);
    try {
      const answer = await tool(name, given);
      say(answer.text.split("\n")[0] ?? "Done");
      first.again();
      return true;
    } catch (failed) {
      setProblem(errorMessage(failed));
      return false;
    } finally {
      setBusy(false);
    }
  };
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    const url = String(given.get("url")).trim();
    const name = String(given.get("name")).trim();
    if (url && (await call("add_source", name ? { url, name } : { url }))) form.reset();
  };

  const sources = (live ?? first.data)?.sources;
  const canAdd = state.level !== "read";
  return (
    <div class="page">
      <Heading title="Sources"><span class={`live ${connected ? "" : "off"}`}>{connected ? "live" : "connecting…"}</span></Heading>
      <Problem text={problem || first.error} />
      {canAdd && (
        <form class="row-form" onSubmit={(event) => void add(event)}>
          <input name="url" aria-label="source to add" placeholder="https://docs.example.com, a folder, an OpenAPI file, pypi:httpx, npm:zod" required maxLength={2_000} spellcheck={false} />
          <input name="name" class="short" aria-label="its name" placeholder="name" maxLength={100} spellcheck={false} />
          <button type="submit" class="primary" disabled={busy}>Add</button>
        </form>
      )}
      {sources?.length === 0 && <Empty title="No documentation yet"><p>Add a website, a folder or a package for agents to search and cite.</p></Empty>}
      <ul class="cards">
        {sources?.map((source) => <SourceCard source={source} canAdd={canAdd} canRemove={state.level === "admin"} busy={busy} call={call} />)}
      </ul>
      {toast}
    </div>
  );
}

interface CardProps {
  source: SourceState;
  canAdd: boolean;
  canRemove: boolean;
  busy: boolean;
  call: (name: string, given: Record<string, unknown>) => Promise<boolean>;
}

function SourceCard({ source, canAdd, canRemove, busy, call }: CardProps): VNode {
  const [isConfirming, setIsConfirming] = useState(false);
  const all = source.pages_done + source.pages_queued;
  return (
    <li class="card source" data-name={source.name}>
      <div class="card-head">
        <h2><Name text={source.name} />{source.version && <span class="muted"> {shown(source.version)}</span>}</h2>
        <span class={`tag state-${source.state.toLowerCase()}`}>{source.state.toLowerCase()}</span>
      </div>
      <p class="muted path"><WebLink to={source.url} /></p>
      <p>{source.kind === "api"
        ? <a href={address("apis", { name: source.name })}>{counted(source.operations, "operation")}, {counted(source.schemas, "schema")}</a>
        : `${counted(source.pages, "page")}, ${counted(source.chunks, "passage")}`} · <span title={moment(source.crawled_at)}>crawled {ago(source.crawled_at)}</span></p>
      {source.is_open && all > 0 && <progress max={all} value={source.pages_done} aria-label={`${count(source.pages_done)} of ${count(all)} pages`} />}
      {source.is_open && <p class="muted">{count(source.pages_done)} pages done, {count(source.pages_queued)} queued{source.seconds_left ? `, about ${Math.ceil(source.seconds_left)} s left` : ""}</p>}
      {source.reason && <p class="note">{shown(source.reason)}</p>}
      {source.failure_count > 0 && (
        <details>
          <summary>{counted(source.failure_count, "page")} failed</summary>
          <ul class="failures">{source.failures.map((each) => <li><WebLink to={each.path} /> <span class="muted">{shown(each.reason)}</span></li>)}</ul>
        </details>
      )}
      <div class="card-tools">
        {canAdd && <button type="button" disabled={busy} onClick={() => void call("recrawl_source", { source: source.id })}>Update</button>}
        {canRemove && !isConfirming && <button type="button" disabled={busy} onClick={() => setIsConfirming(true)}>Remove</button>}
        {isConfirming && <><button type="button" class="danger" onClick={() => { setIsConfirming(false); void call("remove_source", { source: source.id }); }}>Remove it</button><button type="button" onClick={() => setIsConfirming(false)}>Keep</button></>}
      </div>
    </li>
  );
}
