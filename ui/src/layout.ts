// Deterministic layout of graphs.
import type { GraphPage } from "./types";

export interface LayoutRequest {
  groups: string[]; // group of each node
  edges: Int32Array; // node numbers: source, target, source, target …
}

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const ROUNDS = 40;

/** Return positions x, y, x, y …: groups form sunflower spirals on a larger spiral, and nodes are pulled towards neighbours. */
export function clusteredLayout({ groups, edges }: LayoutRequest): Float32Array {
  const names = [...new Set(groups)].sort();
  const sizes = new Map<string, number>();
  for (const group of groups) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  names.sort((a, b) => sizes.get(b)! - sizes.get(a)! || (a < b ? -1 : 1));
  const homes = new Map<string, [number, number]>();
  let area = 0;
  names.forEach((name, index) => {
    const own = sizes.get(name)! + 6;
    area += own;
    const radius = 1.35 * Math.sqrt(area - own / 2);
    homes.set(name, [radius * Math.cos(index * GOLDEN_ANGLE), radius * Math.sin(index * GOLDEN_ANGLE)]);
  });
  const placed = new Map<string, number>();
  const start = new Float32Array(groups.length * 2);
  groups.forEach((group, index) => {
    const [x, y] = homes.get(group)!;
    const number = placed.get(group) ?? 0;
    placed.set(group, number + 1);
    const radius = 0.8 * Math.sqrt(number + 0.5);
    start[2 * index] = x + radius * Math.cos(number * GOLDEN_ANGLE);
    start[2 * index + 1] = y + radius * Math.sin(number * GOLDEN_ANGLE);
  });
  return pullTogether(start, edges);
}

function pullTogether(start: Float32Array, edges: Int32Array): Float32Array {
  const at = start.slice();
  const share = new Float32Array(start.length / 2);
  for (const node of edges) share[node]! += 1;
  for (let node = 0; node < share.length; node += 1) share[node] = 0.02 / Math.sqrt(Math.max(1, share[node]!));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let index = 0; index < edges.length; index += 2) {
      const [source, target] = [edges[index]!, edges[index + 1]!];
      const x = at[2 * target]! - at[2 * source]!;
      const y = at[2 * target + 1]! - at[2 * source + 1]!;
      at[2 * source]! += x * share[source]!;
      at[2 * source + 1]! += y * share[source]!;
      at[2 * target]! -= x * share[target]!;
      at[2 * target + 1]! -= y * share[target]!;
    }
    for (let index = 0; index < at.length; index += 1) at[index]! += (start[index]! - at[index]!) * 0.08;
  }
  return at;
}

/** Return the edges as node numbers source, target, source, target …, without self-references. */
export function numberedEdges(page: GraphPage): Int32Array {
  const numbers = new Map(page.nodes.map((node, index) => [node.id, index]));
  const found = new Int32Array(2 * page.edges.length);
  let end = 0;
  for (const edge of page.edges) {
    const [source, target] = [numbers.get(edge.source), numbers.get(edge.target)];
    if (source === undefined || target === undefined || source === target) continue;
    found[end] = source;
    found[end + 1] = target;
    end += 2;
  }
  return found.slice(0, end);
}
