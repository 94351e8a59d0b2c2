// Memory as a timeline, what was forgotten, what the next session will be shown, and the ways to mend it.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change } from "./api";
import { Empty, Heading, Problem, spoken, useToast, useView } from "./parts";
import { address, go, readPlace } from "./route";
import { ago, count, counted, moment, Name, shown } from "./text";
import type { Memo, MemoryPage, PageState } from "./types";

const SHOWN: [string, string][] = [["", "Timeline"], ["forgotten", "Forgotten"], ["next", "What the next session is shown"]];

export function MemoryView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { project = "", show = "", kind = "", until = "" } = given;
  const start = until ? `${Date.parse(`${until}T23:59:59.999`) * 1_000}` : "";
  const asked = JSON.stringify([project, show, kind, until]);
  const [older, setOlder] = useState<{ asked: string; rows: Memo[]; before: string }>({ asked, rows: [], before: "" });
  const earlier = older.asked === asked ? older : { asked, rows: [], before: "" };
  const [replacing, setReplacing] = useState("");
  const [problem, setProblem] = useState("");
  const { data: answer, error, busy, again } = useView<MemoryPage>("memory", { project, show, kind, before: earlier.before || start });
  const data = answer?.show === show ? answer : undefined; // not the answer about another part
  const [toast, say] = useToast();
  useEffect(() => setReplacing(""), [asked]);
  const mayChange = state.level === "admin";
  const open = (values: Record<string, string>) => go(address("memory", { project, show, kind, until, ...values }));

  const act = async (wanted: string, memo: Memo, by = "") => {
    setProblem("");
    try {
      const done = await change("memory", { change: wanted, id: memo.id, by, project });
      say(done.text, wanted === "forget" ? () => void act("restore", memo) : undefined);
      setReplacing("");
      setOlder({ asked, rows: [], before: "" }); // rows that were read before may have changed, too
      again();
    } catch (failed) {
      setProblem(spoken(failed));
    }
  };
  const more = () => { if (data) setOlder({ asked, rows: [...earlier.rows, ...data.memos], before: data.more_before }); };

  const rows = [...earlier.rows, ...(data?.memos ?? []).filter((memo) => earlier.rows.every((row) => row.id !== memo.id))];
  return (
    <div class="page">
      <Heading title="Memory" />
      <nav class="tabs" aria-label="parts of memory">
        {SHOWN.map(([name, label]) => (
          <a class="tab" href={address("memory", { project, show: name })} aria-current={name === show ? "page" : undefined}>{label}{name === "forgotten" && data ? ` (${count(data.forgotten)})` : ""}</a>
        ))}
      </nav>
      <Problem text={error || problem} again={error ? again : undefined} />
      {!data && !error && <div class="skeleton" aria-busy="true" />}
      {data && show === "next" && (
        <section class="agent-text">
          <p class="hint">Exactly what a session of this project is shown when it starts: about {count(data.context_tokens)} tokens (characters / 4).</p>
          {data.context ? <pre class="code wrapped" tabIndex={0}>{shown(data.context)}</pre> : !busy && <p class="muted">{data.context_silence}</p>}
        </section>
      )}
      {data && show !== "next" && (
        <>
          <p class="muted">{show === "forgotten"
            ? `${counted(data.forgotten, "observation")} that no answer shows. Restore brings one back; \`deltos memory purge\` removes them for good.`
            : `${counted(data.count, "observation")} of this project and personal ones.`}</p>
          <Redacted page={data} />
          <div class="memory-filters">
            {data.kinds.length > 1 && (
              <div class="chips" role="group" aria-label="kinds">
                {["", ...data.kinds].map((each) => <button type="button" class="chip" aria-pressed={each === kind} onClick={() => open({ kind: each })}>{each ? shown(each) : "all"}</button>)}
              </div>
            )}
            <label class="check">until <input type="date" value={until} onChange={(event) => open({ until: event.currentTarget.value })} /></label>
          </div>
          {rows.length === 0 && !busy && <Nothing show={show} narrowed={Boolean(kind || until)} />}
          <Timeline rows={rows} forgotten={show === "forgotten"} mayChange={mayChange} act={act} replacing={replacing} replace={setReplacing} />
          {data.more_before && <button type="button" disabled={busy} onClick={more}>Older</button>}
        </>
      )}
      {toast}
    </div>
  );
}

/** What was taken out before anything was kept: how often, by kind; there is nothing else to show. */
function Redacted({ page }: { page: MemoryPage }): VNode | null {
  const [last, setLast] = useState(page.redacted);
  useEffect(() => { if (page.redacted.length) setLast(page.redacted); }, [page]);
  if (!last.length) return <p class="muted">Secrets are redacted before anything is kept; so far there was none.</p>;
  return (
    <p class="muted redacted">
      Redacted before it was kept, by kind: {last.map((each) => <span class="tag">{shown(each.name)} × {each.value}</span>)} The texts themselves are nowhere.
    </p>
  );
}

function Nothing({ show, narrowed }: { show: string; narrowed: boolean }): VNode {
  if (narrowed) return <Empty title="None of these"><p>Another kind or a later day may have some.</p></Empty>;
  if (show === "forgotten") return <Empty title="Nothing was forgotten" />;
  return <Empty title="Nothing is remembered yet"><p>Agents keep decisions with <code>remember</code>; hooks keep what happens in their sessions.</p></Empty>;
}

interface TimelineProps {
  rows: Memo[];
  forgotten: boolean;
  mayChange: boolean;
  act: (wanted: string, memo: Memo, by?: string) => void;
  replacing: string;
  replace: (id: string) => void;
}

function Timeline({ rows, forgotten, mayChange, act, replacing, replace }: TimelineProps): VNode {
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
                {memo.redacted.length > 0 && <span class="tag" title="secrets that were taken out before it was kept">redacted: {memo.redacted.join(", ")}</span>}
                <span class="muted" title={moment(memo.created_at)}>{ago(memo.created_at)}</span>
                {memo.source && <span class="muted">from <Name text={memo.source} /></span>}
                {forgotten
                  ? <code class="muted memo-id">{memo.id}</code>
                  : <a class="memo-id" href={address("search", { id: memo.id, project: readPlace(location.hash).given["project"] })}><code>{memo.id}</code></a>}
              </div>
              <p class="memo-text">{shown(memo.text)}</p>
              {memo.files.length > 0 && <p class="muted path">{memo.files.slice(0, 6).map((file) => <code><Name text={file} /></code>)}{memo.files.length > 6 ? ` and ${memo.files.length - 6} more` : ""}</p>}
              {memo.superseded_by && <p class="muted">Superseded by <code>{memo.superseded_by}</code>, which answers in its place.</p>}
              {mayChange && forgotten && <div class="memo-tools"><button type="button" onClick={() => act("restore", memo)}>Restore</button></div>}
              {mayChange && !forgotten && (
                <div class="memo-tools">
                  {replacing && replacing !== memo.id
                    ? <button type="button" class="primary" onClick={() => { const old = rows.find((row) => row.id === replacing); if (old) act("supersede", old, memo.id); }}>This one replaces it</button>
                    : <>
                        {memo.superseded_by && <button type="button" onClick={() => act("restore", memo)}>Restore</button>}
                        {(memo.pinned || !memo.superseded_by) && <button type="button" onClick={() => act(memo.pinned ? "unpin" : "pin", memo)}>{memo.pinned ? "Unpin" : "Pin"}</button>}
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
