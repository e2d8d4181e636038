/** Packs many small requests into the body of one, in the format of the object stores. */
import { randomUUID } from "node:crypto";
import { type RetryPolicy, retry } from "./concurrency/retry.ts";
import { describePlace, type ErrorPlace, StorageError } from "./errors.ts";

/** Numbering begins at 0; stores differ in how the number is written. */
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

/** Returns the answers by the number of their request. */
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

/** A request of a batch that failed. */
export interface BatchFailure {
  readonly key: string;
  readonly error: StorageError;
}

export const noAnswer = (place: ErrorPlace) =>
  new StorageError("network", `${describePlace(place)}: the store's batch answer has no result for this object`, place);

/** Each request of a batch fails or succeeds alone: only the retryable failures are sent again. */
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
