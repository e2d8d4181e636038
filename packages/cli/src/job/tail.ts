/** Reads parts of a log, byte for byte, with range requests. */
import { ApiError, routes } from "@millrace/contract";
import type { Connection } from "../connection.ts";
import type { Output } from "../output.ts";

const firstWindow = 64 * 1024;
const largestWindow = 8 * 1024 * 1024;

/** Selects the log of a job or, if `attempt` is set, of one attempt. */
interface LogChoice {
  readonly jobId: string;
  readonly attempt: number | undefined;
}

/**
 * Returns the byte offset at which the last `lines` lines begin. Reads backwards from the end of the log, so that a
 * long log takes no longer than a short one.
 */
export async function tailOffset(connection: Connection, log: LogChoice, lines: number): Promise<number> {
  let end = await logSize(connection, log);
  if (lines === 0) return end;
  // The newline at the end of the last line does not start another line.
  let missing = lines + 1;
  let isEnd = true;
  for (let window = firstWindow; end > 0; window = Math.min(window * 2, largestWindow)) {
    const start = Math.max(0, end - window);
    const bytes = await readRange(connection, log, start, end);
    if (isEnd && bytes.at(-1) !== 10) missing--;
    isEnd = false;
    for (let at = bytes.lastIndexOf(10); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(10, at - 1)) {
      if (--missing === 0) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/** Prints the log from a byte offset to its current end. */
export async function printLog(connection: Connection, log: LogChoice, after: number, output: Output): Promise<void> {
  const response = await requestLog(connection, log, after > 0 ? `bytes=${after}-` : undefined);
  if (!response?.body) return;
  for await (const chunk of response.body) await output.raw(chunk);
}

async function logSize(connection: Connection, log: LogChoice): Promise<number> {
  const response = await requestLog(connection, log, "bytes=-1");
  await response?.body?.cancel();
  return Number(/\/(\d+)$/.exec(response?.headers.get("content-range") ?? "")?.[1] ?? 0);
}

async function readRange(connection: Connection, log: LogChoice, start: number, end: number): Promise<Buffer> {
  const response = await requestLog(connection, log, `bytes=${start}-${end - 1}`);
  return Buffer.from((await response?.arrayBuffer()) ?? new ArrayBuffer());
}

/** Requests the log or a range of it. Returns undefined if the range starts at or after the end of the log. */
async function requestLog(
  { client }: Connection,
  { jobId, attempt }: LogChoice,
  range: string | undefined,
): Promise<Response | undefined> {
  try {
    return await client.request(
      routes.getJobLogs,
      { params: { job_id: jobId }, query: { format: "text", ...(attempt === undefined ? {} : { attempt }) } },
      range ? { headers: { range } } : {},
    );
  } catch (error) {
    if (error instanceof ApiError && error.code === "range_not_satisfiable") return undefined;
    throw error;
  }
}
