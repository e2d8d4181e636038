/** HTTP routes for logs: whole, by byte range, and as pages of pieces. */
import { Readable } from "node:stream";
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Team } from "../../domain/access/principals.ts";
import { requireTeamJob } from "../../domain/jobs/jobs.ts";
import type { LogSource } from "../../engines/engine.ts";
import { maskerOf, openAttemptLog, openJobLog } from "../../job-logs/job-log.ts";
import { LogIndexes } from "../../job-logs/log-indexes.ts";
import { type OpenedLog, readLogLines, searchLogLines } from "../../job-logs/log-lines.ts";
import { readLogPage } from "../../job-logs/log-pages.ts";
import { nextLook } from "../../turns/large-answers.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function logRoutes(app: FastifyInstance, context: JobContext): void {
  const indexes = new LogIndexes();
  register(app, context, routes.getLogLines, async ({ team, params, query }) => {
    const { first_line: from, limit = 200, attempt } = query;
    return withLines({ context, indexes }, team, { id: params.job_id, attempt }, (log) =>
      readLogLines(log, from, limit),
    );
  });
  register(app, context, routes.searchLog, async ({ team, params, query }) => {
    const { kind = "literal", text, match_case = false, first_line: from = 1, limit = 200, attempt } = query;
    const question = { kind, text, matchCase: match_case, from, limit };
    return withLines({ context, indexes }, team, { id: params.job_id, attempt }, (log) =>
      searchLogLines(log, question),
    );
  });
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
      return await readLogPage(source, query.after ?? 0, ended, query.limit ?? 1000);
    } finally {
      await source.close();
    }
  });
}

interface Indexed {
  readonly context: JobContext;
  readonly indexes: LogIndexes;
}

/** Opens the log of a job, or of one of its attempts, with the index of its lines. */
async function withLines<T>(
  { context, indexes }: Indexed,
  team: Team,
  { id: given, attempt }: { id: string; attempt: number | undefined },
  use: (opened: OpenedLog) => Promise<T>,
): Promise<T> {
  const id = given.toLowerCase();
  await requireTeamJob(context, team, id);
  const { log, ended } = await (attempt === undefined ? openJobLog(context, id) : openAttemptLog(context, id, attempt));
  try {
    const mask = await maskerOf(context, id);
    return await use({ log, ended, mask, index: indexes.of(team.id, `${id} ${attempt ?? "all"}`) });
  } finally {
    await log.close();
  }
}

/** Streams the log and closes it at the end. A slow reader keeps at most one chunk in memory. */
async function sendLog(request: FastifyRequest, reply: FastifyReply, source: LogSource): Promise<undefined> {
  const size = await source.size();
  const range = readRange(request.headers.range, size);
  if (range === "unsatisfiable") {
    await source.close();
    reply.header("content-range", `bytes */${size}`);
    throw new ApiError(
      "range_not_satisfiable",
      `The requested range starts after the end of the log, which has ${size} bytes so far.`,
    );
  }
  const { start, end } = range ?? { start: 0, end: size };
  if (range) reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${size}`);
  reply
    .header("accept-ranges", "bytes")
    .header("content-length", end - start)
    .type("text/plain; charset=utf-8");
  const body = Readable.from(chunks(source, start, end), { objectMode: false });
  body.once("close", () => void source.close());
  await reply.send(body);
  return undefined;
}

/**
 * Yields the chunks of a log from `start` to `end`. The end is fixed in advance, so that the answer has a content
 * length.
 */
async function* chunks(source: LogSource, start: number, end: number): AsyncGenerator<Buffer> {
  for (let offset = start; offset < end; ) {
    // Masking a chunk takes milliseconds, so all downloads together process one chunk per iteration of the event loop.
    await nextLook();
    const bytes = await source.read(offset, Math.min(256 * 1024, end - offset));
    // The log was truncated in the meantime. The content length was already sent, so the connection must break off.
    if (bytes.length === 0) throw new Error("the log became shorter while it was sent, so the answer is incomplete");
    offset += bytes.length;
    yield bytes;
  }
}

/**
 * Parses a Range header with one byte range. Returns undefined for a list of ranges and for another unit than bytes.
 * The whole log is then sent, as the standard allows.
 */
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
