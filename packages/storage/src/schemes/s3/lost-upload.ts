/**
 * Uploads in parts that the store began although we never heard of them: the answer was lost, and the call repeated.
 * Nobody else would clear them away, and what they hold is paid for.
 */
import { isStorageError } from "../../errors.ts";
import { elements, elementText } from "../../xml.ts";
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
  const sent = performance.now();
  const answer = await client.send({ call: "list", method: "GET", key: "", query: { uploads: "", prefix: key } });
  // Told at some moment between: an answer may have been long on its way.
  const received = performance.now();
  const told = Date.parse(answer.header("date") ?? "");
  const xml = await answer.text();
  for (const { start, end } of elements(xml, "Upload")) {
    const uploadId = elementText(xml, "UploadId", start, end) ?? "";
    const age = told - Date.parse(elementText(xml, "Initiated", start, end) ?? "");
    const isLost = received - age >= beginning.asked - slack && sent - age <= beginning.answered + slack;
    if (!isLost || uploadId === own || elementText(xml, "Key", start, end) !== key) continue;
    if (await isEmpty(client, key, uploadId)) await abortUpload(client, key, uploadId);
  }
}

async function isEmpty(client: S3Client, key: string, uploadId: string): Promise<boolean> {
  const xml = await client.sendForText({ call: "list", method: "GET", key, query: { uploadId } });
  return elements(xml, "Part").next().done === true;
}

/** One that is not there was aborted before: perhaps by us, when the answer was lost. */
export async function abortUpload(client: S3Client, key: string, uploadId: string): Promise<void> {
  try {
    const answer = await client.send({ call: "delete", method: "DELETE", key, query: { uploadId } });
    await answer.discard();
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}
