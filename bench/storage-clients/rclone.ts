/** rclone: Go. Each task is a run of the program, its start included. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { ClientReport, ClientTask } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const remote = `:s3,provider=Other,endpoint='${task.endpoint}',access_key_id=${task.key},secret_access_key=${task.secret}:`;
const streams = ["--multi-thread-streams", String(task.concurrency), "--multi-thread-cutoff", "64M"];
const parts = ["--s3-upload-concurrency", String(task.concurrency), "--s3-chunk-size", `${task.block}b`];
const plain = ["--config", "", "--ignore-times", "--s3-no-check-bucket", "--s3-no-head", "--s3-disable-checksum"];

async function rclone(words: readonly string[]): Promise<number> {
  // Debian's release cannot be told of certificates this way, and gives up.
  const { AWS_CA_BUNDLE: _, ...env } = process.env;
  const child = spawn("rclone", [...words, ...plain], { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let lines = 0;
  for await (const _ of createInterface(child.stdout)) lines += 1;
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`rclone ended with ${code}`);
  return lines;
}

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  list: () => rclone(["lsf", "-R", "--files-only", "--fast-list", `${remote}${task.bucket}/data`]),
  get: () => Promise.reject(new Error("it has no call for that")),
  async download() {
    await rclone(["copyto", `${remote}${task.bucket}/big`, task.file, ...streams]);
    return (await stat(task.file)).size;
  },
  async upload() {
    await rclone(["copyto", task.file, `${remote}${task.bucket}/uploaded`, ...parts]);
    return (await stat(task.file)).size;
  },
};

const begin = performance.now();
const result = await tasks[task.kind]();
console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000, cpu: null, result } satisfies ClientReport));
