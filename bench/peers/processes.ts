/** The processes below this one: their ids and their memory. */
import { readdir, readFile } from "node:fs/promises";

/** Ids of the processes that this one has started, from any of its threads. */
export async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => ""));
  return (await Promise.all(lists)).flatMap((text) => text.split(" ").filter(Boolean).map(Number));
}

/** Ids of all processes below this one. */
export async function below(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [...children, ...(await Promise.all(children.map(below))).flat()];
}

/** Proportional memory of these processes together; pages that they share count once. */
export async function proportionalMegabytes(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
      return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
    }),
  );
  return each.reduce((sum, one) => sum + one, 0);
}
