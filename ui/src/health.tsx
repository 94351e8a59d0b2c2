// State of the indexed projects, and the last tool calls.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Empty, Heading, Problem, useView } from "./parts";
import { address } from "./route";
import { ago, count, counted, moment, Name, shown, size } from "./text";
import type { RecentCalls, PageState, ProjectHealth, ToolCall } from "./types";

export function HealthView({ given, state, reload }: { given: Record<string, string>; state: PageState; reload: () => void }): VNode {
  const { project = "" } = given;
  const health = useView<ProjectHealth>("health", { project });
  const calls = useView<RecentCalls>("calls", {});
  return (
    <div class="page">
      <Heading title="Health"><button type="button" onClick={() => { health.again(); calls.again(); reload(); }}>Refresh</button></Heading>
      <Problem text={health.error} again={health.again} />
      {health.data && <ProjectCard health={health.data} />}
      {state.projects.length > 1 && (
        <section>
          <h2>All projects</h2>
          <div class="scroll" tabIndex={0} role="region" aria-label="projects">
            <table>
              <thead><tr><th>project</th><th class="right">files</th><th class="right">index</th><th>last change indexed</th><th class="right">failed</th></tr></thead>
              <tbody>
                {state.projects.map((each) => (
                  <tr>
                    <td><a href={address("health", { project: each.id })}><Name text={each.name} /></a> <span class="muted path"><Name text={each.root} /></span>{!each.exists && " (folder not found)"}</td>
                    <td class="right">{count(each.files)}</td><td class="right">{size(each.size_bytes)}</td>
                    <td title={moment(each.synced_at)}>{ago(each.synced_at)}</td><td class="right">{count(each.failure_count)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
      <section>
        <h2>Last tool calls</h2>
        <Problem text={calls.error} again={calls.again} />
        {calls.data && <Calls log={calls.data} />}
      </section>
    </div>
  );
}

function Figure({ value, label }: { value: string; label: string }): VNode {
  return <div class="figure"><b>{value}</b><span>{label}</span></div>;
}

function ProjectCard({ health }: { health: ProjectHealth }): VNode {
  const { project, languages } = health;
  const most = Math.max(1, ...languages.map((each) => each.files));
  return (
    <section class="card">
      <h2><Name text={project.name} /> <span class="muted path"><Name text={project.root} /></span></h2>
      <div class="figures">
        <Figure value={count(project.files)} label="files" />
        <Figure value={count(health.lines)} label="lines" />
        <Figure value={count(health.symbols)} label="symbols" />
        <Figure value={count(health.edges)} label={`references resolved, ${count(health.possible_edges)} more possible`} />
        <Figure value={size(project.size_bytes)} label="index on disk" />
        <Figure value={ago(project.synced_at)} label="last change indexed" />
      </div>
      {health.notes.map((note) => <p class="note">{shown(note)}</p>)}
      {project.history && <p class="muted">History: {shown(project.history)}</p>}
      <h3>Languages</h3>
      <ul class="bars">
        {languages.slice(0, 12).map((each) => (
          <li>
            <span class="bar-name">{shown(each.language)}</span>
            <meter min={0} max={most} value={each.files} aria-label={`${each.language}: ${counted(each.files, "file")}`} />
            <span class="bar-value">{counted(each.files, "file")}{each.is_resolved ? ", resolved" : ""}</span>
          </li>
        ))}
      </ul>
      <h3>Unreadable files</h3>
      {project.failure_count > project.failures.length && <p class="note">The first {count(project.failures.length)} of {counted(project.failure_count, "file")}.</p>}
      {project.failures.length === 0 ? <p class="muted">Every file was read.</p> : (
        <ul class="failures">{project.failures.map((each) => <li><code><Name text={each.path} /></code> <span class="muted">{shown(each.reason)}</span></li>)}</ul>
      )}
      {health.skipped.length > 0 && <p class="muted">Skipped: {health.skipped.map((each) => `${each.name} (${each.value})`).join(", ")}.</p>}
    </section>
  );
}

function Calls({ log }: { log: RecentCalls }): VNode {
  const [shownRows, setShownRows] = useState(50);
  if (!log.kept) return <p class="muted">The call log is off because DELTOS_CALL_LOG is 0.</p>;
  if (!log.calls.length) return <Empty title="No call yet"><p>Calls of agents are listed here with their duration and size.</p></Empty>;
  const tokens = log.calls.reduce((sum, each) => sum + each.tokens, 0);
  const cut = log.calls.reduce((sum, each) => sum + each.original_tokens - each.tokens, 0);
  return (
    <>
      <p class="muted">
        {counted(log.calls.length, "call")} (the last {count(log.most)} are kept): {count(tokens)} tokens answered, about {count(cut)} tokens saved.
        Both numbers are estimates with four characters per token. Saved tokens are those removed by truncation. Arguments are redacted.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="calls">
        <table class="calls">
          <thead><tr><th>when</th><th>tool</th><th>client</th><th class="right">ms</th><th class="right">tokens</th><th class="right">truncated</th><th>arguments</th></tr></thead>
          <tbody>{log.calls.slice(0, shownRows).map((call) => <CallRow call={call} />)}</tbody>
        </table>
      </div>
      {log.calls.length > shownRows && <button type="button" onClick={() => setShownRows(shownRows + 200)}>More</button>}
    </>
  );
}

function CallRow({ call }: { call: ToolCall }): VNode {
  const cut = call.original_tokens - call.tokens;
  return (
    <tr class={call.is_error ? "failed" : ""}>
      <td title={moment(call.at)}>{ago(call.at)}</td>
      <td><code><Name text={call.tool} /></code>{call.is_error && <span class="tag bad">error</span>}</td>
      <td><Name text={call.client || "–"} /></td>
      <td class="right">{count(Math.round(call.milliseconds))}</td><td class="right">{count(call.tokens)}</td><td class="right">{cut > 0 ? count(cut) : ""}</td>
      <td class="arguments"><code>{shown(call.arguments)}</code></td>
    </tr>
  );
}
