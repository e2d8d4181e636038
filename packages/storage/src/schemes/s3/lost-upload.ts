/**
 * Removes multipart uploads that the store has started, but whose id is unknown because the answer was lost. The retry
 * has started another upload. Nobody else would remove the lost uploads, and their storage may cost money.
 */
import { setTimeout as pause } from "node:timers/promises";
import { retry } from "../../concurrency/retry.ts";
import { isStorageError } from "../../errors.ts";
import { elements, elementText } from "../../http/xml.ts";
import type { S3Client } from "./client.ts";

/** A multipart upload that the store has started. */
export interface StartedUpload {
  readonly client: S3Client;
  readonly key: string;
  readonly uploadId: string;
}

/** When the upload was first requested and when the last answer arrived, in milliseconds of `performance.now()`. */
export interface Beginning {
  readonly asked: number;
  readonly answered: number;
}

/**
 * Tolerance in milliseconds for times that the store reports. These times are whole seconds, and some stores read their
 * clock only once a second.
 */
const slack = 2500;

/**
 * Removes the uploads of this key that have no parts and that the store started between the two times in `beginning`.
 * Keeps the upload with the id `own`.
 */
export async function removeLostUploads(client: S3Client, key: string, beginning: Beginning, own = ""): Promise<void> {
  const { sent, received, told, xml } = await listUploads(client, key);
  for (const { start, end } of elements(xml, "Upload")) {
    const uploadId = elementText(xml, "UploadId", start, end) ?? "";
    const age = told - Date.parse(elementText(xml, "Initiated", start, end) ?? "");
    const isLost = received - age >= beginning.asked - slack && sent - age <= beginning.answered + slack;
    if (!isLost || uploadId === own || elementText(xml, "Key", start, end) !== key) continue;
    const lost = { client, key, uploadId };
    if (await isEmpty(lost)) await abortUpload(lost);
  }
}

/**
 * Lists unfinished uploads. Also returns the store's time, and the local times before the request and after the answer.
 * The store read its clock between these local times. If the answer breaks off, the request is retried.
 */
function listUploads(client: S3Client, key: string) {
  return retry(client.retryPolicy, undefined, async () => {
    const sent = performance.now();
    const answer = await client.send({ call: "list", method: "GET", key: "", query: { uploads: "", prefix: key } });
    const received = performance.now();
    return { sent, received, told: Date.parse(answer.header("date") ?? ""), xml: await answer.text() };
  });
}

async function isEmpty({ client, key, uploadId }: StartedUpload): Promise<boolean> {
  const xml = await client.sendForText({
    ...{ call: "list", method: "GET", key },
    query: { uploadId },
    root: "ListPartsResult",
  });
  return elements(xml, "Part").next().done === true;
}

/**
 * Aborts an upload. Returns false if the store did not know the upload: an earlier attempt, whose answer was lost, may
 * have aborted it.
 */
export async function abortUpload({ client, key, uploadId }: StartedUpload): Promise<boolean> {
  try {
    const answer = await client.send({ call: "delete", method: "DELETE", key, query: { uploadId } });
    // The upload is aborted even if reading the rest of the answer fails.
    await answer.discard().catch(() => {});
    return true;
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
    return false;
  }
}

/** Pauses in milliseconds before the second, third and fourth attempt to abort an upload. */
const pauses = [100, 300, 900];

/**
 * Aborts an upload several times, until the store no longer knows the upload. A part that was still arriving may
 * survive the first abort, or bring the upload back.
 */
export async function abortUntilGone(upload: StartedUpload): Promise<void> {
  let wasThere = await abortUpload(upload);
  for (const milliseconds of pauses) {
    if (!wasThere) return;
    await pause(milliseconds);
    wasThere = await abortUpload(upload);
  }
}
