// Draws large graphs with WebGL; a worker computes the layout.
import Graph from "graphology";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import Sigma from "sigma";
import type { Settings } from "sigma/settings";
import { clusteredLayout, numberedEdges } from "./layout";
import { layOutInWorker } from "./layouts";
import { Problem } from "./parts";
import { setCurrentDrawing, sizes, type Colours } from "./picture";
import { counted, Name, visible } from "./text";
import type { GraphNode, GraphPage } from "./types";

const MIN_HIDDEN_EDGES = 5_000; // from this number on, edges are hidden while the map moves
const MAX_FOUND = 8;

type Attributes = Record<string, unknown>;

export function Canvas({ page, open }: { page: GraphPage; open: (node: GraphNode) => void }): VNode {
  const area = useRef<HTMLDivElement>(null);
  const drawn = useRef<Sigma | undefined>(undefined);
  const opens = useRef(open);
  opens.current = open;
  const [problem, setProblem] = useState("");
  const theme = useTheme();
  useEffect(() => {
    let ended = false;
    const edges = numberedEdges(page);
    layOut(page, edges).then((positions) => {
      if (ended || !area.current) return;
      try {
        const colours = currentColours();
        const sized = sizes(page.nodes.length, edges);
        const graph = graphOf(page, edges, positions, sized, colours);
        const sigma = new Sigma(graph, area.current, settings(page, colours));
        sigma.on("clickNode", ({ node }) => { const found = page.nodes[Number(node)]; if (found) opens.current(found); });
        drawn.current = sigma;
        setCurrentDrawing({ nodes: page.nodes, edges, positions, sized, colours });
        area.current.dataset["drawn"] = `${graph.order}`;
        performance.mark("graph-drawn");
      } catch (error) {
        setProblem(`This browser cannot draw with WebGL (${String(error)})`);
      }
    }, (error: unknown) => setProblem(String(error)));
    return () => { ended = true; setCurrentDrawing(undefined); drawn.current?.kill(); drawn.current = undefined; };
  }, [page, theme]);
  const zoom = (factor: number) => {
    const camera = drawn.current?.getCamera();
    if (camera) void camera.animate({ ratio: camera.ratio * factor }, { duration: 120 });
  };
  const goTo = (node: GraphNode) => {
    const spot = drawn.current?.getNodeDisplayData(`${page.nodes.indexOf(node)}`);
    if (spot) void drawn.current?.getCamera().animate({ x: spot.x, y: spot.y, ratio: 0.15 }, { duration: 200 });
    open(node);
  };
  return (
    <>
      {problem && <Problem text={problem} />}
      <div class="sigma" ref={area} role="img" aria-label={`${counted(page.nodes.length, "node")} and ${counted(page.edges.length, "edge")}`} />
      <Finder nodes={page.nodes} choose={goTo} />
      <div class="zoom">
        <button type="button" aria-label="zoom in" onClick={() => zoom(0.6)}>+</button>
        <button type="button" aria-label="zoom out" onClick={() => zoom(1.7)}>−</button>
        <button type="button" aria-label="fit to window" onClick={() => void drawn.current?.getCamera().animatedReset({ duration: 120 })}>⤢</button>
      </div>
    </>
  );
}

/** Finds a node by a part of its name; also usable without a pointer. */
function Finder({ nodes, choose }: { nodes: GraphNode[]; choose: (node: GraphNode) => void }): VNode {
  const [typed, setTyped] = useState("");
  const found = useMemo(() => {
    const wanted = typed.trim().toLowerCase();
    if (!wanted) return [];
    const fits = nodes.filter((node) => node.label.toLowerCase().includes(wanted) || node.path.toLowerCase().includes(wanted));
    return fits.sort((a, b) => a.label.length - b.label.length).slice(0, MAX_FOUND);
  }, [nodes, typed]);
  return (
    <div class="finder">
      <input type="search" aria-label="find in the drawing" placeholder="Find in the drawing" value={typed} spellcheck={false} maxLength={200} onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => { if (event.key === "Enter" && found[0]) choose(found[0]); }} />
      {found.length > 0 && (
        <ul>{found.map((node) => <li><button type="button" onClick={() => choose(node)}><Name text={node.label} /> <span class="muted path"><Name text={`${node.path}:${node.line}`} /></span></button></li>)}</ul>
      )}
    </div>
  );
}

/** Return a number that changes with the theme. */
function useTheme(): number {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const follow = () => setTheme((before) => before + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", follow);
    addEventListener("deltos-theme", follow);
    return () => { system.removeEventListener("change", follow); removeEventListener("deltos-theme", follow); };
  }, []);
  return theme;
}

function currentColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return { node: colour("--accent"), test: colour("--soft"), edge: colour("--line"), text: colour("--ink"), ground: colour("--raised") };
}

/** Convert the graph to sigma's form. Nodes have numbers as keys: with long names it takes twice as long. */
function graphOf(page: GraphPage, edges: Int32Array, positions: Float32Array, sized: Float32Array, colours: Colours): Graph {
  const graph = new Graph({ multi: false, type: "directed" });
  page.nodes.forEach((node, index) => graph.addNode(index, {
    x: positions[2 * index]!, y: -positions[2 * index + 1]!, label: visible(node.label), size: sized[index]!, color: node.is_test ? colours.test : colours.node,
  }));
  for (let index = 0; index < edges.length; index += 2) graph.mergeEdge(edges[index], edges[index + 1], { color: colours.edge, size: 0.6 });
  return graph;
}

function settings(page: GraphPage, colours: Colours): Partial<Settings<Attributes, Attributes, Attributes>> {
  return {
    allowInvalidContainer: true, // another view may replace this one before the next frame
    labelColor: { color: colours.text }, labelFont: "system-ui, sans-serif", labelSize: 12, labelRenderedSizeThreshold: 7,
    hideEdgesOnMove: page.edges.length > MIN_HIDDEN_EDGES,
    defaultDrawNodeHover: (context, node, given) => {
      const label = typeof node.label === "string" ? node.label : "";
      context.font = `${given.labelSize}px ${given.labelFont}`;
      const width = context.measureText(label).width;
      context.fillStyle = colours.ground;
      context.fillRect(node.x + node.size, node.y - 11, width + 10, 22);
      context.fillStyle = colours.text;
      context.fillText(label, node.x + node.size + 5, node.y + given.labelSize / 3);
    },
  };
}

function layOut(page: GraphPage, edges: Int32Array): Promise<Float32Array> {
  if (page.symbol) return Promise.resolve(Float32Array.from(page.nodes.flatMap((node) => [node.x, node.y]))); // computed by the server
  const request = { groups: page.nodes.map((node) => node.path.split("/").slice(0, -1).slice(0, 4).join("/")), edges };
  if (page.nodes.length < 200) return Promise.resolve(clusteredLayout(request));
  return layOutInWorker(request);
}
