// The full text of an id: code, documentation, an operation, an observation or a commit.
import type { VNode } from "preact";
import { Code, languageOf } from "./code";
import { editorLink } from "./editor";
import { Markdown } from "./markdown";
import { AgentText, Problem, Switch, useView } from "./parts";
import { address, go, usePlace } from "./route";
import { Name, shown, WebLink } from "./text";
import { isOn } from "./toolsets";
import type { FetchedText } from "./types";

const HIDDEN_FACTS = new Set(["note", "path", "start_line", "end_line", "project_id"]);

export function DocumentPane({ id, project }: { id: string; project: string }): VNode {
  const { data, error, busy, again } = useView<FetchedText>("fetch", { id, project });
  const place = usePlace();
  const forAgent = place.given["text"] === "agent";
  const flip = () => go(address(place.view, { ...place.given, text: forAgent ? "" : "agent" }), true);
  if (error) return <article class="document"><Problem text={error} again={again} /></article>;
  if (!data || data.id !== id && busy) return <article class="document" aria-busy="true"><div class="skeleton" /></article>;
  const symbol = data.kind === "code" ? id.replace(/^code:/, "").split("#")[1] ?? "" : "";
  return (
    <article class="document" aria-label={data.title} data-id={data.id}>
      <header>
        <h2><Name text={data.title} /></h2>
        <div class="document-tools">
          {data.file && <a class="button" href={editorLink(data.file, data.line)}>Open in editor</a>}
          {symbol && isOn("graph") && <a class="button" href={address("graph", { symbol: `${data.path}:${data.line}`, project })}>Graph</a>}
          <Switch label="agent view" on={forAgent} flip={flip} />
        </div>
        <Facts document={data} />
      </header>
      {forAgent ? <AgentText text={data.agent_text} tokens={data.tokens} /> : <Body document={data} />}
    </article>
  );
}

function Facts({ document }: { document: FetchedText }): VNode {
  const facts = document.facts.filter((fact) => !HIDDEN_FACTS.has(fact.name));
  return (
    <dl class="facts">
      {document.kind !== "code" && document.url && <div><dt>from</dt><dd><WebLink to={document.url} /></dd></div>}
      {facts.map((fact) => <div><dt>{shown(fact.name.replaceAll("_", " "))}</dt><dd>{shown(fact.value)}</dd></div>)}
    </dl>
  );
}

function Body({ document }: { document: FetchedText }): VNode {
  const { text, kind, path, line, file } = document;
  if (kind === "code") return <Code text={text} language={languageOf(path)} firstLine={line} link={(at) => editorLink(file, at)} />;
  if (kind === "commit") {
    const [message = "", ...rest] = text.split("\n--- diff ---\n");
    return (
      <>
        <pre class="code wrapped plain" tabIndex={0}>{shown(message)}</pre>
        {rest.length > 0 && <Code text={rest.join("\n--- diff ---\n")} language="diff" />}
      </>
    );
  }
  if (kind === "api") return <Operation text={text} />;
  return <Markdown text={text} />;
}

const EXAMPLE = "\nExample:\n";

/** An operation or a schema. A schema has indented fields; the example can be copied. */
function Operation({ text }: { text: string }): VNode {
  const at = text.lastIndexOf(EXAMPLE);
  const described = at < 0 ? text : text.slice(0, at);
  const isSchema = /^\S.*: .*\n {2}\S/.test(described);
  return (
    <>
      {isSchema ? <Code text={described} language="" /> : <Markdown text={described} />}
      {at >= 0 && <><h3>Example</h3><Code text={text.slice(at + EXAMPLE.length).trim()} language="bash" /></>}
    </>
  );
}
