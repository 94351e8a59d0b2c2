// The graph of a project: modules as a treemap, files as a map, a symbol's neighbourhood and impact, cycles.
import Graph from "graphology";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import Sigma from "sigma";
import { DocumentPane } from "./document";
import { clusteredLayout } from "./layout";
import { Empty, Heading, Problem, useView } from "./parts";
import { Rings } from "./rings";
import { address, go } from "./route";
import { count, counted, Name } from "./text";
import { squarify, type Rectangle } from "./treemap";
import type { GraphNode, GraphPage, ModuleBox, ModulesPage, PageState } from "./types";

const MODES: [string, string][] = [["map", "Modules"], ["files", "Imports"], ["around", "Neighbourhood"], ["impact", "Impact"], ["cycles", "Cycles"]];
const MOST_DRAWN_AS_SVG = 400;

export function GraphView({ given }: { given: Record<string, string>; state: PageState }): VNode {
  const { symbol = "", project = "", id = "" } = given;
  const mode = given["mode"] || (symbol ? "around" : "map");
  const [tests, setTests] = useState(true);
  const [possible, setPossible] = useState(true);
  const ofSymbol = mode === "around" || mode === "impact";
  const modules = useView<ModulesPage>("modules", { project }, { skip: mode !== "map" && mode !== "cycles" });
  const graph = useView<GraphPage>("graph", { project, symbol: ofSymbol ? symbol : "", mode }, { skip: ofSymbol ? !symbol : mode !== "files" });
  const open = (values: Record<string, string>) => go(address("graph", { symbol, mode, project, ...values }));
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    const wanted = new FormData(event.currentTarget as HTMLFormElement).get("symbol");
    if (typeof wanted === "string") open({ symbol: wanted.trim(), mode: ofSymbol ? mode : "around", id: "" });
  };
  const page = useMemo(() => (graph.data ? filtered(graph.data, tests, possible) : undefined), [graph.data, tests, possible]);
  const error = ofSymbol && !symbol ? "" : graph.error || modules.error;
  return (
    <div class="page wide">
      <Heading title="Graph">
        <label class="check"><input type="checkbox" checked={tests} onChange={() => setTests(!tests)} /> tests</label>
        {ofSymbol && <label class="check"><input type="checkbox" checked={possible} onChange={() => setPossible(!possible)} /> possible uses</label>}
        {ofSymbol && page && <button type="button" onClick={exportSvg}>SVG</button>}
        {ofSymbol && page && <button type="button" onClick={exportPng}>PNG</button>}
      </Heading>
      <form class="graph-form" role="search" onSubmit={ask}>
        <input type="search" name="symbol" id="query" key={symbol} defaultValue={symbol} placeholder="A symbol: a name, a dotted name or FILE:LINE" aria-label="symbol" spellcheck={false} maxLength={500} />
        <button type="submit" class="primary">Draw</button>
      </form>
      <nav class="tabs" aria-label="kinds of graph">
        {MODES.map(([name, label]) => <a class="tab" href={address("graph", { symbol, mode: name, project })} aria-current={name === mode ? "page" : undefined}>{label}</a>)}
      </nav>
      <Problem text={error} />
      <div class={`graph-split ${id ? "has-document" : ""}`}>
        <div>
          {mode === "map" && modules.data && <Treemap page={modules.data} tests={tests} open={(path) => open({ symbol: path, mode: "around" })} />}
          {mode === "cycles" && modules.data && <Cycles page={modules.data} project={project} />}
          {ofSymbol && !symbol && <Empty title="Which symbol?"><p>Name one above, or open a file from the map of modules.</p></Empty>}
          {(mode === "files" || (ofSymbol && symbol)) && page && !error && <Drawing page={page} mode={mode} open={(node) => open({ id: `code:${node.id.includes("#") ? node.id : `${node.path}#L${node.line}-L${node.line + 40}`}` })} />}
        </div>
        {id && <div class="document-pane"><a class="back" href={address("graph", { symbol, mode, project })}>← graph</a><DocumentPane key={id} id={id} project={project} /></div>}
      </div>
    </div>
  );
}

function filtered(page: GraphPage, tests: boolean, possible: boolean): GraphPage {
  const edges = page.edges.filter((edge) => possible || edge.certain);
  const used = new Set([page.symbol, ...edges.flatMap((edge) => [edge.source, edge.target])]);
  const nodes = page.nodes.filter((node) => (tests || !node.is_test || node.ring === 0) && (possible || !page.symbol || used.has(node.id)));
  return { ...page, nodes, edges };
}

function Drawing({ page, mode, open }: { page: GraphPage; mode: string; open: (node: GraphNode) => void }): VNode {
  const left = page.left_out > 0 ? ` ${count(page.left_out)} more are not drawn.` : "";
  const others = page.others.length > 0 ? ` Others have this name too: ${page.others.slice(0, 3).join(", ")}.` : "";
  return (
    <div class="graph-area">
      {page.nodes.length <= MOST_DRAWN_AS_SVG && mode !== "files" ? <Rings page={page} mode={mode} open={open} /> : <Canvas page={page} open={open} />}
      <p class="graph-note">{counted(page.nodes.length, mode === "files" ? "file" : "symbol")}, {counted(page.edges.length, mode === "files" ? "import" : "reference")}.{left}{others}</p>
    </div>
  );
}

/** Many nodes, drawn by WebGL; a worker finds where they lie. */
function Canvas({ page, open }: { page: GraphPage; open: (node: GraphNode) => void }): VNode {
  const area = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState("");
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const follow = () => setTheme((before) => before + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", follow);
    addEventListener("deltos-theme", follow);
    return () => { system.removeEventListener("change", follow); removeEventListener("deltos-theme", follow); };
  }, []);
  useEffect(() => {
    let sigma: Sigma | undefined;
    let ended = false;
    const nodes = new Map(page.nodes.map((node) => [node.id, node]));
    layOut(page).then((positions) => {
      if (ended || !area.current) return;
      const style = getComputedStyle(document.documentElement);
      const colour = (name: string) => style.getPropertyValue(name).trim();
      const graph = new Graph({ multi: false, type: "directed" });
      const uses = new Map<string, number>();
      for (const edge of page.edges) uses.set(edge.target, (uses.get(edge.target) ?? 0) + 1);
      page.nodes.forEach((node, index) => graph.addNode(node.id, {
        x: positions[2 * index]!, y: -positions[2 * index + 1]!, label: node.label, size: Math.min(14, 2 + Math.sqrt(uses.get(node.id) ?? 0)),
        color: node.is_test ? colour("--soft") : colour("--accent"),
      }));
      for (const edge of page.edges) {
        if (graph.hasNode(edge.source) && graph.hasNode(edge.target)) graph.mergeEdge(edge.source, edge.target, { color: colour("--line"), size: 0.6 });
      }
      try {
        sigma = new Sigma(graph, area.current, { labelColor: { color: colour("--ink") }, labelFont: "system-ui, sans-serif", labelSize: 12, hideEdgesOnMove: page.edges.length > 5_000, labelRenderedSizeThreshold: 7 });
        sigma.on("clickNode", ({ node }) => { const found = nodes.get(node); if (found) open(found); });
        area.current.dataset["drawn"] = `${graph.order}`;
      } catch (error) {
        setProblem(`This browser cannot draw with WebGL (${String(error)})`);
      }
    }, (error: unknown) => setProblem(String(error)));
    return () => { ended = true; sigma?.kill(); };
  }, [page, theme]);
  return <>{problem && <Problem text={problem} />}<div class="sigma" ref={area} role="img" aria-label={`${counted(page.nodes.length, "node")} and ${counted(page.edges.length, "edge")}`} /></>;
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (text: string) => string }): { createScriptURL(text: string): string };
}
let worker: Worker | undefined;

