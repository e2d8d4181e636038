/** The vendor's client of az, used as its documentation describes. */
import { stat } from "node:fs/promises";
import { BlobServiceClient } from "@azure/storage-blob";
import { inFlight } from "../bare.ts";
import { type ClientTask, report } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const { concurrency, block } = task;
const service = BlobServiceClient.fromConnectionString(task.config["connection_string"] ?? "");
const container = service.getContainerClient(task.bucket);

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  async list() {
    let count = 0;
    for await (const _ of container.listBlobsFlat({ prefix: "data/" })) count += 1;
    return count;
  },
  async get() {
    let bytes = 0;
    let next = 0;
    await inFlight(task.count, concurrency, async () => {
      const content = await container.getBlobClient(`small/${next++ % task.objects}`).downloadToBuffer();
      bytes += content.length;
    });
    return bytes;
  },
  async download() {
    await container.getBlobClient("big").downloadToFile(task.file);
    return (await stat(task.file)).size;
  },
  async upload() {
    await container.getBlockBlobClient("uploaded").uploadFile(task.file, { concurrency, blockSize: block });
    return (await stat(task.file)).size;
  },
};

await container.getBlobClient("small/0").downloadToBuffer();
await report(tasks[task.kind]);
