/**
 * Draws the graph of a pipeline as a tree. Every run is drawn once, below the last of its parents. A single child is
 * not indented, so that a long chain stays narrow.
 */
import type { JobPipelineRun } from "@millrace/contract";

export interface Branch {
  readonly run: JobPipelineRun;
  /** Characters drawn before the name. */
  readonly stem: string;
  /** Names of the run's other parents. The run is not drawn below these. */
  readonly also: readonly string[];
}

/** Returns the lines of the tree. In `runs`, parents must come before children. */
export function branchesOf(runs: readonly JobPipelineRun[]): Branch[] {
  const position = new Map(runs.map(({ job_id }, index) => [job_id, index]));
  const children = new Map<string | undefined, JobPipelineRun[]>();
  for (const run of runs) {
    const parent = lastOf(run.parent_job_ids, position);
    children.set(parent, [...(children.get(parent) ?? []), run]);
  }
  const names = new Map(runs.map(({ job_id, name }) => [job_id, name]));
  const also = (run: JobPipelineRun) => {
    const under = lastOf(run.parent_job_ids, position);
    return run.parent_job_ids.filter((id) => id !== under).map((id) => names.get(id) ?? id);
  };
  return grow(children, also);
}

const lastOf = (ids: readonly string[], position: ReadonlyMap<string, number>) =>
  ids.toSorted((a, b) => (position.get(b) ?? -1) - (position.get(a) ?? -1))[0];

/** Builds the branches without recursion, because a long chain of runs would overflow the stack. */
function grow(
  children: ReadonlyMap<string | undefined, readonly JobPipelineRun[]>,
  also: (run: JobPipelineRun) => string[],
): Branch[] {
  const branches: Branch[] = [];
  const waiting = planted(children.get(undefined) ?? [], "").reverse();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { run, stem, below } = next;
    branches.push({ run, stem, also: also(run) });
    const its = children.get(run.job_id) ?? [];
    const [only] = its;
    if (only && its.length === 1) waiting.push({ run: only, stem: below, below });
    else waiting.push(...planted(its, `${below}  `, below).reverse());
  }
  return branches;
}

interface Planted {
  readonly run: JobPipelineRun;
  readonly stem: string;
  /** Characters to draw before the children of the run. */
  readonly below: string;
}

function planted(runs: readonly JobPipelineRun[], indent: string, from = indent): Planted[] {
  if (indent === "") return runs.map((run) => ({ run, stem: "", below: "" }));
  return runs.map((run, index) => {
    const isLast = index === runs.length - 1;
    return { run, stem: `${from}${isLast ? "└ " : "├ "}`, below: `${from}${isLast ? "  " : "│ "}` };
  });
}
