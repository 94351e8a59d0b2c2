// Ids of code, as the server reads them (src/deltos/domains/code/spot.py).
import type { GraphNode } from "./types";

const LINES_SHOWN = 40; // of a file of which no definition is meant

/** The id of the code behind a node of a graph; that of another project names it. */
export function codeId(node: GraphNode, project: string): string {
  const where = node.id === node.path ? `${node.path}:${node.line}-${node.line + LINES_SHOWN}` : node.id;
  return `code:${project ? `${project}!` : ""}${where}`;
}
