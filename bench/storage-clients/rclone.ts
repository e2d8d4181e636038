/** rclone: Go. Each task is one run of the program, including its start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { ClientReport, ClientTask } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const { endpoint_url, key, secret } = task.config;
const remote = `:s3,provider=Other,endpoint='${endpoint_url}',access_key_id=${key},secret_access_key=${secret}:`;
const streams = ["--multi-thread-streams", String(task.concurrency), "--multi-thread-cutoff", "64M"];
const parts = ["--s3-upload-concurrency", String(task.concurrency), "--s3-chunk-size", `${task.block}b`];
// Version 2 of the list API: version 1, the default for unknown stores, has no prepared pages.
const plain = ["--config", "", "--ignore-times", "--s3-list-version", "2"];
const fewCalls = ["--s3-no-check-bucket", "--s3-no-head", "--s3-disable-checksum"];

/** The shell prints the CPU time of its children at the end: user and system, in minutes and seconds. */
const script = `rclone "$@"; code=$?; times >&3; exit $code`;

async function rclone(words: readonly string[]): Promise<{ lines: number; cpu: number }> {
  // Debian's release does not support certificates in this way, and fails.
  const { AWS_CA_BUNDLE: _, ...env } = process.env;
  const all = ["-c", script, "rclone", ...words, ...plain, ...fewCalls];
  const child = spawn("/bin/sh", all, { env, stdio: ["ignore", "pipe", "inherit", "pipe"] });
  const ended = once(child, "exit");
  const times = text(child.stdio[3] as AsyncIterable<Buffer>);
  let lines = 0;
  for await (const _ of createInterface(child.stdout as NodeJS.ReadableStream)) lines += 1;
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`rclone ended with ${code}`);
  return { lines, cpu: secondsIn((await times).trim().split("\n").at(-1) ?? "") };
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  let all = "";
  for await (const piece of stream) all += piece.toString();
  return all;
}

function secondsIn(line: string): number {
  let sum = 0;
  for (const [, minutes, seconds] of line.matchAll(/(\d+)m([\d.]+)s/g)) sum += Number(minutes) * 60 + Number(seconds);
  return sum;
}

const tasks: Record<ClientTask["kind"], () => Promise<{ result: number; cpu: number }>> = {
  async list() {
    const { lines, cpu } = await rclone(["lsf", "-R", "--files-only", "--fast-list", `${remote}${task.bucket}/data`]);
    return { result: lines, cpu };
  },
  get: () => Promise.reject(new Error("it has no call for that")),
  async download() {
    const { cpu } = await rclone(["copyto", `${remote}${task.bucket}/big`, task.file, ...streams]);
    return { result: (await stat(task.file)).size, cpu };
  },
  async upload() {
    const { cpu } = await rclone(["copyto", task.file, `${remote}${task.bucket}/uploaded`, ...parts]);
    return { result: (await stat(task.file)).size, cpu };
  },
};

const begin = performance.now();
const done = await tasks[task.kind]();
console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000, ...done } satisfies ClientReport));
