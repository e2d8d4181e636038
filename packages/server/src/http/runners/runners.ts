/** HTTP routes for runners: processes on other machines that run one attempt of a job each. */
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { beginCopied, endCopied, free } from "../connections/freed-bytes.ts";
import { networkOf } from "../connections/ip-addresses.ts";
import type { RunnerContext } from "../requests/context.ts";
import { JsonText, register } from "../requests/route.ts";
import { packRoutes } from "./packs.ts";
import { answering } from "./refusals.ts";

export function runnerRoutes(app: FastifyInstance, context: RunnerContext): void {
  const { runners } = context;
  app.addContentTypeParser("application/octet-stream", readParts);
  // Before the body is read, as for users.
  app.addHook("onRequest", (request) => answering(() => authenticateRunner(context, request)));

  register(app, context, routes.runnerClaim, ({ query, body }) =>
    answering(async () => {
      const { job, ...rest } = runners.claim(query.key, body);
      // The job is JSON already.
      return new JsonText(`${JSON.stringify(rest).slice(0, -1)},${job.slice(1)}`);
    }),
  );
  register(app, context, routes.runnerFile, ({ query, reply }) =>
    answering(async () => {
      void reply.type("application/octet-stream").send(await runners.file(query.key, query.index));
      return undefined;
    }),
  );
  register(app, context, routes.runnerLog, ({ query, request }) =>
    answering(async () => {
      const { body } = request;
      if (!isParts(body)) throw new ApiError("bad_request", "The body must be the bytes of the log.");
      try {
        return { size: await runners.append(query.key, query.offset, body) };
      } finally {
        body.forEach(free);
      }
    }),
  );
  register(app, context, routes.runnerBeat, ({ query, body, reply }) =>
    answering(() => runners.beat(query.key, body, goneSignal(reply))),
  );
  register(app, context, routes.runnerEnd, ({ query, body }) =>
    answering(async () => {
      runners.end(query.key, body);
      return {};
    }),
  );
  void app.register(async (scope) => packRoutes(scope, context));
}

/** Reads a body in the parts in which it arrives: putting them together would copy a long log once more. */
async function readParts({ raw, routeOptions }: FastifyRequest): Promise<Buffer[]> {
  const { bodyLimit } = routeOptions;
  const tooLarge = () => new ApiError("too_large", `A piece of a log may have at most ${bodyLimit} bytes.`);
  const parts: Buffer[] = [];
  let size = 0;
  if (Number(raw.headers["content-length"]) > bodyLimit) throw tooLarge();
  beginCopied(raw.socket);
  try {
    // A request that is too large is answered all the same: a runner then sends less.
    for await (const part of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > bodyLimit) throw tooLarge();
      parts.push(part);
    }
    return parts;
  } finally {
    endCopied(raw.socket);
  }
}

const isParts = (body: unknown): body is readonly Buffer[] => Array.isArray(body) && body.every(Buffer.isBuffer);

/** Checks the secret of an attempt. Wrong ones count against the same limit as wrong tokens of users. */
async function authenticateRunner(context: RunnerContext, request: FastifyRequest): Promise<void> {
  const { runners, limits, connections } = context;
  const { key } = request.query as { readonly key?: unknown };
  const secret = /^bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? "")?.[1];
  const isClaim = request.routeOptions.config.routeId === routes.runnerClaim.id;
  if (secret === undefined || !runners.knows({ key: String(key), kind: isClaim ? "code" : "token", secret })) {
    if (secret !== undefined) limits.badTokens.take(networkOf(request.ip ?? ""));
    throw new ApiError("unauthorized", "The code or token of the runner is not valid for this attempt.");
  }
  request.runner = String(key);
  connections.knowRunner(request.raw.socket, request.runner);
}

/** Aborted when the runner's connection closes. A connection may serve many beats, so its socket is not listened to. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  return gone.signal;
}
