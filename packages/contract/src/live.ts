/** The live stream: small notices about what changed in a team, so that pages know which answers to read again. */
import type { Static } from "typebox";
import type { ScopeName } from "./access.ts";
import { access, defineRoute, type Route } from "./routes.ts";
import { oneOf, TeamName } from "./schema.ts";
import { Type } from "./type.ts";

interface Kind {
  /** Scope that a token needs to get these notices. */
  readonly scope: ScopeName;
  /** Ids of routes under other tags whose answers a change outdates. */
  readonly outdates: readonly string[];
}

/**
 * The kinds of notices. Each is named like the tag of its routes: a notice outdates the answers of all GET routes with
 * that tag, and of the routes that are listed here.
 */
const kinds = {
  jobs: {
    scope: "JOB",
    outdates: [
      "getPipeline",
      "listPipelines",
      "datasetJobVersions",
      "listTasks",
      "getTask",
      "listUpcoming",
      "listClusters",
    ],
  },
  pipelines: { scope: "PIPELINES", outdates: ["listSchedules", "getSchedule", "listBackfills", "getBackfill"] },
  schedules: { scope: "PIPELINES", outdates: ["listUpcoming"] },
  tasks: { scope: "JOB", outdates: ["listJobs"] },
  backfills: { scope: "PIPELINES", outdates: [] },
  datasets: { scope: "DATASETS", outdates: ["listPipelines"] },
  files: { scope: "JOB", outdates: [] },
  credentials: { scope: "JOB", outdates: [] },
  webhooks: { scope: "ADMIN", outdates: ["listNotifications"] },
  notifications: { scope: "ADMIN", outdates: ["listDeliveries"] },
  invitations: { scope: "ADMIN", outdates: [] },
  teams: { scope: "JOB", outdates: ["whoAmI", "listInvitations", "listClusters"] },
} as const satisfies Record<string, Kind>;

export type NoticeKind = keyof typeof kinds;
export const noticeKinds = Object.keys(kinds) as readonly NoticeKind[];

export const scopeOfNotice = (kind: NoticeKind): ScopeName => kinds[kind].scope;

/** Returns the kind of notice that a change through this route causes; undefined if there is none. */
export function noticeOf({ method, tag }: Pick<Route, "method" | "tag">): NoticeKind | undefined {
  const kind = tag.toLowerCase();
  return method !== "GET" && kind in kinds ? (kind as NoticeKind) : undefined;
}

/** Returns the ids of those of the routes whose answers a notice of this kind outdates. */
export function outdatedRoutes(kind: NoticeKind, routes: readonly Route[]): string[] {
  const own = routes.filter(({ method, tag }) => method === "GET" && tag.toLowerCase() === kind);
  return [...own.map(({ id }) => id), ...kinds[kind].outdates];
}

/** What an event of the stream says. Clients ignore kinds and fields that they do not know. */
const Notice = Type.Object({
  changed: Type.Optional(
    Type.Array(
      Type.Object({
        kind: oneOf(noticeKinds),
        ids: Type.Optional(
          Type.Array(Type.String(), { description: "the changed things; absent if unknown or too many" }),
        ),
      }),
      { description: "the kinds of things that changed" },
    ),
  ),
  all: Type.Optional(
    Type.Unsafe<true>({
      type: "boolean",
      const: true,
      description: "notices were left out, because the caller did not read them in time: anything may have changed",
    }),
  ),
  database: Type.Optional(
    oneOf(["away", "back"], {
      description: "the server lost its database, or reaches it again: read everything again",
    }),
  ),
});
export type Notice = Static<typeof Notice>;

/** One event, as fuzzers and generated clients read it: its name and its text. */
const NoticeEvent = Type.Object(
  {
    event: Type.Optional(oneOf(["message"])),
    data: Type.String({
      contentMediaType: "application/json",
      contentSchema: Notice,
      description: "a notice, as JSON",
    }),
  },
  { description: "one of the server-sent events" },
);

export const followChanges = defineRoute({
  id: "followChanges",
  method: "GET",
  path: "/api/live",
  tag: "Live",
  summary: "Follow a team: server-sent events that say what changed",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: NoticeEvent,
  answersAs: "text/event-stream",
});
