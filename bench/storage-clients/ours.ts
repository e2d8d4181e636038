/** Our own client, as a process: runs the task in its argument, and prints the duration. */
import { openStorage } from "@millrace/storage";
import { inFlight } from "../bare.ts";
import { type ClientTask, report } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const { block, concurrency } = task;
const storage = openStorage(`${task.scheme}://${task.bucket}`, task.config);

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  async list() {
    let count = 0;
    for await (const _ of storage.list({ prefix: "data/", recursive: true, concurrency })) count += 1;
    return count;
  },
  async get() {
    let bytes = 0;
    let next = 0;
    await inFlight(task.count, concurrency, async () => {
      const content = await storage.read(`small/${next++ % task.objects}`);
      bytes += content.length;
    });
    return bytes;
  },
  download: () => storage.download("big", task.file, { concurrency, blockSize: block }),
  async upload() {
    return (await storage.upload(task.file, "uploaded", { concurrency, partSize: block })).size;
  },
};

await storage.read("small/0");
await report(tasks[task.kind]);
await storage.close();
