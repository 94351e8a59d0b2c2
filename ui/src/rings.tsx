// The neighbourhood or impact of a symbol as SVG; the server computes the layout.
import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pressed } from "./parts";
import { mixesScripts, visible } from "./text";
import type { GraphEdge, GraphNode, GraphPage } from "./types";

const CHARACTER = 7.2; // width of a character in a label
const LABEL_GAP = 10; // between a node and its label
const MARGIN = 16;
const MIN_SCALE = 0.9; // initial minimum, so that labels of 11.5 px are readable
const MAX_SCALE = 1.35; // initial maximum for small drawings
const MIN_PAN_PIXELS = 4; // a shorter movement is a click
const LIMITS: [number, number] = [0.1, 4];

interface Size {
  width: number; // from the middle to one side
  height: number;
}

export function Rings({ page, mode, open }: { page: GraphPage; mode: string; open: (node: GraphNode) => void }): VNode {
  const area = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(1);
  const size = sizeOf(page);
  const fit = () => (area.current ? Math.min(area.current.clientWidth / (2 * size.width), area.current.clientHeight / (2 * size.height)) : 1);
  useLayoutEffect(() => setScale(Math.max(MIN_SCALE, Math.min(MAX_SCALE, fit()))), [page.symbol, mode]);
  useLayoutEffect(() => centre(area.current), [page.symbol, mode, scale]);
  const zoom = (factor: number) => setScale(Math.max(LIMITS[0], Math.min(LIMITS[1], scale * factor)));
  return (
    <>
      <div class="rings" ref={area} onPointerDown={pan}>
        <svg id="drawing" width={2 * size.width * scale} height={2 * size.height * scale} viewBox={`${-size.width} ${-size.height} ${2 * size.width} ${2 * size.height}`} role="group" aria-label={`graph of ${visible(page.symbol)}`}>
          {page.rings.map((ring) => <circle class="ring" r={ring.radius} />)}
          <Edges page={page} />
          {page.rings.map((ring) => <text class="distance" y={4 - ring.radius} text-anchor="middle">distance {ring.distance}</text>)}
          {page.nodes.map((node) => <Spot node={node} mode={mode} open={open} />)}
        </svg>
      </div>
      <Legend page={page} mode={mode} />
      <div class="zoom">
        <button type="button" aria-label="zoom in" onClick={() => zoom(1.4)}>+</button>
        <button type="button" aria-label="zoom out" onClick={() => zoom(1 / 1.4)}>−</button>
        <button type="button" aria-label="fit to window" onClick={() => setScale(fit())}>⤢</button>
      </div>
    </>
  );
}

function sizeOf(page: GraphPage): Size {
  const outermost = Math.max(0, ...page.rings.map((ring) => ring.radius));
  const reach = (node: GraphNode) => Math.abs(node.x) + LABEL_GAP + CHARACTER * columns(shownLabel(node.label));
  return {
    width: Math.max(240, outermost, ...page.nodes.map(reach)) + MARGIN,
    height: Math.max(160, outermost, ...page.nodes.map((node) => Math.abs(node.y))) + 2 * MARGIN,
  };
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;
const columns = (text: string): number => Array.from(text).reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0);

/** Scroll to the middle of a drawing. */
function centre(area: HTMLElement | null): void {
  if (area) area.scrollTo((area.scrollWidth - area.clientWidth) / 2, (area.scrollHeight - area.clientHeight) / 2);
}

/** Move the drawing with the mouse until the button is released. */
function pan(start: PointerEvent): void {
  const area = start.currentTarget as HTMLElement;
  if (start.button !== 0 || start.pointerType !== "mouse") return; // touch scrolls natively
  const [left, top] = [area.scrollLeft, area.scrollTop];
  const move = (event: PointerEvent) => area.scrollTo(left + start.clientX - event.clientX, top + start.clientY - event.clientY);
  const end = (event: PointerEvent) => {
    removeEventListener("pointermove", move);
    if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < MIN_PAN_PIXELS) return;
    const drop = (click: Event) => click.stopPropagation(); // the drawing was moved, so do not open the node under the pointer
    area.addEventListener("click", drop, { capture: true, once: true });
    setTimeout(() => area.removeEventListener("click", drop, { capture: true }));
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end, { once: true });
}

function Edges({ page }: { page: GraphPage }): VNode {
  const spots = new Map(page.nodes.map((node) => [node.id, node]));
  const drawn = (edge: GraphEdge) => {
    const [from, to] = [spots.get(edge.source), spots.get(edge.target)];
    if (!from || !to) return null;
    const bend = `${(from.x + to.x) * 0.42} ${(from.y + to.y) * 0.42}`;
    return <path class={`edge ${edge.certain ? "" : "possible"}`} d={`M${from.x} ${from.y}Q${bend} ${to.x} ${to.y}`} />;
  };
  return <>{page.edges.map(drawn)}</>;
}

/** Return the role of a node, which determines its colour. */
function roleOf(node: GraphNode, mode: string): string {
  if (node.ring === 0) return "middle";
  return node.is_test ? "test" : mode === "around" && node.ring === 2 ? "out" : "";
}

function Spot({ node, mode, open }: { node: GraphNode; mode: string; open: (node: GraphNode) => void }): VNode {
  const { x, y, label } = node;
  const [isMiddle, left] = [node.ring === 0, x < 0];
  return (
    <g class={`node ${roleOf(node, mode)}`} transform={`translate(${x} ${y})`} tabindex={0} role="button" onClick={() => open(node)} onKeyDown={pressed(() => open(node))}>
      <title>{`${node.kind} ${visible(label)}\n${visible(node.path)}:${node.line}`}</title>
      <circle r={isMiddle ? 8 : 5.5} />
      <text x={isMiddle ? 0 : left ? -LABEL_GAP : LABEL_GAP} y={isMiddle ? -14 : 4} text-anchor={isMiddle ? "middle" : left ? "end" : "start"}
        text-decoration={mixesScripts(label) ? "underline" : undefined}>{shownLabel(label)}</text>
    </g>
  );
}

/** Explains the colours and lines that occur in the drawing. */
function Legend({ page, mode }: { page: GraphPage; mode: string }): VNode {
  const roles = new Set(page.nodes.map((node) => roleOf(node, mode)));
  const named: [string, string][] = [["", mode === "around" ? "uses it" : "affected"], ["out", "is used by it"], ["test", "test"]];
  return (
    <ul class="legend">
      {named.filter(([role]) => roles.has(role)).map(([role, label]) => <li><svg viewBox="-7 -7 14 14" aria-hidden="true" class={`swatch ${role}`}><circle r="5.5" /></svg>{label}</li>)}
      {page.edges.some((edge) => !edge.certain) && <li><svg viewBox="0 0 22 14" aria-hidden="true" class="swatch line"><path d="M0 7H22" /></svg>possible use</li>}
      {page.rings.length > 0 && <li>rings: distance in steps</li>}
    </ul>
  );
}

const MAX_LABEL_CHARACTERS = 34;

function shownLabel(label: string): string {
  const whole = visible(label);
  return whole.length > MAX_LABEL_CHARACTERS ? `${whole.slice(0, MAX_LABEL_CHARACTERS - 1)}…` : whole;
}
