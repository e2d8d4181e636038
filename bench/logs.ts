/** Logs: the cost of writing a gigabyte, and the effect of following one on the server's memory. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, LogPiece } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { WebSocket } from "ws";
import { compare, limit, type Measurement, median, timed } from "./measure.ts";

const gigabyte = 1_000_000_000;
const line = "a line of a log that is about as long as most lines of logs are, give or take a word";
const command = `yes '${line}' | head -c ${gigabyte}`;

export async function measureLogs(): Promise<Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "warn" } });
  try {
    const client = await server.client();
    await runJob(client, shell(":"));
    const ours: number[] = [];
    const plain: number[] = [];
    for (let round = 0; round < 5; round++) {
      ours.push(await writeAsJob(server, client));
      plain.push(await timed(() => writePlain(join(folder, "plain"))));
    }
    const writing = { ours: median(ours), other: median(plain), unit: "ms", otherIs: "to a plain file" };
    const followed = await follow(server, client);
    const bytes = { ours: followed.bytes, other: gigabyte, unit: "bytes", otherIs: "written" };
    return [
      compare("a job that writes 1 GB", "<= 1.1", writing),
      compare("bytes that a follower of 1 GB received", ">= 1", bytes),
      limit("growth of the server's memory meanwhile", followed.growth, 64, "MB"),
      ...(await measureFollowers(server, client)),
    ];
  } finally {
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  }
}

/** From its creation to its end, in milliseconds. */
async function writeAsJob(server: TestServer, client: Client): Promise<number> {
  const { id } = await createJob(client, shell(command));
  const job = await waitForEnd(client, id);
  // Both sides start with a disk that the other has not filled.
  await rm(join(server.dataDir, "jobs", `${id}.1`, "log"));
  return Date.parse(job.finished_at ?? "") - Date.parse(job.created_at);
}

async function writePlain(path: string): Promise<void> {
  const file = await open(path, "w");
  const child = spawn("/bin/sh", ["-c", command], { stdio: ["ignore", file.fd, "inherit"] });
  await once(child, "exit");
  await file.close();
  await rm(path);
}

const followedBytes = 4_000_000;
const many = 500;

/**
 * The cost of a follower for the server, alone and among many: reading and framing are shared, sending is not. Also the
 * effect of many on the server's memory.
 */
async function measureFollowers(server: TestServer, client: Client): Promise<Measurement[]> {
  const one = await cpuOfFollowers(server, client, 1);
  const before = await residentMegabytes(server);
  let most = before;
  const watch = setInterval(() => void residentMegabytes(server).then((now) => (most = Math.max(most, now))), 100);
  const all = await cpuOfFollowers(server, client, many);
  clearInterval(watch);
  const cost = { ours: all, other: one * many, unit: "s of CPU", otherIs: `${many} times one follower` };
  return [
    compare(`${many} followers of ${followedBytes / 1e6} MB`, "<= 0.1", cost),
    limit("growth of the server's memory meanwhile", most - before, 200, "MB"),
  ];
}

/** CPU seconds of the server from when all are connected until each has received everything. */
async function cpuOfFollowers(server: TestServer, client: Client, count: number): Promise<number> {
  // The sleep gives all followers time to connect.
  const { id } = await createJob(client, shell(`sleep 10; yes '${line}' | head -c ${followedBytes}`));
  const token = await server.token();
  const sockets = await Promise.all(
    [...Array(count)].map(async () => {
      const url = `${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${id}&team_name=main`;
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` }, perMessageDeflate: false });
      await once(socket, "open");
      return socket;
    }),
  );
  const before = await cpuSeconds(server);
  await Promise.all(sockets.map((socket) => once(socket, "close")));
  return (await cpuSeconds(server)) - before;
}

/** User and system time, in seconds: clock ticks are hundredths on Linux. */
export async function cpuSeconds(server: TestServer): Promise<number> {
  const fields = (await readFile(`/proc/${server.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Follows a job from its beginning and counts bytes, while sampling the server's memory. */
async function follow(server: TestServer, client: Client): Promise<{ bytes: number; growth: number }> {
  const before = await residentMegabytes(server);
  let most = before;
  const watch = setInterval(() => void residentMegabytes(server).then((now) => (most = Math.max(most, now))), 100);
  const { id } = await createJob(client, shell(command));
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${id}&team_name=main`, {
    headers: { authorization: `Bearer ${await server.token()}` },
    perMessageDeflate: false,
  });
  let bytes = 0;
  socket.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { logs?: LogPiece[] };
    for (const piece of frame.logs ?? []) bytes += Buffer.byteLength(piece.message);
  });
  await once(socket, "close");
  clearInterval(watch);
  return { bytes, growth: most - before };
}

export async function residentMegabytes(server: TestServer): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
