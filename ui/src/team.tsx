// Data that a team shares in a database: workspaces, workers, jobs and tokens.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { change } from "./api";
import { Empty, Heading, Problem, errorMessage, useToast, useView } from "./parts";
import { ago, count, moment, Name, shown } from "./text";
import type { PageState, Team, TeamJob, TeamToken, TeamWorker, TokenList } from "./types";

const SILENT_SECONDS = 30; // three heartbeats of ten seconds

export function TeamView({ state }: { given: Record<string, string>; state: PageState }): VNode {
  const canChange = state.level === "admin";
  const team = useView<Team>("team", {});
  const tokens = useView<TokenList>("tokens", {}, { skip: !canChange });
  const [problem, setProblem] = useState("");
  const [toast, say] = useToast();
  const act = async (wanted: string, job: TeamJob) => {
    setProblem("");
    try {
      say((await change("job", { change: wanted, id: `${job.id}` })).text);
      team.again();
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  return (
    <div class="page">
      <Heading title="Team"><button type="button" onClick={() => { team.again(); tokens.again(); }}>Refresh</button></Heading>
      <Problem text={team.error || problem} again={team.error ? team.again : undefined} />
      {!team.data && !team.error && <div class="skeleton" aria-busy="true" />}
      {team.data && (
        <>
          {team.data.database && <p class="muted path"><Name text={team.data.database} /></p>}
          <section>
            <h2>Workspaces</h2>
            {team.data.workspaces.length === 0
              ? <p class="muted">There are no workspaces that you may see. <code>deltos workspace add NAME FOLDER…</code> creates one.</p>
              : <ul class="failures">{team.data.workspaces.map((each) => <li><b><Name text={each.name} /></b> <span class="muted path">{each.projects.map((root) => <code><Name text={root} /></code>)}</span></li>)}</ul>}
          </section>
          {!team.data.sees_all && <p class="note">Workers and jobs are hidden because they name folders of all projects. They are shown with a token for all projects.</p>}
          {team.data.sees_all && <Workers workers={team.data.workers} />}
          {team.data.sees_all && <Queue team={team.data} canChange={canChange} act={act} />}
        </>
      )}
      {canChange && (
        <section>
          <h2>Tokens</h2>
          <Problem text={tokens.error} again={tokens.again} />
          {tokens.data && <Tokens tokens={tokens.data.tokens} />}
        </section>
      )}
      {toast}
    </div>
  );
}

function Workers({ workers }: { workers: TeamWorker[] }): VNode {
  return (
    <section>
      <h2>Workers</h2>
      {workers.length === 0
        ? <p class="muted">No worker is running. <code>deltos worker</code> starts one. With DELTOS_INDEXING=server, servers index projects themselves.</p>
        : <ul class="failures">{workers.map((each) => (
          <li>
            worker {each.id} <span class="muted">last heartbeat {count(Math.round(each.seconds_ago))} s ago{each.jobs.length ? `, running job ${each.jobs.join(", ")}` : ", idle"}</span>
            {each.seconds_ago > SILENT_SECONDS && <span class="tag bad">not responding: other workers take over</span>}
          </li>
        ))}</ul>}
    </section>
  );
}

function Queue({ team, canChange, act }: { team: Team; canChange: boolean; act: (wanted: string, job: TeamJob) => void }): VNode {
  if (!team.jobs.length) return <section><h2>Queue</h2><Empty title="No jobs" /></section>;
  return (
    <section>
      <h2>Queue</h2>
      {team.job_total > team.jobs.length && <p class="note">The first {count(team.jobs.length)} of {count(team.job_total)} jobs.</p>}
      <div class="scroll" tabIndex={0} role="region" aria-label="jobs">
        <table>
          <thead><tr><th class="right">job</th><th>subject</th><th>state</th><th class="right">failures</th><th>reason</th><th /></tr></thead>
          <tbody>{team.jobs.map((job) => (
            <tr>
              <td class="right">{job.id}</td><td>{shown(job.kind)} <code><Name text={job.subject} /></code></td>
              <td>{job.state === "set aside" ? <span class="tag bad">set aside</span> : shown(job.state)}</td>
              <td class="right">{job.failures ? count(job.failures) : ""}</td><td class="arguments">{shown(job.reason)}</td>
              <td>{canChange && job.state === "set aside" && <button type="button" onClick={() => act("retry", job)}>Retry</button>}
                {canChange && job.state !== "running" && <button type="button" onClick={() => act("drop", job)}>Drop</button>}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </section>
  );
}

function Tokens({ tokens }: { tokens: TeamToken[] }): VNode {
  if (!tokens.length) return <p class="muted">No tokens. <code>deltos token create NAME</code> creates one.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="tokens">
      <table>
        <thead><tr><th>name</th><th>scope</th><th>projects</th><th>created</th><th>expires</th><th>state</th></tr></thead>
        <tbody>{tokens.map((each) => (
          <tr class={each.state === "valid" ? "" : "failed"}>
            <td><Name text={each.name} /> <code class="muted">{each.id}</code></td><td>{shown(each.level)}</td>
            <td class="path">{each.projects.length ? each.projects.map((root) => <code><Name text={root} /></code>) : "all"}</td>
            <td title={moment(each.created_at)}>{ago(each.created_at)}</td><td>{each.expires_at ? moment(each.expires_at) : "never"}</td><td>{shown(each.state)}</td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}
