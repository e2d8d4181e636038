/** Our own client, as a process: does what its argument says, and prints how long that took. */
import { openStorage } from "@millrace/storage";
import { inFlight } from "../bare.ts";
import { type ClientTask, report } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const { block, concurrency } = task;
const storage = openStorage(`s3://${task.bucket}`, {
  endpoint_url: task.endpoint,
  key: task.key,
  secret: task.secret,
  default_block_size: block,
  max_concurrency: concurrency,
});

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  async list() {
    let count = 0;
    for await (const _ of storage.list({ prefix: "data/", recursive: true })) count += 1;
    return count;
  },
  async get() {
    let bytes = 0;
    let next = 0;
    await inFlight(task.count, concurrency, async () => {
      const content = await storage.read(`small/${next++ % 1000}`);
      bytes += content.length;
    });
    return bytes;
  },
  async download() {
    return storage.download("big", task.file);
  },
  async upload() {
    return (await storage.upload(task.file, "uploaded")).size;
  },
};

await storage.read("small/0");
await report(tasks[task.kind]);
await storage.close();
