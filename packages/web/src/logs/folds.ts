/** The part of a log that is folded away: the build of the environment. */

export interface Fold {
  /** First and last folded line, counted from 0. */
  readonly from: number;
  readonly to: number;
}

const begin = /^(Building virtualenv with Python|Waiting for another job that builds|Installing uv )/;
/** Lines of uv and pip. */
const inside =
  /^(Building|Waiting for another|Installing|Using |Creating |Resolved|Resolving|Prepared|Preparing|Installed|Downloading|Downloaded|Built|Updated|Updating|Audited|Uninstalled|Bytecode|Collecting|Requirement already|Successfully|Obtaining|Cloning|Looking in|Processing|Preparing|Getting|warning: |\[notice\]|\s*[+~-] \S+==|\s+\S|$)/;

/** Finds the build of the environment in the first lines of a log. A build that is still going on is not folded. */
export function environmentFold(lines: readonly string[]): Fold | undefined {
  const from = lines.findIndex((line) => begin.test(line));
  if (from === -1 || from > 50) return undefined;
  let to = from;
  while (to + 1 < lines.length && inside.test(lines[to + 1] ?? "")) to++;
  while (to > from && lines[to] === "") to--;
  return to > from && to + 1 < lines.length ? { from, to } : undefined;
}

/** Rows of the viewer: every line is one, except that the lines of a closed fold are one row together. */
export interface Rows {
  readonly count: number;
  lineOf(row: number): number;
  rowOf(line: number): number;
  isFold(row: number): boolean;
}

export function rowsOf(total: number, fold: Fold | undefined): Rows {
  const hidden = fold && fold.to < total ? fold.to - fold.from : 0;
  const from = hidden > 0 && fold ? fold.from : total;
  return {
    count: total - hidden,
    lineOf: (row) => (row > from ? row + hidden : row),
    rowOf: (line) => (line <= from ? line : Math.max(from, line - hidden)),
    isFold: (row) => hidden > 0 && row === from,
  };
}
