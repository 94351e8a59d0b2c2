// Where nodes lie: the same for the same graph, whoever draws it.
export interface LayoutRequest {
  groups: string[]; // of each node
  edges: [number, number][];
}

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const ROUNDS = 40;

/** Positions x, y, x, y …: groups as sunflowers on a sunflower, then drawn a little towards their neighbours. */
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
  return drawnTogether(start, edges);
}

function drawnTogether(start: Float32Array, edges: [number, number][]): Float32Array {
  const at = start.slice();
  const degree = new Float32Array(start.length / 2);
  for (const [source, target] of edges) { degree[source]! += 1; degree[target]! += 1; }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [source, target] of edges) {
      for (const axis of [0, 1]) {
        const pull = (at[2 * target + axis]! - at[2 * source + axis]!) * 0.02;
        at[2 * source + axis]! += pull / Math.sqrt(degree[source]!);
        at[2 * target + axis]! -= pull / Math.sqrt(degree[target]!);
      }
    }
    for (let index = 0; index < at.length; index += 1) at[index]! += (start[index]! - at[index]!) * 0.08;
  }
  return at;
}
