// The code graph of a project: module treemap, import and symbol maps, neighbourhood and impact of a symbol, cycles.
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Canvas } from "./canvas";
import { DocumentPane } from "./document";
import { Cycles, visibleCycles, Treemap } from "./modules";
import { Empty, Heading, Problem, useView } from "./parts";
import { savePng, saveSvg } from "./picture";
import { Rings } from "./rings";
import { address, go } from "./route";
import { codeId } from "./spot";
import { count, counted, shown, visible } from "./text";
import type { GraphNode, GraphPage, ModulesPage, PageState, SymbolMap } from "./types";

const MODES: [string, string][] = [["map", "Modules"], ["files", "Imports"], ["symbols", "Symbols"], ["around", "Neighbourhood"], ["impact", "Impact"], ["cycles", "Cycles"]];
const MAX_SVG_NODES = 400;

/** Filters of a drawing. They are part of the address, so a link shows the same drawing. */
interface Filters {
  tests: boolean;
  possible: boolean;
  kind: string; // of symbols; empty for all
  use: string; // kind of reference or import; empty for all
}

export function GraphView({ given, state }: { given: Record<string, string>; state: PageState }): VNode {
  const { symbol = "", project = "", id = "", kind = "", use = "" } = given;
  const mode = given["mode"] || (symbol ? "around" : "map");
  const [tests, possible] = [given["tests"] !== "no", given["possible"] !== "no"];
  const ofSymbol = mode === "around" || mode === "impact";
  const modules = useView<ModulesPage>("modules", { project }, { skip: mode !== "map" && mode !== "cycles" });
  const near = useView<GraphPage>("graph", { project, symbol: ofSymbol ? symbol : "", mode }, { skip: ofSymbol ? !symbol : mode !== "files" });
  const every = useView<SymbolMap>("symbols", { project }, { skip: mode !== "symbols" });
  const open = (values: Record<string, string>) => go(address("graph", { ...given, symbol, mode, ...values }));
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    const wanted = new FormData(event.currentTarget as HTMLFormElement).get("symbol");
    if (typeof wanted === "string") open({ symbol: wanted.trim(), mode: ofSymbol ? mode : "around", id: "" });
  };
  const whole = useMemo(() => (every.data ? expandSymbolMap(every.data) : near.data), [every.data, near.data]);
  const page = useMemo(() => (whole ? filtered(whole, { tests, possible, kind, use }) : undefined), [whole, tests, possible, kind, use]);
  const loaded = [modules, near, every].find((each) => each.busy || each.error || each.data);
  const error = ofSymbol && !symbol ? "" : near.error || modules.error || every.error;
  const isDrawn = (mode === "files" || mode === "symbols" || (ofSymbol && symbol !== "")) && page !== undefined && !error;
  const canSave = isDrawn || (modules.data && (mode === "map" || (mode === "cycles" && visibleCycles(modules.data, tests).length > 0)));
  return (
    <div class="page wide">
      <Heading title="Graph">
        <Repository state={state} chosen={project} choose={(wanted) => open({ project: wanted, id: "" })} />
        <label class="check"><input type="checkbox" checked={tests} onChange={() => open({ tests: tests ? "no" : "" })} /> tests</label>
        {(ofSymbol || mode === "symbols") && <label class="check"><input type="checkbox" checked={possible} onChange={() => open({ possible: possible ? "no" : "" })} /> possible uses</label>}
        {isDrawn && whole && <Choice label="kind" all="all kinds" values={whole.nodes.map((node) => node.kind)} chosen={kind} choose={(wanted) => open({ kind: wanted })} />}
        {isDrawn && whole && <Choice label="use" all="all uses" values={whole.edges.map((edge) => edge.kind)} chosen={use} choose={(wanted) => open({ use: wanted })} />}
        {canSave && <><button type="button" onClick={saveSvg}>SVG</button><button type="button" onClick={savePng}>PNG</button></>}
      </Heading>
      <form class="graph-form" role="search" onSubmit={ask}>
        <input type="search" name="symbol" id="query" key={symbol} defaultValue={symbol} placeholder="A symbol: a name, a dotted name or FILE:LINE" aria-label="symbol" spellcheck={false} maxLength={500} />
        <button type="submit" class="primary">Draw</button>
      </form>
      <nav class="tabs" aria-label="kinds of graph">
        {MODES.map(([name, label]) => <a class="tab" href={address("graph", { symbol, mode: name, project, tests: given["tests"], possible: given["possible"] })} aria-current={name === mode ? "page" : undefined}>{label}</a>)}
      </nav>
      <Problem text={error} link={(name) => address("graph", { ...given, symbol: name, id: "" })} />
      {(modules.data ?? whole)?.notes.map((note) => <p class="note">{shown(note)}</p>)}
      <div class={`graph-split ${id ? "has-document" : ""}`}>
        <div>
          {!error && loaded?.busy && !loaded.data && <div class="graph-area" aria-busy="true"><div class="skeleton" /></div>}
          {mode === "map" && modules.data && <Treemap page={modules.data} tests={tests} open={(path) => open({ symbol: path, mode: "around" })} />}
          {mode === "cycles" && modules.data && <Cycles page={modules.data} tests={tests} project={project} />}
          {ofSymbol && !symbol && <Empty title="Which symbol?"><p>Enter a name above, or open a file in the module map.</p></Empty>}
          {isDrawn && <Drawing page={page} mode={mode} open={(node) => open({ id: codeId(node, project) })} />}
        </div>
        {id && <div class="document-pane"><a class="back" href={address("graph", { ...given, id: "" })}>← graph</a><DocumentPane key={id} id={id} project={project} /></div>}
      </div>
    </div>
  );
}

