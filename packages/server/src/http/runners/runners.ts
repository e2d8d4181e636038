/** HTTP routes for runners: processes on other machines that run one attempt of a job each. */
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Presented, RunnerRefused } from "../../engines/runners/runners.ts";
import type { RunnerContext } from "../requests/context.ts";
import { JsonText, register } from "../requests/route.ts";

export function runnerRoutes(app: FastifyInstance, context: RunnerContext): void {
  const { runners } = context;
  app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );

  register(app, context, routes.runnerClaim, ({ query, body, request }) =>
    asRunner(context, request, async () => {
      const { token, job } = runners.claim(presented(query, request), body);
      // The job is JSON already.
      return new JsonText(`{"token":${JSON.stringify(token)},${job.slice(1)}`);
    }),
  );
  register(app, context, routes.runnerFile, ({ query, request, reply }) =>
    asRunner(context, request, async () => {
      const content = runners.file(presented(query, request), query.index);
      void reply.type("application/octet-stream").send(content);
      return undefined;
    }),
  );
  register(app, context, routes.runnerLog, ({ query, request }) =>
    asRunner(context, request, async () => {
      const { body } = request;
      if (!Buffer.isBuffer(body)) throw new ApiError("bad_request", "The body must be the bytes of the log.");
      return { size: await runners.append(presented(query, request), query.offset, body) };
    }),
  );
  register(app, context, routes.runnerBeat, ({ query, body, request }) =>
    asRunner(context, request, () => runners.beat(presented(query, request), body, goneSignal(request))),
  );
  register(app, context, routes.runnerEnd, ({ query, body, request }) =>
    asRunner(context, request, async () => {
      runners.end(presented(query, request), body);
      return {};
    }),
  );
}

const presented = ({ key }: { readonly key: string }, { headers }: FastifyRequest): Presented => ({
  key,
  secret: /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? "",
});

/** Aborted when the runner's connection closes. */
function goneSignal({ raw }: FastifyRequest): AbortSignal {
  const gone = new AbortController();
  raw.socket.once("close", () => gone.abort());
  return gone.signal;
}

/** Answers a runner that is refused. Only wrong secrets count toward the limit of an address. */
async function asRunner<T>(context: RunnerContext, request: FastifyRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RunnerRefused)) throw error;
    if (error.why !== "wrong") throw new ApiError("wrong_state", error.message);
    context.limits.strangers.take(await context.callers.keyOf(request));
    throw new ApiError("unauthorized", error.message);
  }
}
