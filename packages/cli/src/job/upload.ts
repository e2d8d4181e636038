/** Uploads files for a job: streams them from disk, and shows progress on a terminal. */
import { openAsBlob, statSync } from "node:fs";
import { basename } from "node:path";
import { routes } from "@millrace/contract";
import type { Connection } from "../connection.ts";
import { messageOf, usageError } from "../errors.ts";
import type { Output } from "../output.ts";
import { sizeText } from "./view.ts";

const progressEvery = 100;

/**
 * Uploads files and returns their ids for the job request. Opens all files before it sends the first one, so that a
 * missing file is noticed before anything is sent.
 */
export async function uploadFiles(connection: Connection, paths: readonly string[], output: Output): Promise<string[]> {
  const files: { name: string; blob: Blob }[] = [];
  for (const path of paths) files.push({ name: basename(path), blob: await openFile(path) });
  const ids: string[] = [];
  for (const { name, blob } of files) {
    const show = (sent: number) =>
      output.progress(`Uploading ${name}: ${sizeText(Math.min(sent, blob.size))} of ${sizeText(blob.size)}`);
    const client = output.showsProgress
      ? connection.clientWith((send) => countingFetch(send, show))
      : connection.client;
    ids.push(String((await client.upload(routes.uploadFile, blob, name)).id));
  }
  output.clearProgress();
  return ids;
}

async function openFile(path: string): Promise<Blob> {
  try {
    if (!statSync(path).isFile())
      throw new Error("The path leads to a folder or a special file, and only regular files can be uploaded");
    return await openAsBlob(path, { type: "application/octet-stream" });
  } catch (error) {
    throw usageError(`Cannot read ${path}`, { why: messageOf(error), cause: error });
  }
}

/** Returns a `fetch` that sends the body as a stream and reports how many bytes were sent. */
function countingFetch(send: typeof fetch, onSent: (bytes: number) => void): typeof fetch {
  return (input, init) => {
    const { headers, body } = new Request(input, init);
    let sent = 0;
    let told = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        sent += chunk.byteLength;
        if (Date.now() - told > progressEvery) {
          told = Date.now();
          onSent(sent);
        }
        controller.enqueue(chunk);
      },
    });
    return send(input, { ...init, headers, body: body?.pipeThrough(counter) ?? null, duplex: "half" });
  };
}
