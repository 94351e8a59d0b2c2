// Squarified treemap (Bruls, Huizing, van Wijk): rectangles with given areas and aspect ratios close to 1.
export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Return a rectangle for each weight; weights must be in descending order. */
export function squarify(weights: number[], area: Rectangle): Rectangle[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const scale = (area.width * area.height) / total;
  const found: Rectangle[] = [];
  let { x, y, width, height } = area;
  let at = 0;
  while (at < weights.length) {
    const side = Math.max(1e-6, Math.min(width, height));
    let end = at + 1;
    let sum = weights[at]! * scale;
    while (end < weights.length) {
      const next = sum + weights[end]! * scale;
      if (worst(weights, at, end + 1, scale, next, side) > worst(weights, at, end, scale, sum, side)) break;
      sum = next;
      end += 1;
    }
    const depth = sum / side;
    let along = 0;
    for (let index = at; index < end; index += 1) {
      const length = (weights[index]! * scale) / Math.max(1e-6, depth);
      found.push(width >= height ? { x, y: y + along, width: depth, height: length } : { x: x + along, y, width: length, height: depth });
      along += length;
    }
    if (width >= height) { x += depth; width -= depth; }
    else { y += depth; height -= depth; }
    at = end;
  }
  return found;
}

/** Return the worst aspect ratio in a row, which is that of its largest or smallest member. */
function worst(weights: number[], from: number, end: number, scale: number, sum: number, side: number): number {
  const largest = weights[from]! * scale;
  const smallest = weights[end - 1]! * scale;
  const square = side * side;
  return Math.max((square * largest) / (sum * sum), (sum * sum) / Math.max(1e-9, square * smallest));
}
