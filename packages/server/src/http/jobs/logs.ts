/** Logs over HTTP: bytes, ranges, and pages of pieces. */
import { Readable } from "node:stream";
import { ApiError, type LogPage, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { requireTeamJob } from "../../domain/jobs/jobs.ts";
import type { LogSource } from "../../engines/engine.ts";
import { openAttemptLog, openJobLog } from "../../job-logs/job-log.ts";
import { readPieces } from "../../logs/read-pieces.ts";
import { nextLook } from "../../turns/large-answers.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function logRoutes(app: FastifyInstance, context: JobContext): void {
  register(app, context, routes.getJobLogs, async ({ team, params, query, request, reply }) => {
    const id = params.job_id.toLowerCase();
    await requireTeamJob(context, team, id);
    const { attempt } = query;
    const { log: source, ended } = await (attempt === undefined
      ? openJobLog(context, id)
      : openAttemptLog(context, id, attempt));
    const asJson = query.format ? query.format === "json" : (request.headers.accept ?? "").includes("application/json");
    if (!asJson) return sendLog(request, reply, source);
    try {
      return await readPage(source, query.after ?? 0, ended, query.limit ?? 1000);
    } finally {
      await source.close();
    }
  });
}

/** Pieces are small or large, so a page is filled in several goes, up to its count or about a megabyte. */
async function readPage(source: LogSource, after: number, ended: boolean, limit: number): Promise<LogPage> {
  const logs: LogPage["logs"] = [];
  let next = after;
  for (;;) {
    const batch = await readPieces(source, next, ended, { maxPieces: limit - logs.length });
    logs.push(...batch.pieces);
    next = batch.next;
    if (batch.finished) return { logs, next: null, complete: true };
    if (batch.pieces.length === 0 || logs.length >= limit || next - after >= 1024 * 1024)
      return { logs, next, complete: false };
  }
}

/** Streamed, and closed in the end: a reader that takes nothing has no more than a piece of it waiting. */
export async function sendLog(request: FastifyRequest, reply: FastifyReply, source: LogSource): Promise<undefined> {
  const size = await source.size();
  const range = readRange(request.headers.range, size);
  if (range === "unsatisfiable") {
    await source.close();
    reply.header("content-range", `bytes */${size}`);
    throw new ApiError("range_not_satisfiable", `The log has ${size} bytes so far.`);
  }
  const { start, end } = range ?? { start: 0, end: size };
  if (range) reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${size}`);
  reply
    .header("accept-ranges", "bytes")
    .header("content-length", end - start)
    .header("x-content-type-options", "nosniff")
    .type("text/plain; charset=utf-8");
  const body = Readable.from(chunks(source, start, end), { objectMode: false });
  body.once("close", () => void source.close());
  await reply.send(body);
  return undefined;
}

/** The end is fixed when the answer begins, so that its length can be told. */
async function* chunks(source: LogSource, start: number, end: number): AsyncGenerator<Buffer> {
  for (let offset = start; offset < end; ) {
    // A piece of a log takes milliseconds to be masked: of all downloads one is, in a round.
    await nextLook();
    const bytes = await source.read(offset, Math.min(256 * 1024, end - offset));
    // It was cut meanwhile. An answer that ends early would be waited for: this one breaks off.
    if (bytes.length === 0) throw new Error("the log became shorter while it was sent");
    offset += bytes.length;
    yield bytes;
  }
}

/** One range; a list of ranges or another unit is answered with the whole, as the standard allows. */
export function readRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | "unsatisfiable" | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  if (match[1] === "") {
    const suffix = Number(match[2]);
    return suffix === 0 || size === 0 ? "unsatisfiable" : { start: Math.max(0, size - suffix), end: size };
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? size : Math.min(size, Number(match[2]) + 1);
  if (start >= size) return "unsatisfiable";
  return start < end ? { start, end } : undefined;
}
