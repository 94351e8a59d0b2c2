// Memory: the timeline, forgotten observations, the context of the next session, and edits.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change } from "./api";
import { Empty, Heading, Problem, errorMessage, useToast, useView } from "./parts";
import { address, go, readPlace } from "./route";
import { ago, count, counted, moment, Name, shown } from "./text";
import type { Memo, MemoryPage, PageState } from "./types";

const SHOWN: [string, string][] = [["", "Timeline"], ["forgotten", "Forgotten"], ["next", "Next session"]];

export function MemoryView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { project = "", show = "", kind = "", until = "" } = given;
  const start = until ? `${Date.parse(`${until}T23:59:59.999`) * 1_000}` : "";
  const asked = JSON.stringify([project, show, kind, until]);
  const [older, setOlder] = useState<{ asked: string; rows: Memo[]; before: string }>({ asked, rows: [], before: "" });
  const earlier = older.asked === asked ? older : { asked, rows: [], before: "" };
  const [replacing, setReplacing] = useState("");
  const [problem, setProblem] = useState("");
  const { data: answer, error, busy, again } = useView<MemoryPage>("memory", { project, show, kind, before: earlier.before || start });
  const data = answer?.show === show ? answer : undefined; // ignore the previous answer for another tab
  const [toast, say] = useToast();
  useEffect(() => setReplacing(""), [asked]);
  const canChange = state.level === "admin";
  const open = (values: Record<string, string>) => go(address("memory", { project, show, kind, until, ...values }));

  const act = async (wanted: string, memo: Memo, by = "") => {
    setProblem("");
    try {
      const done = await change("memory", { change: wanted, id: memo.id, by, project });
      say(done.text, wanted === "forget" ? () => void act("restore", memo) : undefined);
      setReplacing("");
      setOlder({ asked, rows: [], before: "" }); // loaded rows may have changed too
      again();
    } catch (failed) {
      setProblem(errorMessage(failed));
    }
  };
  const more = () => { if (data) setOlder({ asked, rows: [...earlier.rows, ...data.memos], before: data.more_before }); };

  const rows = [...earlier.rows, ...(data?.memos ?? []).filter((memo) => earlier.rows.every((row) => row.id !== memo.id))];
  return (
    <div class="page">
      <Heading title="Memory" />
      <nav class="tabs" aria-label="parts of memory">
        {SHOWN.map(([name, label]) => (
          <a class="tab" href={address("memory", { project, show: name })} aria-current={name === show ? "page" : undefined}>{label}{name === "forgotten" && data ? ` (${count(data.hidden_count)})` : ""}</a>
        ))}
      </nav>
      <Problem text={error || problem} again={error ? again : undefined} />
      {!data && !error && <div class="skeleton" aria-busy="true" />}
      {data && show === "next" && (
        <section class="agent-text">
          <p class="hint">The exact context that a session of this project receives at its start: about {count(data.context_tokens)} tokens (characters / 4).</p>
          {data.context ? <pre class="code wrapped" tabIndex={0}>{shown(data.context)}</pre> : !busy && <p class="muted">{data.context_silence}</p>}
        </section>
      )}
      {data && show !== "next" && (
        <>
          <p class="muted">{show === "forgotten"
            ? `${counted(data.hidden_count, "observation")} hidden from answers. \`deltos memory purge\` deletes them permanently.`
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
          <Timeline rows={rows} forgotten={show === "forgotten"} canChange={canChange} act={act} replacing={replacing} replace={setReplacing} />
          {data.more_before && <button type="button" disabled={busy} onClick={more}>Older</button>}
        </>
      )}
      {toast}
    </div>
  );
}

/** Number of redacted secrets by kind; their texts are not stored. */
function Redacted({ page }: { page: MemoryPage }): VNode | null {
  const [last, setLast] = useState(page.redacted);
  useEffect(() => { if (page.redacted.length) setLast(page.redacted); }, [page]);
  if (!last.length) return <p class="muted">Secrets are redacted before storage. None has been found so far.</p>;
  return (
    <p class="muted redacted">
      Redacted before storage, by kind: {last.map((each) => <span class="tag">{shown(each.name)} × {each.value}</span>)} The redacted texts are not stored.
    </p>
  );
}

function Nothing({ show, narrowed }: { show: string; narrowed: boolean }): VNode {
  if (narrowed) return <Empty title="No matching observations"><p>Choose another kind or a later day.</p></Empty>;
  if (show === "forgotten") return <Empty title="No forgotten observations" />;
  return <Empty title="No observations yet"><p>Agents store decisions with <code>remember</code>; hooks record events of their sessions.</p></Empty>;
}

interface TimelineProps {
  rows: Memo[];
  forgotten: boolean;
  canChange: boolean;
  act: (wanted: string, memo: Memo, by?: string) => void;
  replacing: string;
  replace: (id: string) => void;
}

function Timeline({ rows, forgotten, canChange, act, replacing, replace }: TimelineProps): VNode {
  let session: string | undefined;
  return (
    <ol class="timeline">
      {rows.map((memo) => {
        const begins = memo.session !== session;
        session = memo.session;
        return (
          <>
            {begins && <li class="session-mark"><span>{memo.session ? <>session <code><Name text={memo.session} /></code></> : "no session"}</span></li>}
            <li class={`memo ${memo.superseded_by ? "superseded" : ""}`} data-id={memo.id}>
              <div class="memo-head">
                <span class={`tag kind-name-${memo.kind}`}>{shown(memo.kind)}</span>
                {memo.pinned && <span class="tag pin">pinned</span>}
                {memo.changed && <span class="tag bad">code has changed</span>}
                {memo.redacted.length > 0 && <span class="tag" title="secrets that were redacted before storage">redacted: {memo.redacted.join(", ")}</span>}
                <span class="muted" title={moment(memo.created_at)}>{ago(memo.created_at)}</span>
                {memo.source && <span class="muted">from <Name text={memo.source} /></span>}
                {forgotten
                  ? <code class="muted memo-id">{memo.id}</code>
                  : <a class="memo-id" href={address("search", { id: memo.id, project: readPlace(location.hash).given["project"] })}><code>{memo.id}</code></a>}
              </div>
              <p class="memo-text">{shown(memo.text)}</p>
              {memo.files.length > 0 && <p class="muted path">{memo.files.slice(0, 6).map((file) => <code><Name text={file} /></code>)}{memo.files.length > 6 ? ` and ${memo.files.length - 6} more` : ""}</p>}
              {memo.superseded_by && <p class="muted">Superseded by <code>{memo.superseded_by}</code>.</p>}
              {canChange && forgotten && <div class="memo-tools"><button type="button" onClick={() => act("restore", memo)}>Restore</button></div>}
              {canChange && !forgotten && (
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
