/** The vendor's client, used as its documentation describes. */
import { createWriteStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { inFlight } from "../bare.ts";
import { type ClientTask, report } from "./task.ts";

const task = JSON.parse(process.argv[2] ?? "") as ClientTask;
const Bucket = task.bucket;
const client = new S3Client({
  endpoint: task.config["endpoint_url"] ?? "",
  region: "us-east-1",
  forcePathStyle: true,
  credentials: { accessKeyId: task.config["key"] ?? "", secretAccessKey: task.config["secret"] ?? "" },
  requestHandler: { httpAgent: { maxSockets: Math.max(50, task.concurrency) } },
});

const tasks: Record<ClientTask["kind"], () => Promise<number>> = {
  async list() {
    let count = 0;
    for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: "data/" })) {
      count += page.Contents?.length ?? 0;
    }
    return count;
  },
  async get() {
    let bytes = 0;
    let next = 0;
    await inFlight(task.count, task.concurrency, async () => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: `small/${next++ % task.objects}` }));
      const content = await Body?.transformToByteArray();
      bytes += content?.length ?? 0;
    });
    return bytes;
  },
  async download() {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: "big" }));
    await pipeline(Body as Readable, createWriteStream(task.file));
    return (await stat(task.file)).size;
  },
  upload: uploadInParts,
};

/** Like its upload manager: reads parts into memory, several at once. */
async function uploadInParts(): Promise<number> {
  const place = { Bucket, Key: "uploaded" };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(place));
  const file = await open(task.file);
  const { size } = await file.stat();
  const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
  await inFlight(Math.ceil(size / task.block), task.concurrency, async () => {
    const PartNumber = Parts.push({ PartNumber: Parts.length + 1, ETag: undefined });
    const start = (PartNumber - 1) * task.block;
    const Body = Buffer.allocUnsafeSlow(Math.min(task.block, size - start));
    await file.read(Body, { position: start });
    const { ETag } = await client.send(new UploadPartCommand({ ...place, UploadId, PartNumber, Body }));
    Parts[PartNumber - 1] = { PartNumber, ETag };
  });
  await client.send(new CompleteMultipartUploadCommand({ ...place, UploadId, MultipartUpload: { Parts } }));
  await file.close();
  return size;
}

await client.send(new GetObjectCommand({ Bucket, Key: "small/0" })).then(({ Body }) => Body?.transformToByteArray());
await report(tasks[task.kind]);
client.destroy();
