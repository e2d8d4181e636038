/**
 * Packs many small requests into the body of one request, in the multipart format of Google Cloud Storage and Azure.
 */
import { randomUUID } from "node:crypto";
import { type RetryPolicy, retry } from "./concurrency/retry.ts";
import { describePlace, type ErrorPlace, StorageError } from "./errors.ts";

/**
 * Returns the body of a batch and its content type. Requests are numbered from 0; `writeNumber` formats a number as the
 * store expects.
 */
export function batchBody(requests: readonly string[], writeNumber: (number: number) => string) {
  const boundary = `batch_${randomUUID()}`;
  const parts = requests.map((request, number) => {
    const head = `content-type: application/http\r\ncontent-transfer-encoding: binary\r\ncontent-id: ${writeNumber(number)}`;
    return `--${boundary}\r\n${head}\r\n\r\n${request}\r\n`;
  });
  return { type: `multipart/mixed; boundary=${boundary}`, body: Buffer.from(`${parts.join("")}--${boundary}--\r\n`) };
}

export interface BatchAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Returns the answers, keyed by the number of their request. */
export function parseBatch(text: string): Map<number, BatchAnswer> {
  const boundary = /^\s*(--\S+)/.exec(text)?.[1] ?? "--";
  const answers = new Map<number, BatchAnswer>();
  for (const part of text.split(boundary)) {
    const number = /^content-id:\s*<?(?:response-)?(\d+)/im.exec(part)?.[1];
    const at = part.search(/^HTTP\/1\.\d \d{3}/m);
    if (number === undefined || at < 0) continue;
    const [head = "", ...body] = part.slice(at).split(/\r?\n\r?\n/);
    answers.set(Number(number), { status: Number(head.slice(9, 12)), head, body: body.join("\n\n").trim() });
  }
  return answers;
}

/** A failed request of a batch. */
export interface BatchFailure {
  readonly key: string;
  readonly error: StorageError;
}

export const noAnswer = (place: ErrorPlace) =>
  new StorageError(
    "network",
    `${describePlace(place)}: the store did not report whether this object was removed; remove it again`,
    place,
  );

/**
 * Sends a batch. Each request in the batch succeeds or fails by itself. Requests that failed with a retryable error are
 * sent again, in a new batch. Throws at once if an error is not retryable.
 */
export async function retryFailures(
  keys: readonly string[],
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  send: (keys: readonly string[]) => Promise<BatchFailure[]>,
): Promise<void> {
  let left = keys;
  await retry(policy, signal, async () => {
    const failures = await send(left);
    const lasting = failures.find(({ error }) => !error.retryable);
    if (lasting) throw lasting.error;
    left = failures.map(({ key }) => key);
    if (failures[0]) throw failures[0].error;
  });
}
