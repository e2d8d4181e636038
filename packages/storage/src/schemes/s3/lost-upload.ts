/**
 * Uploads in parts that the store began although we never heard of them: the answer was lost, and the call repeated.
 * Nobody else would clear them away, and what they hold is paid for.
 */
import { setTimeout as pause } from "node:timers/promises";
import { retry } from "../../concurrency/retry.ts";
import { isStorageError } from "../../errors.ts";
import { elements, elementText } from "../../http/xml.ts";
import type { S3Client } from "./client.ts";

/** When a beginning was asked for, and when the last answer came, on the clock of `performance`. */
export interface Beginning {
  readonly asked: number;
  readonly answered: number;
}

/** The store tells its time in whole seconds, and some look at their clock but once in a second. */
const slack = 2500;

/** Only those of this key that began between the two moments, on the store's clock, and that nobody has put a part in. */
export async function removeLostUploads(client: S3Client, key: string, beginning: Beginning, own = ""): Promise<void> {
  const { sent, received, told, xml } = await listUploads(client, key);
  for (const { start, end } of elements(xml, "Upload")) {
    const uploadId = elementText(xml, "UploadId", start, end) ?? "";
    const age = told - Date.parse(elementText(xml, "Initiated", start, end) ?? "");
    const isLost = received - age >= beginning.asked - slack && sent - age <= beginning.answered + slack;
    if (!isLost || uploadId === own || elementText(xml, "Key", start, end) !== key) continue;
    if (await isEmpty(client, key, uploadId)) await abortUpload(client, key, uploadId);
  }
}

/**
 * With the time that the store told, and the moments between which it did so: an answer may have been long on its way.
 * Where the answer breaks off it is asked for again: nobody else would look for what is lost.
 */
function listUploads(client: S3Client, key: string) {
  return retry(client.retryPolicy, undefined, async () => {
    const sent = performance.now();
    const answer = await client.send({ call: "list", method: "GET", key: "", query: { uploads: "", prefix: key } });
    const received = performance.now();
    return { sent, received, told: Date.parse(answer.header("date") ?? ""), xml: await answer.text() };
  });
}

async function isEmpty(client: S3Client, key: string, uploadId: string): Promise<boolean> {
  const xml = await client.sendForText({ call: "list", method: "GET", key, query: { uploadId } });
  return elements(xml, "Part").next().done === true;
}

/** False: it was not there, but aborted before: perhaps by us, when the answer was lost. */
export async function abortUpload(client: S3Client, key: string, uploadId: string): Promise<boolean> {
  try {
    const answer = await client.send({ call: "delete", method: "DELETE", key, query: { uploadId } });
    // It is done, whatever becomes of the rest of the answer.
    await answer.discard().catch(() => {});
    return true;
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
    return false;
  }
}

/** Milliseconds. */
const pauses = [100, 300, 900];

/** A part that was still arriving may stay, or bring the upload back: it is aborted until the store knows it no more. */
export async function abortUntilGone(client: S3Client, key: string, uploadId: string): Promise<void> {
  let wasThere = await abortUpload(client, key, uploadId);
  for (const milliseconds of pauses) {
    if (!wasThere) return;
    await pause(milliseconds);
    wasThere = await abortUpload(client, key, uploadId);
  }
}
