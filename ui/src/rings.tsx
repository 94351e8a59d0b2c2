// A symbol in the middle and what is around it, as SVG: by sides (who uses it, what it uses) or by distance.
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { mixesScripts, shown } from "./text";
import type { GraphNode, GraphPage } from "./types";

const RING = 190;
const LABEL_ROOM = 15; // between two labels of a ring

interface Spot {
  node: GraphNode;
  x: number;
  y: number;
}

/** Positions of all nodes, the same for the same graph. */
export function ringLayout(nodes: GraphNode[], bySides: boolean): { spots: Map<string, Spot>; radii: number[] } {
  const spots = new Map<string, Spot>();
  const radii: number[] = [];
  const rings = new Map<number, GraphNode[]>();
  for (const node of nodes) rings.set(node.ring, [...(rings.get(node.ring) ?? []), node]);
  let radius = 0;
  for (const [ring, inside] of [...rings].sort((a, b) => a[0] - b[0])) {
    if (ring === 0) {
      inside.forEach((node) => spots.set(node.id, { node, x: 0, y: 0 }));
      continue;
    }
    if (bySides) {
      const side = ring === 1 ? -1 : 1;
      const own = Math.max(RING * 1.2, (inside.length * LABEL_ROOM) / 2.2);
      inside.forEach((node, index) => {
        const angle = inside.length === 1 ? 0 : (index / (inside.length - 1) - 0.5) * 2.2;
        spots.set(node.id, { node, x: side * own * Math.cos(angle), y: own * Math.sin(angle) });
      });
    } else {
      radius = Math.max(radius + RING, (inside.length * LABEL_ROOM) / (2 * Math.PI));
      radii.push(radius);
      inside.forEach((node, index) => {
        const angle = (index / inside.length) * 2 * Math.PI - Math.PI / 2 + ring * 0.35;
        spots.set(node.id, { node, x: radius * Math.cos(angle), y: radius * Math.sin(angle) });
      });
    }
  }
  return { spots, radii };
}

export function Rings({ page, mode, open }: { page: GraphPage; mode: string; open: (node: GraphNode) => void }): VNode {
  const { spots, radii } = useMemo(() => ringLayout(page.nodes, mode === "around"), [page, mode]);
  const every = [...spots.values()];
  const widest = Math.max(240, ...every.map((spot) => Math.abs(spot.x))) + 250;
  const highest = Math.max(160, ...every.map((spot) => Math.abs(spot.y))) + 50;
  return (
    <svg id="drawing" viewBox={`${-widest} ${-highest} ${2 * widest} ${2 * highest}`} role="group" aria-label={`graph of ${page.symbol}`}>
      {radii.map((radius) => <circle class="ring" r={radius} />)}
      {page.edges.map((edge) => {
        const from = spots.get(edge.source);
        const to = spots.get(edge.target);
        if (!from || !to) return null;
        const bend = `${(from.x + to.x) * 0.42} ${(from.y + to.y) * 0.42}`;
        return <path class={`edge ${edge.certain ? "" : "possible"}`} d={`M${from.x} ${from.y}Q${bend} ${to.x} ${to.y}`} />;
      })}
      {every.map(({ node, x, y }) => {
        const left = x < -1;
        const kind = node.ring === 0 ? "middle" : node.is_test ? "test" : mode === "around" && node.ring === 2 ? "out" : "";
        return (
          <g class={`node ${kind}`} transform={`translate(${x} ${y})`} tabIndex={0} role="button" aria-label={`${node.kind} ${node.label} in ${node.path}`}
            onClick={() => open(node)} onKeyDown={(event) => { if (event.key === "Enter") open(node); }}>
            <title>{`${node.kind} ${node.label}\n${node.path}:${node.line}`}</title>
            <circle r={node.ring === 0 ? 8 : 5.5} />
            <text x={node.ring === 0 ? 0 : left ? -10 : 10} y={node.ring === 0 ? -14 : 4} text-anchor={node.ring === 0 ? "middle" : left ? "end" : "start"}
              text-decoration={mixesScripts(node.label) ? "underline" : undefined}>{shownLabel(node.label)}</text>
          </g>
        );
      })}
    </svg>
  );
}

const LONGEST_LABEL = 34;

function shownLabel(label: string): ReturnType<typeof shown> {
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label;
}