/** Selects the project if several are indexed. */
function Repository({ state, chosen, choose }: { state: PageState; chosen: string; choose: (project: string) => void }): VNode | null {
  const others = state.projects.filter((each) => each.id !== state.project.id && each.exists);
  if (!others.length) return null;
  return (
    <select aria-label="repository" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">{visible(state.project.name)}</option>
      {others.map((each) => <option value={each.id}>{visible(each.name)}</option>)}
    </select>
  );
}

/** Selects one value or all; hidden if there is no choice. */
function Choice(props: { label: string; all: string; values: string[]; chosen: string; choose: (value: string) => void }): VNode | null {
  const values = useMemo(() => [...new Set(props.values)].sort(), [props.values.length, props.values[0]]);
  if (values.length < 2 && !props.chosen) return null;
  return (
    <select aria-label={props.label} value={props.chosen} onChange={(event) => props.choose(event.currentTarget.value)}>
      <option value="">{props.all}</option>
      {values.map((each) => <option value={each}>{each}</option>)}
    </select>
  );
}

function filtered(page: GraphPage, { tests, possible, kind, use }: Filters): GraphPage {
  if (tests && possible && !kind && !use) return page;
  const isMiddle = (node: GraphNode) => page.symbol !== "" && node.ring === 0;
  const fits = page.nodes.filter((node) => isMiddle(node) || ((tests || !node.is_test) && (!kind || node.kind === kind)));
  const kept = new Set(fits.map((node) => node.id));
  const passes = page.edges.filter((edge) => (possible || edge.certain) && (!use || edge.kind === use));
  const used = new Set(passes.flatMap((edge) => [edge.source, edge.target]));
  const linked = new Set(page.edges.flatMap((edge) => [edge.source, edge.target]));
  // A node whose references are all filtered out is hidden too; a node without any references stays.
  const nodes = fits.filter((node) => isMiddle(node) || used.has(node.id) || !linked.has(node.id));
  return { ...page, nodes, edges: passes.filter((edge) => kept.has(edge.source) && kept.has(edge.target)) };
}

/** Convert the columns of a symbol map to nodes and edges. */
function expandSymbolMap(map: SymbolMap): GraphPage {
  const nodes = map.keys.map((key, index): GraphNode => {
    const file = map.files[index]!;
    const path = map.paths[file]!;
    return { id: key ? `${path}#${key}` : path, label: map.labels[index]!, kind: map.names[map.kinds[index]!]!, path, line: map.lines[index]!, ring: 0, is_test: map.is_test[file]!, x: 0, y: 0 };
  });
  const edges = map.sources.map((source, index) => ({
    source: nodes[source]!.id, target: nodes[map.targets[index]!]!.id, kind: map.names[map.link_kinds[index]!]!, certain: map.certain[index]!,
  }));
  return { symbol: "", nodes, edges, left_out: map.left_out, others: [], rings: [], is_partial: map.is_partial, notes: map.notes };
}

function Drawing({ page, mode, open }: { page: GraphPage; mode: string; open: (node: GraphNode) => void }): VNode {
  const left = page.left_out > 0 ? ` ${count(page.left_out)} more not shown.` : "";
  const others = page.others.length > 0 ? ` Other definitions with this name: ${page.others.slice(0, 3).map(visible).join(", ")}.` : "";
  const isSvg = page.nodes.length <= MAX_SVG_NODES && page.symbol !== "";
  return (
    <>
      <div class="graph-area">
        {isSvg ? <Rings page={page} mode={mode} open={open} /> : <Canvas page={page} open={open} />}
      </div>
      <p class="graph-note">{counted(page.nodes.length, mode === "files" ? "file" : "symbol")}, {counted(page.edges.length, mode === "files" ? "import" : "reference")}.{left}{others}{page.is_partial ? " Some references are missing because there are too many." : ""}</p>
    </>
  );
}
