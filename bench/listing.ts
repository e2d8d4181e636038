/**
 * Listing: a million jobs compared with a thousand, large jobs with small ones, and our route with a bare one that
 * returns the same bytes.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fieldLimits, type JobInput, processLimits } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { serverWithJobs } from "./many-jobs.ts";
import { compare, type Measurement, median, timed } from "./measure.ts";

const filters = [
  "",
  "&status=COMPLETE",
  "&status=ACTIVE",
  "&status=INACTIVE",
  "&status=RUNNING",
  "&status=FAILED",
  "&status=CANCELED",
];

export async function measureListing(): Promise<Measurement[]> {
  const [small, large] = await Promise.all([serverWith(1_000), serverWith(1_000_000)]);
  try {
    const results: Measurement[] = [];
    for (const filter of filters) {
      const path = `/api/datachain/jobs/?team_name=main&limit=20${filter}`;
      const times = { small: [] as number[], large: [] as number[] };
      for (let i = 0; i < 300; i++) {
        times.small.push(await timed(() => small.connection.get(path)));
        times.large.push(await timed(() => large.connection.get(path)));
      }
      const sides = { ours: median(times.large), other: median(times.small), unit: "ms", otherIs: "with 1,000" };
      results.push(compare(`list 20 of 1,000,000 jobs ${filter.replace("&", "") || "(no filter)"}`, "<= 1.5", sides));
    }
    return results;
  } finally {
    await Promise.all([small.server.dispose(), large.server.dispose()]);
  }
}

/** Jobs as large as requests can make them, compared with jobs of one line: a list shows little of either. */
export async function measureLargeJobs(): Promise<Measurement[]> {
  const large = { query: "q".repeat(fieldLimits.query), params: { p: "p".repeat(processLimits.params - 8) } };
  const [small, largest] = [await serverWithTasks({}), await serverWithTasks(large)];
  try {
    const path = "/api/datachain/jobs/?team_name=main";
    const times = { small: [] as number[], largest: [] as number[] };
    for (let i = 0; i < 200; i++) {
      times.small.push(await timed(() => small.connection.get(path)));
      times.largest.push(await timed(() => largest.connection.get(path)));
    }
    const sides = { ours: median(times.largest), other: median(times.small), unit: "ms", otherIs: "jobs of one line" };
    return [compare("default list of the largest jobs", "<= 4", sides)];
  } finally {
    await Promise.all([small.server.dispose(), largest.server.dispose()]);
  }
}

/** Tasks, so that none runs. */
async function serverWithTasks(rest: Partial<JobInput>) {
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "warn" } });
  const client = await server.client();
  for (let i = 0; i < 40; i++) await createJob(client, { ...shell(":"), start_after: "2090-01-01T00:00:00Z", ...rest });
  return { server, connection: await Connection.open(server.port, await server.token()) };
}

export async function measureHttp(): Promise<Measurement[]> {
  const { server, connection, token } = await serverWith(1_000);
  const path = "/api/datachain/jobs/?team_name=main&limit=20";
  const bytes = await connection.get(path);
  const bare = await startBare(bytes);
  try {
    const rates = { ours: [] as number[], bare: [] as number[] };
    for (let round = 0; round < 5; round++) {
      rates.ours.push(await requestRate(server.port, path, token, 4000));
      rates.bare.push(await requestRate(bare.port, "/jobs", token, 8000));
    }
    const sides = { ours: median(rates.ours), other: median(rates.bare), unit: "req/s", otherIs: "bare Fastify route" };
    return [compare("GET of a 20-job list", ">= 0.25", sides)];
  } finally {
    bare.child.kill();
    await server.dispose();
  }
}

/** In a separate process, like our server. */
async function startBare(bytes: string) {
  const file = join(await mkdtemp(join(tmpdir(), "millrace-bench-")), "bytes");
  await writeFile(file, bytes);
  const child = spawn(process.execPath, [join(import.meta.dirname, "bare-route.ts"), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, port: Number(line) };
}

async function requestRate(port: number, path: string, token: string, count: number): Promise<number> {
  const connections = await Promise.all(Array.from({ length: 8 }, () => Connection.open(port, token)));
  const time = await timed(() =>
    Promise.all(
      connections.map(async (connection) => {
        for (let i = 0; i < count / connections.length; i++) await connection.get(path);
      }),
    ),
  );
  for (const connection of connections) connection.close();
  return (count / time) * 1000;
}

/** A keep-alive connection that costs the measuring process almost nothing. */
class Connection {
  readonly #socket: Socket;
  readonly #head: string;

  static async open(port: number, token: string): Promise<Connection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Connection(socket, token);
  }

  private constructor(socket: Socket, token: string) {
    this.#socket = socket;
    this.#head = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  }

  get(path: string): Promise<string> {
    return new Promise((resolve) => {
      let text = "";
      const read = (bytes: Buffer) => {
        text += bytes.toString("latin1");
        const end = text.indexOf("\r\n\r\n");
        if (end === -1) return;
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
        if (text.length < end + 4 + length) return;
        this.#socket.off("data", read);
        if (!text.startsWith("HTTP/1.1 200")) throw new Error(text.slice(0, 200));
        resolve(text.slice(end + 4));
      };
      this.#socket.on("data", read);
      this.#socket.write(`GET ${path} ${this.#head}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

async function serverWith(count: number) {
  const server = await serverWithJobs(count);
  const token = await server.token();
  return { server, token, connection: await Connection.open(server.port, token) };
}
