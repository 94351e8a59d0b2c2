// Saves the current drawing as SVG or PNG. A WebGL drawing is rendered again as SVG.
import { visible } from "./text";
import type { GraphNode } from "./types";

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-decoration", "paint-order"];
const SVG = "http://www.w3.org/2000/svg";
const MAX_PIXELS = 8_000; // maximum width and height, because browsers refuse larger images
const MIN_SMALL_NODES = 4_000; // from this number on, nodes are drawn smaller

export interface Colours {
  node: string;
  test: string;
  edge: string;
  text: string;
  ground: string;
}

interface Drawn {
  nodes: GraphNode[];
  edges: Int32Array; // node numbers
  positions: Float32Array;
  sized: Float32Array;
  colours: Colours;
}

let drawn: Drawn | undefined;

/** Store the current WebGL drawing, because it cannot be read back from the canvas. */
export function setCurrentDrawing(what: Drawn | undefined): void {
  drawn = what;
}

/** Return the size of each node, which grows with the number of references to it. */
export function sizes(nodes: number, edges: Int32Array): Float32Array {
  const uses = new Float32Array(nodes);
  for (let index = 1; index < edges.length; index += 2) uses[edges[index]!]! += 1;
  const least = nodes > MIN_SMALL_NODES ? 1 : 2;
  return uses.map((each) => Math.min(14, least + (least / 2) * Math.sqrt(each)));
}

interface Picture {
  text: string;
  width: number;
  height: number;
}

function picture(): Picture | undefined {
  const drawing = document.getElementById("drawing");
  if (drawing instanceof SVGSVGElement) return combineDrawings([drawing]);
  const cycles = [...document.querySelectorAll<SVGSVGElement>("svg.cycle-ring")];
  if (cycles.length) return combineDrawings(cycles);
  return drawn && drawMapAsSvg(drawn);
}

/** Combine drawings vertically on the theme's background, with their current colours as attributes. */
function combineDrawings(drawings: SVGSVGElement[]): Picture {
  const boxes = drawings.map((each) => each.viewBox.baseVal);
  const width = Math.max(...boxes.map((box) => box.width));
  const height = boxes.reduce((sum, box) => sum + box.height, 0);
  let top = 0;
  const parts = drawings.map((each, index) => {
    const copy = standalone(each);
    copy.setAttribute("y", `${top}`);
    top += boxes[index]!.height;
    return new XMLSerializer().serializeToString(copy);
  });
  const text = `<svg xmlns="${SVG}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><rect width="100%" height="100%" fill="${ground()}"/>${parts.join("")}</svg>`;
  return { text: storable(text), width, height };
}

const ground = (): string => getComputedStyle(document.documentElement).getPropertyValue("--raised").trim();

/** Return a copy of a drawing with its styles as attributes. */
function standalone(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const from = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(from[index]!);
    for (const name of STYLES) if (element.tagName !== "g" && element !== copy) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role"]) element.removeAttribute(name);
  });
  const box = drawing.viewBox.baseVal;
  copy.setAttribute("width", `${box.width}`);
  copy.setAttribute("height", `${box.height}`);
  return copy;
}

/** Render a map as SVG; only the most used nodes have labels. */
function drawMapAsSvg({ nodes, edges, positions, sized, colours }: Drawn): Picture {
  const [width, height, edge] = [1_600, 1_000, 40];
  const xs = nodes.map((_, index) => positions[2 * index]!);
  const ys = nodes.map((_, index) => positions[2 * index + 1]!);
  const [left, right, top, bottom] = [least(xs), -least(xs.map((x) => -x)), least(ys), -least(ys.map((y) => -y))];
  const scale = Math.min((width - 2 * edge) / Math.max(1e-6, right - left), (height - 2 * edge) / Math.max(1e-6, bottom - top));
  const x = (index: number) => ((xs[index]! - (left + right) / 2) * scale + width / 2).toFixed(1);
  const y = (index: number) => ((ys[index]! - (top + bottom) / 2) * scale + height / 2).toFixed(1);
  const lines: string[] = [];
  for (let index = 0; index < edges.length; index += 2) {
    const [source, target] = [edges[index]!, edges[index + 1]!];
    lines.push(`M${x(source)} ${y(source)}L${x(target)} ${y(target)}`);
  }
  const circles = nodes.map((node, index) => `<circle cx="${x(index)}" cy="${y(index)}" r="${sized[index]!.toFixed(1)}"${node.is_test ? ` fill="${colours.test}"` : ""}/>`);
  const named = nodes.map((node, index) => ({ node, index })).sort((a, b) => sized[b.index]! - sized[a.index]!).slice(0, 40);
  const names = named.map(({ node, index }) => `<text x="${Number(x(index)) + sized[index]! + 3}" y="${Number(y(index)) + 4}">${xml(node.label)}</text>`);
  const text = `<svg xmlns="${SVG}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><rect width="100%" height="100%" fill="${colours.ground}"/>`
    + `<path fill="none" stroke="${colours.edge}" stroke-width="0.5" d="${lines.join("")}"/><g fill="${colours.node}">${circles.join("")}</g>`
    + `<g fill="${colours.text}" font-family="sans-serif" font-size="12">${names.join("")}</g></svg>`;
  return { text, width, height };
}

const least = (values: number[]): number => values.reduce((low, value) => Math.min(low, value), Infinity);

/** Replace characters that XML does not allow; file names may contain any. */
const storable = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/gu, "\ufffd");

function xml(text: string): string {
  return storable(visible(text)).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveSvg(): void {
  const found = picture();
  if (found) save(new Blob([found.text], { type: "image/svg+xml" }), "graph.svg");
}

export function savePng(): void {
  const found = picture();
  if (!found) return;
  const scale = Math.min(2, MAX_PIXELS / Math.max(found.width, found.height));
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(scale * found.width);
    canvas.height = Math.round(scale * found.height);
    const context = canvas.getContext("2d");
    if (!context) return;
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => { if (blob) save(blob, "graph.png"); });
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(found.text)}`;
}
