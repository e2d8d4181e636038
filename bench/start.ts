/** Starting: time until ready, and memory of an idle server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { repository } from "@millrace/testing/repository.ts";
import { compare, inTurns, limit, type Measurement, timed } from "./measure.ts";

export async function measureStart(): Promise<Measurement[]> {
  const server = await TestServer.start();
  try {
    await sleep(2000);
    const started = await proportionalMegabytes(server.pid);
    // V8 gives memory back when nothing has happened for a while.
    await sleep(75_000);
    const idle = await proportionalMegabytes(server.pid);
    const restart = async () => {
      await server.stop();
      return timed(() => server.start());
    };
    const bare = () => timed(async () => once(spawn(join(repository, "node_modules/.bin/node"), ["-e", "0"]), "exit"));
    const [ours, other] = await inTurns(9, restart, bare);
    return [
      compare("start to ready, from source", "<= 20", { ours, other, unit: "ms", otherIs: "node -e 0" }),
      limit("memory (PSS) of a server with its starter, just started", started, 140, "MB"),
      limit("the same, idle for a minute", idle, 120, "MB"),
    ];
  } finally {
    await server.dispose();
  }
}

/** Memory of a process and its descendants; pages that processes share count once. */
async function proportionalMegabytes(pid: number | undefined): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  const below = await Promise.all(children.split(" ").filter(Boolean).map(Number).map(proportionalMegabytes));
  return below.reduce((sum, each) => sum + each, Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024);
}
