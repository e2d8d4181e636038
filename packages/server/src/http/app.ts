/** Assembles the HTTP server: hooks, routes and pages. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { ApiError } from "@millrace/contract";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type onRouteHookHandler,
} from "fastify";
import type { Logger } from "pino";
import type { RequestSettings } from "../configuration/groups/requests.ts";
import { BodiesUnderWay } from "./connections/bodies-under-way.ts";
import { tooLate } from "./connections/connections.ts";
import { lookFirst } from "./connections/first-look.ts";
import { hostCheck } from "./connections/hosts.ts";
import { networkOf } from "./connections/ip-addresses.ts";
import { isTrusted } from "./connections/proxies.ts";
import { answerAndClose } from "./connections/raw-answers.ts";
import { dropRest } from "./connections/unread-bodies.ts";
import { datasetCopyRoutes } from "./datasets/dataset-copies.ts";
import { datasetRoutes } from "./datasets/datasets.ts";
import { exportRoutes } from "./datasets/exports.ts";
import { sourceRoutes } from "./datasets/sources.ts";
import { storageRoutes } from "./datasets/storage.ts";
import { notificationRoutes } from "./events/notifications.ts";
import { webhookRoutes } from "./events/webhooks.ts";
import { clusterRoutes } from "./jobs/clusters.ts";
import { credentialsRoutes } from "./jobs/credentials.ts";
import { fileRoutes } from "./jobs/files.ts";
import { jobRoutes } from "./jobs/jobs.ts";
import { logSocket } from "./jobs/log-socket.ts";
import { logRoutes } from "./jobs/logs.ts";
import { liveRoutes } from "./live/live.ts";
import { accountPages } from "./pages/account.ts";
import { deviceLoginPages } from "./pages/device-login.ts";
import { readForms } from "./pages/forms.ts";
import { invitationPages } from "./pages/invitation.ts";
import { sendNotFoundPage, wantsPage } from "./pages/not-found.ts";
import { referencePage } from "./pages/reference.ts";
import { signInPages } from "./pages/sign-in.ts";
import { tokenPages } from "./pages/tokens.ts";
import { webApp } from "./pages/web-app.ts";
import { auditRoutes } from "./people/audit.ts";
import { deviceLoginRoutes } from "./people/device-login.ts";
import { invitationRoutes } from "./people/invitations.ts";
import { membershipRoutes } from "./people/memberships.ts";
import { profileRoutes } from "./people/profile.ts";
import { serviceAccountRoutes } from "./people/service-accounts.ts";
import { successionRoutes } from "./people/succession.ts";
import { teamRoutes } from "./people/teams.ts";
import { tokenRoutes } from "./people/tokens.ts";
import { userRoutes } from "./people/users.ts";
import { pipelineRoutes } from "./pipelines/pipelines.ts";
import type { HttpContext } from "./requests/context.ts";
import { installErrors, nothingThere, sendError, validationError } from "./requests/errors.ts";
import { readJson } from "./requests/json-bodies.ts";
import { lazySchemas } from "./requests/lazy-schemas.ts";
import { dropPrefix } from "./requests/site.ts";
import { runnerRoutes } from "./runners/runners.ts";
import { backfillRoutes } from "./schedules/backfills.ts";
import { scheduleRoutes } from "./schedules/schedules.ts";
import { taskRoutes } from "./schedules/tasks.ts";
import { metricsRoute } from "./system/metrics.ts";
import { systemRoutes } from "./system/system.ts";

/**
 * Builds the Fastify application. `onRoute` is called for each registered route, which lets a test check all routes.
 */
export async function buildApp(context: HttpContext, onRoute?: onRouteHookHandler): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: quiet(context.log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: context.requests.bodyLimit,
    trustProxy: isTrusted(context.listening.trustProxy),
    forceCloseConnections: "idle",
    // A machine that is very slow at the start only starts later: no limit in seconds makes it fail.
    pluginTimeout: 0,
    http: {
      shouldUpgradeCallback: asksForSocket,
      headersTimeout: context.requests.requestSeconds * 1000,
      connectionsCheckingInterval: Math.min(5000, context.requests.requestSeconds * 250),
    },
    frameworkErrors: (error, _request, reply) => void sendError(reply, new ApiError("bad_request", error.message)),
    clientErrorHandler: answerBrokenRequest(context.requests),
    genReqId: () => crypto.randomUUID(),
    // Most requests log nothing, so they get no logger of their own: each line names its request as `reqId`.
    childLoggerFactory: (log) => log,
    // Every path works with and without a trailing slash, without a redirect, because clients use both forms.
    routerOptions: { ignoreTrailingSlash: true },
    schemaErrorFormatter: validationError,
  });
  app.setValidatorCompiler(lazySchemas());
  lookFirst(app.server);
  dropPrefix(app.server, context.site);
  if (onRoute) app.addHook("onRoute", onRoute);
  app.decorateRequest("principal", null);
  app.decorateRequest("caller", null);
  app.decorateRequest("runner", "");
  app.decorateRequest("bodyText", "");
  installErrors(app);
  readBodies(app);
  checkRequests(app, context);
  boundMemory(app, context);
  logRequests(app, context);
  jobRoutes(app, context);
  pipelineRoutes(app, context);
  logRoutes(app, context);
  logSocket(app, context);
  liveRoutes(app, context);
  clusterRoutes(app, context);
  datasetRoutes(app, context);
  exportRoutes(app, context);
  sourceRoutes(app, context);
  storageRoutes(app, context);
  credentialsRoutes(app, context);
  scheduleRoutes(app, context);
  taskRoutes(app, context);
  backfillRoutes(app, context);
  webhookRoutes(app, context);
  notificationRoutes(app, context);
  deviceLoginRoutes(app, context);
  profileRoutes(app, context);
  tokenRoutes(app, context);
  userRoutes(app, context);
  teamRoutes(app, context);
  datasetCopyRoutes(app, context);
  membershipRoutes(app, context);
  serviceAccountRoutes(app, context);
  successionRoutes(app, context);
  invitationRoutes(app, context);
  auditRoutes(app, context);
  systemRoutes(app, context);
  metricsRoute(app, context);
  await app.register(async (scope) => pages(scope, context));
  await app.register(async (scope) => fileRoutes(scope, context));
  await app.register(async (scope) => runnerRoutes(scope, context));
  return app;
}