function layOut(page: GraphPage): Promise<Float32Array> {
  const numbers = new Map(page.nodes.map((node, index) => [node.id, index]));
  const edges = page.edges.flatMap((edge): [number, number][] => {
    const [source, target] = [numbers.get(edge.source), numbers.get(edge.target)];
    return source === undefined || target === undefined ? [] : [[source, target]];
  });
  const request = { groups: page.nodes.map((node) => node.path.split("/").slice(0, -1).slice(0, 4).join("/")), edges };
  if (page.nodes.length < 200) return Promise.resolve(clusteredLayout(request));
  if (!worker) {
    const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
    const place = "/static/layout.js";
    const url = types ? types.createPolicy("deltos-worker", { createScriptURL: () => place }).createScriptURL(place) : place;
    worker = new Worker(url, { type: "module" });
  }
  const own = worker;
  return new Promise((resolve, reject) => {
    own.onmessage = (event: MessageEvent<Float32Array>) => resolve(event.data);
    own.onerror = (event) => reject(new Error(event.message));
    own.postMessage(request);
  });
}

const WIDTH = 1_200;
const HEIGHT = 720;
const HEAD = 18;

interface Box {
  rectangle: Rectangle;
  module: ModuleBox;
}

interface FolderBox {
  rectangle: Rectangle;
  name: string;
  boxes: Box[];
}

