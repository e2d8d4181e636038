/** The HTTP server: everything it serves, put together. */
import type { Socket } from "node:net";
import { ApiError, invalid } from "@millrace/contract";
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController, type onRouteHookHandler } from "fastify";
import type { Logger } from "pino";
import { auditRoutes } from "./audit.ts";
import { clusterRoutes } from "./clusters.ts";
import type { HttpContext } from "./context.ts";
import { credentialsRoutes } from "./credentials.ts";
import { datasetCopyRoutes } from "./dataset-copies.ts";
import { datasetRoutes } from "./datasets.ts";
import { deviceLoginRoutes } from "./device-login.ts";
import { installErrors, sendError, validationError } from "./errors.ts";
import { exportRoutes } from "./exports.ts";
import { fileRoutes } from "./files.ts";
import { invitationRoutes } from "./invitations.ts";
import { jobRoutes } from "./jobs.ts";
import { holdsNul, readJson } from "./json-bodies.ts";
import { logSocket } from "./log-socket.ts";
import { logRoutes } from "./logs.ts";
import { membershipRoutes } from "./memberships.ts";
import { metricsRoute } from "./metrics.ts";
import { accountPages } from "./pages/account.ts";
import { deviceLoginPages } from "./pages/device-login.ts";
import { invitationPages } from "./pages/invitation.ts";
import { jobPages } from "./pages/jobs.ts";
import { referencePage } from "./pages/reference.ts";
import { signInPages } from "./pages/sign-in.ts";
import { tokenPages } from "./pages/tokens.ts";
import { pipelineRoutes } from "./pipelines.ts";
import { profileRoutes } from "./profile.ts";
import { isTrusted } from "./proxies.ts";
import { scheduleRoutes } from "./schedules.ts";
import { sourceRoutes } from "./sources.ts";
import { systemRoutes } from "./system.ts";
import { teamRoutes } from "./teams.ts";
import { tokenRoutes } from "./tokens.ts";
import { userRoutes } from "./users.ts";

/** `onRoute` hears of every registration: for the test that walks them. */
export async function buildApp(context: HttpContext, onRoute?: onRouteHookHandler): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: quiet(context.log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: context.config.bodyLimit,
    trustProxy: isTrusted(context.config.trustProxy),
    forceCloseConnections: "idle",
    // Only a WebSocket: other protocols are offered by clients that are content with plain HTTP.
    http: { shouldUpgradeCallback: (request) => /^websocket$/i.test(request.headers.upgrade ?? "") },
    frameworkErrors: (error, _request, reply) => void sendError(reply, new ApiError("bad_request", error.message)),
    clientErrorHandler: answerBrokenRequest,
    genReqId: () => crypto.randomUUID(),
    // Both forms of every path, without a redirect: the client uses either.
    routerOptions: { ignoreTrailingSlash: true },
    ajv: {
      customOptions: { coerceTypes: false, useDefaults: false, removeAdditional: false, strict: false, verbose: true },
    },
    schemaErrorFormatter: validationError,
  });
  if (onRoute) app.addHook("onRoute", onRoute);
  app.decorateRequest("principal", null);
  app.decorateRequest("caller", null);
  app.decorateRequest("bodyText", "");
  installErrors(app);
  readBodies(app);
  logRequests(app, context);
  jobRoutes(app, context);
  pipelineRoutes(app, context);
  logRoutes(app, context);
  logSocket(app, context);
  clusterRoutes(app, context);
  datasetRoutes(app, context);
  exportRoutes(app, context);
  sourceRoutes(app, context);
  credentialsRoutes(app, context);
  scheduleRoutes(app, context);
  deviceLoginRoutes(app, context);
  profileRoutes(app, context);
  tokenRoutes(app, context);
  userRoutes(app, context);
  teamRoutes(app, context);
  datasetCopyRoutes(app, context);
  membershipRoutes(app, context);
  invitationRoutes(app, context);
  auditRoutes(app, context);
  systemRoutes(app, context);
  metricsRoute(app, context);
  signInPages(app, context);
  deviceLoginPages(app, context);
  invitationPages(app, context);
  accountPages(app, context);
  tokenPages(app, context);
  jobPages(app, context);
  referencePage(app);
  await app.register(async (scope) => fileRoutes(scope, context));
  return app;
}

/** What is not even HTTP is answered in the one shape too. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const body = JSON.stringify(
    new ApiError("bad_request", `The request is not HTTP that can be read (${error.code}).`).toBody(),
  );
  const head = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
}

/** At the usual level the framework has nothing to say that the server does not say itself. */
const quiet = (log: Logger) => (log.level === "info" ? log.child({}, { level: "warn" }) : log) as FastifyBaseLogger;

function readBodies(app: FastifyInstance): void {
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    try {
      const value = readJson(body as string);
      if (request.routeOptions.config.keepsNumbers) request.bodyText = body as string;
      done(null, value);
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string", bodyLimit: 64 * 1024 },
    (_request, body, done) => {
      const fields = Object.fromEntries(new URLSearchParams(body as string));
      if (holdsNul(fields)) return done(invalid("form", "text without NUL characters"));
      done(null, fields);
    },
  );
}

/** One line and one count a request. The line is without query strings: they may hold the secret of a sign-in link. */
function logRequests(app: FastifyInstance, { metrics }: HttpContext): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    // That the store is away or a disk is full is told once, by whoever noticed.
    const level = reply.statusCode >= 500 && reply.statusCode < 503 ? "error" : "debug";
    request.log[level](
      {
        method: request.method,
        path: request.url.split("?")[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      "request",
    );
    const { routeId = request.is404 ? "none" : "page" } = request.routeOptions.config;
    const labels = { route: routeId, method: request.method };
    metrics.requests.add({ ...labels, status: String(reply.statusCode) });
    metrics.requestDuration.observe(labels, reply.elapsedTime / 1000);
    done();
  });
}
