/** HTTP routes for runners: processes on other machines that run one attempt of a job each. */
import { ApiError, type ErrorCode, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RunnerRefused } from "../../engines/runners/runners.ts";
import { networkOf } from "../connections/ip-addresses.ts";
import type { RunnerContext } from "../requests/context.ts";
import { JsonText, register } from "../requests/route.ts";

export function runnerRoutes(app: FastifyInstance, context: RunnerContext): void {
  const { runners } = context;
  app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  // Before the body is read, as for users.
  app.addHook("onRequest", (request) => answering(() => authenticateRunner(context, request)));

  register(app, context, routes.runnerClaim, ({ query, body }) =>
    answering(async () => {
      const { token, job } = runners.claim(query.key, body);
      // The job is JSON already.
      return new JsonText(`{"token":${JSON.stringify(token)},${job.slice(1)}`);
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
      if (!Buffer.isBuffer(body)) throw new ApiError("bad_request", "The body must be the bytes of the log.");
      return { size: await runners.append(query.key, query.offset, body) };
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
}

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

const codes: Readonly<Record<RunnerRefused["why"], ErrorCode>> = {
  taken: "wrong_state",
  incomplete: "wrong_state",
  full: "wrong_state",
  over: "gone",
  missing: "not_found",
};

async function answering<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RunnerRefused ? new ApiError(codes[error.why], error.message) : error;
  }
}
