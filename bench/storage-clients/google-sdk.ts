/** The vendor's client of gs, used as its documentation describes. */
import { stat } from "node:fs/promises";
import { Storage, TransferManager } from "@google-cloud/storage";
import { inFlight } from "../bare.ts";
import { type ClientTask, report } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const client = new Storage({ apiEndpoint: task.config["endpoint_url"] ?? "", projectId: "p" });
const bucket = client.bucket(task.bucket);

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  async list() {
    let count = 0;
    for await (const _ of bucket.getFilesStream({ prefix: "data/" })) count += 1;
    return count;
  },
  async get() {
    let bytes = 0;
    let next = 0;
    await inFlight(task.count, task.concurrency, async () => {
      const [content] = await bucket.file(`small/${next++ % task.objects}`).download({ validation: false });
      bytes += content.length;
    });
    return bytes;
  },
  async download() {
    const options = { destination: task.file, concurrencyLimit: task.concurrency, chunkSizeBytes: task.block };
    await new TransferManager(bucket).downloadFileInChunks("big", { ...options, validation: false });
    return (await stat(task.file)).size;
  },
  async upload() {
    await bucket.upload(task.file, { destination: "uploaded", resumable: true, validation: false });
    return (await stat(task.file)).size;
  },
};

await bucket.file("small/0").download({ validation: false });
await report(tasks[task.kind]);
