/** opendal's Node package: Rust. Installed below .cache, because only this measurement needs it. */
import { createWriteStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { inFlight } from "../bare.ts";
import { type ClientTask, report } from "./task.ts";

interface Operator {
  list(path: string, options: { recursive: boolean }): Promise<unknown[]>;
  read(path: string): Promise<Buffer>;
  reader(path: string): Promise<{ createReadStream(): Readable }>;
  writer(path: string, options: object): Promise<{ write(bytes: Buffer): Promise<void>; close(): Promise<void> }>;
}

const [, , folder = "", words = ""] = process.argv;
const task = JSON.parse(words) as ClientTask;
const installed = createRequire(join(folder, "package.json"))("opendal") as {
  Operator: new (scheme: string, options: Record<string, string>) => Operator;
};
const operator = new installed.Operator("s3", {
  root: "/",
  bucket: task.bucket,
  endpoint: task.config["endpoint_url"] ?? "",
  region: "us-east-1",
  access_key_id: task.config["key"] ?? "",
  secret_access_key: task.config["secret"] ?? "",
});

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  list: async () => (await operator.list("data/", { recursive: true })).length,
  async get() {
    let bytes = 0;
    let next = 0;
    await inFlight(task.count, task.concurrency, async () => {
      const content = await operator.read(`small/${next++ % task.objects}`);
      bytes += content.length;
    });
    return bytes;
  },
  async download() {
    await pipeline((await operator.reader("big")).createReadStream(), createWriteStream(task.file));
    return (await stat(task.file)).size;
  },
  async upload() {
    const writer = await operator.writer("uploaded", { chunk: BigInt(task.block), concurrent: task.concurrency });
    const file = await open(task.file);
    const { size } = await file.stat();
    const piece = Buffer.allocUnsafeSlow(task.block);
    for (let start = 0; start < size; start += task.block) {
      const { bytesRead } = await file.read(piece, { position: start });
      await writer.write(piece.subarray(0, bytesRead));
    }
    await writer.close();
    await file.close();
    return size;
  },
};

await operator.read("small/0");
await report(tasks[task.kind]);
