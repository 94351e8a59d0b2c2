// A symbol in the middle and what is around it, as SVG; the server says where everything lies.
import type { VNode } from "preact";
import { mixesScripts, visible } from "./text";
import type { GraphNode, GraphPage } from "./types";

export function Rings({ page, mode, open }: { page: GraphPage; mode: string; open: (node: GraphNode) => void }): VNode {
  const spots = new Map(page.nodes.map((node) => [node.id, node]));
  const widest = Math.max(240, ...page.nodes.map((node) => Math.abs(node.x))) + 210;
  const highest = Math.max(160, ...page.nodes.map((node) => Math.abs(node.y))) + 45;
  return (
    <svg id="drawing" viewBox={`${-widest} ${-highest} ${2 * widest} ${2 * highest}`} role="group" aria-label={`graph of ${visible(page.symbol)}`}>
      {page.radii.map((radius) => <circle class="ring" r={radius} />)}
      {page.edges.map((edge) => {
        const from = spots.get(edge.source);
        const to = spots.get(edge.target);
        if (!from || !to) return null;
        const bend = `${(from.x + to.x) * 0.42} ${(from.y + to.y) * 0.42}`;
        return <path class={`edge ${edge.certain ? "" : "possible"}`} d={`M${from.x} ${from.y}Q${bend} ${to.x} ${to.y}`} />;
      })}
      {page.nodes.map((node) => {
        const { x, y } = node;
        const left = x < -1;
        const kind = node.ring === 0 ? "middle" : node.is_test ? "test" : mode === "around" && node.ring === 2 ? "out" : "";
        return (
          <g class={`node ${kind}`} transform={`translate(${x} ${y})`} tabIndex={0} role="button" onClick={() => open(node)} onKeyDown={(event) => { if (event.key === "Enter") open(node); }}>
            <title>{`${node.kind} ${visible(node.label)}\n${visible(node.path)}:${node.line}`}</title>
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

function shownLabel(label: string): string {
  const whole = visible(label);
  return whole.length > LONGEST_LABEL ? `${whole.slice(0, LONGEST_LABEL - 1)}…` : whole;
}
