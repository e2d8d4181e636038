/** Starting: time until ready, and memory of an idle server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { repository } from "@millrace/testing/repository.ts";
import { residentMegabytes } from "./logs.ts";
import { compare, inTurns, limit, type Measurement, timed } from "./measure.ts";

export async function measureStart(): Promise<Measurement[]> {
  const server = await TestServer.start();
  try {
    await sleep(2000);
    const idle = await residentMegabytes(server);
    const restart = async () => {
      await server.stop();
      return timed(() => server.start());
    };
    const bare = () => timed(async () => once(spawn(join(repository, "node_modules/.bin/node"), ["-e", "0"]), "exit"));
    const [ours, other] = await inTurns(9, restart, bare);
    return [
      compare("start to ready, from source", "<= 20", { ours, other, unit: "ms", otherIs: "node -e 0" }),
      limit("memory of an idle server, from source", idle, 180, "MB"),
    ];
  } finally {
    await server.dispose();
  }
}