/** Registers the HTML pages. Only they read form bodies; the API reads JSON. */
async function pages(app: FastifyInstance, context: HttpContext): Promise<void> {
  readForms(app);
  signInPages(app, context);
  deviceLoginPages(app, context);
  invitationPages(app, context);
  accountPages(app, context);
  tokenPages(app, context);
  await webApp(app, context);
  referencePage(app, context);
}

/**
 * Tells whether the server accepts an upgrade: only to a WebSocket, and only without a body. Other upgrades are
 * ignored, because clients that offer other protocols also accept plain HTTP.
 */
const asksForSocket = ({ headers }: IncomingMessage) =>
  /^websocket$/i.test(headers.upgrade ?? "") &&
  headers["transfer-encoding"] === undefined &&
  !Number(headers["content-length"] ?? 0);

/** If a connection sends invalid HTTP, or sends its request too slowly, answers with the usual JSON error. */
const answerBrokenRequest =
  ({ requestSeconds }: RequestSettings) =>
  (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === "ECONNRESET") return void socket.destroy();
    const known =
      error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? tooLate(requestSeconds)
        : new ApiError(
            "bad_request",
            `The request is not valid HTTP (${error.code}). Check what is sent to this port.`,
          );
    answerAndClose(socket, known);
  };

/** Hides the framework's own lines at level info, because the server logs each request itself. */
const quiet = (log: Logger) => (log.level === "info" ? log.child({}, { level: "warn" }) : log) as FastifyBaseLogger;

function readBodies(app: FastifyInstance): void {
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    try {
      const value = readJson(body as Buffer);
      if (request.routeOptions.config.keepsNumbers) request.bodyText = (body as Buffer).toString("utf8");
      done(null, value);
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Checks a request before its body is read: waits for its turn, checks the Host header, and answers unknown paths. */
function checkRequests(app: FastifyInstance, { listening, connections, site }: HttpContext): void {
  const checkHost = hostCheck(listening);
  app.addHook("onRequest", ({ raw }, reply, done) => connections.onceItsTurn(raw, reply.raw, done));
  app.addHook("onRequest", (request, reply, done) => {
    // No browser may take an answer for something else than its type says, such as a script.
    reply.headers({ "x-request-id": request.id, "x-content-type-options": "nosniff" });
    checkHost(request.raw.headers.host);
    if (request.is404 && wantsPage(request)) return void sendNotFoundPage(request, reply, site);
    if (request.is404) throw nothingThere(request);
    done();
  });
}

/**
 * Limits the memory for request bodies and for answers that wait to be sent. Uploads do not count, because they are
 * streamed to disk.
 */
function boundMemory(app: FastifyInstance, { connections, stopping }: HttpContext): void {
  const bodies = new BodiesUnderWay();
  app.addHook("preParsing", (request, reply, payload, done) => {
    const { headers, routeOptions } = request;
    const isBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"]) > 0;
    if (isBody && !routeOptions.config.upload) {
      const bytes = Math.min(Number(headers["content-length"] ?? Number.POSITIVE_INFINITY), routeOptions.bodyLimit);
      connections.onceAnswered(request.raw.socket, reply.raw, bodies.begin(senderOf(request), bytes));
    }
    done(null, payload);
  });
  app.addHook("onSend", (_request, reply, payload, done) => {
    // Otherwise the server would wait for the next request on the connection before it stops.
    if (stopping.aborted) reply.header("connection", "close");
    if (typeof payload === "string" || Buffer.isBuffer(payload)) connections.expectAnswer(payload.length);
    done(null, payload);
  });
}

/** Returns the key by which the bodies of a caller are counted. */
function senderOf({ principal, runner, ip }: FastifyRequest): string {
  if (principal) return `user ${principal.userId}`;
  return runner === "" ? networkOf(ip) : `runner ${runner}`;
}

/**
 * Logs and counts each request. The log line leaves out the query string, which may contain the secret of a sign-in
 * link.
 */
function logRequests(app: FastifyInstance, { metrics, requests }: HttpContext): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { routeId = request.is404 ? "none" : "page", upload, endless } = request.routeOptions.config;
    if (!request.raw.complete) dropRest(request.raw, upload ? requests.uploadLimit : requests.bodyLimit);
    // An unreachable database or a full disk (status 503 and above) is logged once by the part that noticed.
    const level = reply.statusCode >= 500 && reply.statusCode < 503 ? "error" : "debug";
    request.log[level](
      {
        reqId: request.id,
        method: request.method,
        path: request.url.split("?")[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      "request",
    );
    const labels = { route: routeId, method: request.method };
    metrics.requests.add({ ...labels, status: String(reply.statusCode) });
    if (!endless) metrics.requestDuration.observe(labels, reply.elapsedTime / 1000);
    done();
  });
}
