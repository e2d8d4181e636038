/** Hostile bodies: the cost of refusing one, compared with the cost of parsing it. */
import { readFile } from "node:fs/promises";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { compare, inTurns, type Measurement } from "./measure.ts";

const size = 16_000_000;
const body = `{"x":[${"[],".repeat(size / 3)}"\\u0000"]}`;
const rounds = 7;

export async function measureBodies(): Promise<Measurement[]> {
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "error", MILLRACE_BODY_LIMIT: "32MiB" } });
  try {
    const authorization = `Bearer ${await server.token()}`;
    const known = () => refusal(server, "/api/datachain/jobs/", { authorization }, 422);
    const unknown = () => refusal(server, "/api/device-login", {}, 413);
    await known();
    await unknown();
    const sides = { unit: "ms", otherIs: "JSON.parse" };
    const [looked, parsed] = await inTurns(rounds, known, parsing);
    const [dropped, parsedAgain] = await inTurns(rounds, unknown, parsing);
    return [
      compare("16 MB of lists, with a token", "<= 0.5", { ours: looked, other: parsed, ...sides }),
      compare("16 MB of lists, without", "<= 0.1", { ours: dropped, other: parsedAgain, ...sides }),
    ];
  } finally {
    await server.dispose();
  }
}

/** CPU time of the server, in milliseconds. */
async function refusal(server: TestServer, path: string, headers: Record<string, string>, status: number) {
  const before = await processorTime(server);
  const json = { ...headers, "content-type": "application/json" };
  const response = await fetch(server.url + path, { method: "POST", body, headers: json });
  if (response.status !== status) throw new Error(`${response.status} ${await response.text()}`);
  await response.text();
  return (await processorTime(server)) - before;
}

async function parsing(): Promise<number> {
  const begin = process.cpuUsage();
  JSON.parse(body);
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

/** In ticks of ten milliseconds, the resolution that the kernel offers for another process. */
async function processorTime({ pid }: TestServer): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
