// Code ids in the format that the server parses (src/deltos/domains/code/code_ids.py).
import type { GraphNode } from "./types";

const LINES_SHOWN = 40; // lines of a file that are shown if the node is not a definition

/** Return the code id of a node; an id in another project contains the project. */
export function codeId(node: GraphNode, project: string): string {
  const where = node.id === node.path ? `${node.path}:${node.line}-${node.line + LINES_SHOWN}` : node.id;
  return `code:${project ? `${project}!` : ""}${where}`;
}
