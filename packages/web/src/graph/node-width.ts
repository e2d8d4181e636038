/** How wide the nodes of a graph are: as wide as their words need, so that more of the graph can be read at once. */
import { nodeSize } from "./layout.ts";
import type { GraphNode } from "./nodes.ts";

/** The width of a letter, on average, in the two lines of a node. */
const letter = { title: 7.4, words: 6.5 } as const;
/** What is free at the right of the words. */
const free = 12;
const narrowest = 160;
/** Widths are multiples of this, so that a name that is a little longer does not move the whole graph. */
const grid = 16;

/** Where the words of a node begin. */
export const leftOf = (status: string | undefined) => (status ? 34 : 16);

/** The number of letters that a line of a node has place for. */
export const lettersIn = (width: number, left: number, line: keyof typeof letter) =>
  Math.floor((width - left - free) / letter[line]);

/** Words about a state change often, so only other details count. */
const need = ({ title, detail = "", status }: Pick<GraphNode, "title" | "detail" | "status">) =>
  leftOf(status) + free + Math.max(title.length * letter.title, status ? 0 : detail.length * letter.words);

export function widthFor(nodes: readonly Pick<GraphNode, "title" | "detail" | "status">[]): number {
  const most = nodes.reduce((widest, node) => Math.max(widest, need(node)), narrowest);
  return Math.min(nodeSize.width, Math.ceil(most / grid) * grid);
}