function folders(modules: ModuleBox[]): FolderBox[] {
  const groups = new Map<string, ModuleBox[]>();
  for (const module of modules) {
    const name = module.path.split("/").slice(0, -1).slice(0, 3).join("/") || ".";
    const group = groups.get(name);
    if (group) group.push(module);
    else groups.set(name, [module]);
  }
  const weight = (module: ModuleBox) => Math.max(200, module.size_bytes);
  const sized = [...groups].map(([name, inside]) => ({ name, inside, weight: inside.reduce((sum, each) => sum + weight(each), 0) }));
  sized.sort((a, b) => b.weight - a.weight || (a.name < b.name ? -1 : 1));
  const places = squarify(sized.map((each) => each.weight), { x: 0, y: 0, width: WIDTH, height: HEIGHT });
  return sized.map(({ name, inside }, index) => {
    const rectangle = places[index]!;
    const head = rectangle.height > 44 && rectangle.width > 40 ? HEAD : 2;
    const inner = { x: rectangle.x + 2, y: rectangle.y + head, width: Math.max(1, rectangle.width - 4), height: Math.max(1, rectangle.height - head - 2) };
    const ordered = [...inside].sort((a, b) => weight(b) - weight(a) || (a.path < b.path ? -1 : 1));
    const boxes = squarify(ordered.map(weight), inner).map((each, at) => ({ rectangle: each, module: ordered[at]! }));
    return { rectangle, name, boxes };
  });
}

function fitting(text: string, width: number): string {
  const most = Math.floor(width / 6.4);
  if (text.length <= most) return text;
  return most < 4 ? "" : `${text.slice(0, most - 1)}…`;
}

function Treemap({ page, tests, open }: { page: ModulesPage; tests: boolean; open: (path: string) => void }): VNode {
  const every = useMemo(() => folders(page.modules.filter((each) => tests || !each.is_test)), [page, tests]);
  if (!page.modules.length) return <Empty title="No file is indexed yet" />;
  const most = Math.max(1, ...page.modules.map((each) => each.imported_by));
  return (
    <div class="graph-area">
      <svg id="drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="group" aria-label="modules by size; those of a stronger colour are imported by more files">
        {every.map(({ rectangle, name, boxes }) => (
          <g>
            <rect class="folder" {...rectangle} />
            {rectangle.height > 44 && <text class="folder-label" x={rectangle.x + 6} y={rectangle.y + 13}>{fitting(name, rectangle.width - 8)}</text>}
            {boxes.map(({ rectangle: own, module }) => (
              <g role="button" tabIndex={own.width * own.height > 900 ? 0 : -1} onClick={() => open(module.path)} onKeyDown={(event) => { if (event.key === "Enter") open(module.path); }}>
                <title>{`${module.path}\nimported by ${counted(module.imported_by, "file")}`}</title>
                <rect class={`box shade-${Math.min(4, Math.floor((5 * Math.log1p(module.imported_by)) / Math.log1p(most)))} ${module.is_test ? "test" : ""}`} {...own} />
                {own.height > 17 && own.width > 34 && <text class="box-label" x={own.x + 5} y={own.y + 14}>{fitting(module.path.split("/").at(-1) ?? "", own.width - 8)}</text>}
              </g>
            ))}
          </g>
        ))}
      </svg>
      <p class="graph-note">{counted(page.total, "file")} by size; stronger colour: imported by more files.{page.total > page.modules.length ? ` ${count(page.modules.length)} are drawn.` : ""}</p>
    </div>
  );
}

function Cycles({ page, project }: { page: ModulesPage; project: string }): VNode {
  if (!page.cycles.length) return <Empty title="No circular imports" />;
  return (
    <ul class="cards">
      {page.cycles.map((cycle) => (
        <li class="card">
          <div class="card-head"><h2>{counted(cycle.files.length, "file")}</h2><span class="tag">{cycle.mode === "runtime" ? "at run time" : `${cycle.mode} imports`}</span></div>
          <ol class="cycle-path">{[...cycle.path, cycle.path[0] ?? ""].map((path) => <li><a href={address("graph", { symbol: path, mode: "around", project })}><Name text={path} /></a></li>)}</ol>
        </li>
      ))}
    </ul>
  );
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font", "text-decoration", "paint-order"];

/** The drawing with the colours it has now, so that it looks the same anywhere. */
function standalone(): { text: string; width: number; height: number } | undefined {
  const drawing = document.getElementById("drawing");
  if (!(drawing instanceof SVGSVGElement)) return undefined;
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const from = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(from[index]!);
    for (const name of STYLES) if (element.tagName !== "g" && element !== copy) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  const box = drawing.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", `${box.width}`);
  copy.setAttribute("height", `${box.height}`);
  return { text: new XMLSerializer().serializeToString(copy), width: box.width, height: box.height };
}

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function exportSvg(): void {
  const drawn = standalone();
  if (drawn) save(new Blob([drawn.text], { type: "image/svg+xml" }), "graph.svg");
}

function exportPng(): void {
  const drawn = standalone();
  if (!drawn) return;
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * drawn.width;
    canvas.height = 2 * drawn.height;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--raised");
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => { if (blob) save(blob, "graph.png"); });
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn.text)}`;
}
