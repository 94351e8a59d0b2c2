// Memory as a timeline, what the next session will be shown, and the ways to mend it.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change } from "./api";
import { Empty, Heading, Problem, spoken, Switch, useToast, useView } from "./parts";
import { ago, count, counted, moment, Name, shown } from "./text";
import type { Memo, MemoryPage, PageState } from "./types";

export function MemoryView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { project = "" } = given;
  const [before, setBefore] = useState("");
  const [kind, setKind] = useState("");
  const [older, setOlder] = useState<Memo[]>([]);
  const [next, setNext] = useState(given["show"] === "next");
  const [replacing, setReplacing] = useState("");
  const [problem, setProblem] = useState("");
  const { data, error, again } = useView<MemoryPage>("memory", { project, before });
  const [toast, say] = useToast();
  useEffect(() => setOlder([]), [project]);
  const mayChange = state.level === "admin";

  const act = async (wanted: string, memo: Memo, by = "") => {
    setProblem("");
    try {
      const done = await change("memory", { change: wanted, id: memo.id, by, project });
      if (wanted === "forget") {
        setOlder((rows) => rows.filter((row) => row.id !== memo.id));
        say(done.text, () => void act("restore", memo));
      } else say(done.text);
      setReplacing("");
      again();
    } catch (failed) {
      setProblem(spoken(failed));
    }
  };
  const more = () => {
    if (!data) return;
    setOlder([...older, ...data.memos]);
    setBefore(`${data.more_before}`);
  };

  const rows = [...older, ...(data?.memos ?? [])];
  const kinds = [...new Set(rows.map((row) => row.kind))].sort();
  const listed = kind ? rows.filter((row) => row.kind === kind) : rows;
  return (
    <div class="page">
      <Heading title="Memory"><Switch label="what the next session is shown" on={next} flip={() => setNext(!next)} /></Heading>
      <Problem text={error || problem} again={error ? again : undefined} />
      {data && next && (
        <section class="agent-text">
          <p class="hint">Exactly what a session of this project is shown when it starts: about {count(data.context_tokens)} tokens.</p>
          {data.context ? <pre class="code wrapped" tabIndex={0}>{data.context}</pre> : <p class="muted">Nothing yet.</p>}
        </section>
      )}
      {data && !next && (
        <>
          <p class="muted">{counted(data.count, "observation")} of this project and personal ones. What was redacted was never kept: only its kind stands in its place.</p>
          {kinds.length > 1 && (
            <div class="chips" role="group" aria-label="kinds">
              {["", ...kinds].map((each) => <button type="button" class="chip" aria-pressed={each === kind} onClick={() => setKind(each)}>{each || "all"}</button>)}
            </div>
          )}
          {rows.length === 0 && <Empty title="Nothing is remembered yet"><p>Agents keep decisions with <code>remember</code>; hooks keep what happens in their sessions.</p></Empty>}
          <Timeline rows={listed} mayChange={mayChange} act={act} replacing={replacing} replace={setReplacing} />
          {data.more_before > 0 && <button type="button" onClick={more}>Older</button>}
        </>
      )}
      {toast}
    </div>
  );
}

interface TimelineProps {
  rows: Memo[];
  mayChange: boolean;
  act: (wanted: string, memo: Memo, by?: string) => void;
  replacing: string;
  replace: (id: string) => void;
}

function Timeline({ rows, mayChange, act, replacing, replace }: TimelineProps): VNode {
  let session: string | undefined;
  return (
    <ol class="timeline">
      {rows.map((memo) => {
        const begins = memo.session !== session;
        session = memo.session;
        return (
          <>
            {begins && <li class="session-mark"><span>{memo.session ? <>session <code><Name text={memo.session} /></code></> : "outside any session"}</span></li>}
            <li class={`memo ${memo.superseded_by ? "superseded" : ""}`} data-id={memo.id}>
              <div class="memo-head">
                <span class={`tag kind-name-${memo.kind}`}>{shown(memo.kind)}</span>
                {memo.pinned && <span class="tag pin">pinned</span>}
                {memo.changed && <span class="tag bad">its code has changed</span>}
                <span class="muted" title={moment(memo.created_at)}>{ago(memo.created_at)}</span>
                {memo.source && <span class="muted">from <Name text={memo.source} /></span>}
                <code class="muted memo-id">{memo.id}</code>
              </div>
              <p class="memo-text">{shown(memo.text)}</p>
              {memo.files.length > 0 && <p class="muted path">{memo.files.slice(0, 6).map((file) => <code><Name text={file} /></code>)}{memo.files.length > 6 ? ` and ${memo.files.length - 6} more` : ""}</p>}
              {memo.superseded_by && <p class="muted">Superseded by <code>{memo.superseded_by}</code></p>}
              {mayChange && (
                <div class="memo-tools">
                  {replacing && replacing !== memo.id
                    ? <button type="button" class="primary" onClick={() => { const old = rows.find((row) => row.id === replacing); if (old) act("supersede", old, memo.id); }}>This one replaces it</button>
                    : <>
                        <button type="button" onClick={() => act(memo.pinned ? "unpin" : "pin", memo)}>{memo.pinned ? "Unpin" : "Pin"}</button>
                        <button type="button" onClick={() => replace(replacing === memo.id ? "" : memo.id)}>{replacing === memo.id ? "Cancel" : "Supersede…"}</button>
                        <button type="button" onClick={() => act("forget", memo)}>Forget</button>
                      </>}
                </div>
              )}
            </li>
          </>
        );
      })}
    </ol>
  );
}
