// Ids of code, as the server reads them (src/deltos/domains/code/spot.py).
import type { GraphNode } from "./types";

const LINES_SHOWN = 40; // shown of a file if the node is not a definition

/** Return the id of the code of a node; ids in other projects contain the project. */
export function codeId(node: GraphNode, project: string): string {
  const where = node.id === node.path ? `${node.path}:${node.line}-${node.line + LINES_SHOWN}` : node.id;
  return `code:${project ? `${project}!` : ""}${where}`;
}
