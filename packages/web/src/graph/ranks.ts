/** The column of each node: one more than the largest column among the nodes before it. */

/** Nodes are numbers here; `before[n]` and `after[n]` are the neighbours of node n. */
export interface Neighbours {
  readonly before: readonly (readonly number[])[];
  readonly after: readonly (readonly number[])[];
}

/** Takes time in proportion to nodes and edges. An edge that closes a cycle does not count. */
export function ranksOf({ before, after }: Neighbours): number[] {
  const ranks = before.map(() => 0);
  const missing = before.map((nodes) => nodes.length);
  const done = before.map(() => false);
  const ready = missing.flatMap((count, node) => (count === 0 ? [node] : []));
  let next = 0;
  for (let placed = 0; placed < before.length; placed++) {
    const node = ready[placed] ?? firstUndone(done, next);
    if (ready[placed] === undefined) ready.push(node);
    next = node === next ? next + 1 : next;
    done[node] = true;
    for (const child of after[node] ?? []) {
      if (done[child]) continue;
      ranks[child] = Math.max(ranks[child] ?? 0, (ranks[node] ?? 0) + 1);
      missing[child] = (missing[child] ?? 0) - 1;
      if (missing[child] === 0) ready.push(child);
    }
  }
  return pullInputs({ before, after }, ranks);
}

/** Only cycles are left: the first of their nodes is placed as if nothing was missing. */
function firstUndone(done: readonly boolean[], from: number): number {
  let node = from;
  while (done[node]) node++;
  return node;
}

/** A node with nothing before it stands directly before what needs it first. */
function pullInputs({ before, after }: Neighbours, ranks: readonly number[]): number[] {
  return ranks.map((rank, node) => {
    const children = after[node] ?? [];
    if ((before[node] ?? []).length > 0 || children.length === 0) return rank;
    return Math.max(rank, Math.min(...children.map((child) => ranks[child] ?? 0)) - 1);
  });
}
