/** Jobs on other machines: how fast a large log arrives, and what the beats of many runners cost the server. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { copyFile, mkdtemp, open, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { type RunnerGround, runnerGround, untilState } from "../packages/server/test/engine/runners/runner-ground.ts";
import { compare, inTurns, limit, type Measurement, timed } from "./measure.ts";

const run = promisify(execFile);

const megabytes = 200;
const line = "a line of a log that is about as long as most lines of logs are, give or take a word";
const command = `yes '${line}' | head -c ${megabytes * 1e6}`;

const runners = 500;
const beatSeconds = 5;

export async function measureRunners(): Promise<Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const ground = await runnerGround();
  try {
    await writeAsJob(ground, ":");
    const rate = async (took: Promise<number>) => (megabytes * 1000) / (await took);
    const [ours, plain] = await inTurns(
      5,
      () => rate(writeAsJob(ground, command)),
      () => rate(timed(() => writePlain(folder))),
    );
    const [floor, again] = await inTurns(
      5,
      () => rate(timed(() => sendBare(folder))),
      () => rate(timed(() => writePlain(folder))),
    );
    const otherIs = "to a plain file, and copied";
    return [
      compare(`a job on a runner that writes ${megabytes} MB of log`, ">= 0.5", {
        ...{ ours, other: plain, unit: "MB/s", otherIs },
      }),
      // How much of that this machine allows at all; there is no target.
      compare("the same bytes by Python over HTTP to a bare Node server that writes them", ">= 0", {
        ...{ ours: floor, other: again, unit: "MB/s", otherIs },
      }),
      limit(`time that the beats of ${runners} runners take in each second`, await beats(ground), 100, "ms"),
    ];
  } finally {
    await ground.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** From the submission until the whole log is at the server and the end is accepted, in milliseconds. */
async function writeAsJob({ engine, spec }: RunnerGround, query: string): Promise<number> {
  const job = spec(query);
  const took = await timed(async () => {
    await engine.submit(job);
    await untilState(engine, job.key, "EXITED");
  });
  await engine.forget(job.key);
  return took;
}

async function writePlain(folder: string): Promise<void> {
  const [path, copy] = [join(folder, "plain"), join(folder, "copy")];
  const file = await open(path, "w");
  const child = spawn("/bin/sh", ["-c", command], { stdio: ["ignore", file.fd, "inherit"] });
  await once(child, "exit");
  await file.close();
  await copyFile(path, copy);
  await Promise.all([rm(path), rm(copy)]);
}

/** Writes the bytes to a file, sends that in one request to a server that only writes what it gets to another file. */
async function sendBare(folder: string): Promise<void> {
  const [path, copy] = [join(folder, "plain"), join(folder, "copy")];
  const server = createServer(async (request, response) => {
    await pipeline(request, createWriteStream(copy));
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await run("/bin/sh", [
    "-c",
    `{ ${command}; } >"$1" && exec python3 -I -c "$2" "$1" "$3"`,
    "sh",
    path,
    sendFile,
    `${port}`,
  ]);
  server.close();
  await Promise.all([rm(path), rm(copy)]);
}

const sendFile = `
import os, socket, sys
with open(sys.argv[1], "rb") as file, socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as connection:
    size = os.fstat(file.fileno()).st_size
    connection.sendall(b"POST / HTTP/1.1\\r\\nhost: bench\\r\\ncontent-length: %d\\r\\n\\r\\n" % size)
    connection.sendfile(file)
    assert connection.recv(12) == b"HTTP/1.1 200"
`;

/** What the server does for a beat besides waiting, in milliseconds for each second. */
async function beats({ server, spec }: RunnerGround): Promise<number> {
  const steps = [{ name: "query", started_at: 1000 }];
  const usage = { cpu_seconds: 1, memory_bytes: 1, processes: 1 };
  const keys = [...Array(runners).keys()].map(() => {
    const { key } = spec(":");
    server.runners.folder(key).make();
    const token = { secret: "", key, kind: "token" as const };
    server.runners.offer(key);
    return { ...token, secret: server.runners.claim(key, { instance: "instance", host: "" }).token };
  });
  const gone = AbortSignal.abort();
  const orders = { cancel: false, force: false };
  const rounds = 10;
  const took = await timed(async () => {
    for (let round = 1; round <= rounds; round++)
      for (const presented of keys) {
        server.runners.knows(presented);
        await server.runners.beat(presented.key, { steps, age: round * beatSeconds, orders, usage }, gone);
      }
  });
  return took / rounds / beatSeconds;
}
