/** Logs: what writing a gigabyte costs, and what following one does to the server's memory. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, LogPiece } from "@millrace/contract";
import { WebSocket } from "ws";
import { createJob, runJob, shell, waitForEnd } from "../e2e/support/jobs.ts";
import { TestServer } from "../e2e/support/server.ts";
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
  // Both sides begin with a disk that the other has not filled.
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

/** Follows a job from its beginning, counting bytes; the server's memory is looked at all the while. */
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
