/** The live stream: small notices about what changed in a team, so that pages know which answers to read again. */
import type { ScopeName } from "./access.ts";
import { access, defineRoute, type Route } from "./routes.ts";
import { TeamName } from "./schema.ts";
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

/** One event of the stream, as JSON. Clients ignore kinds and fields that they do not know. */
export interface Notice {
  /** The kinds of things that changed. `ids` are those of the changed things; absent if unknown or too many. */
  readonly changed?: readonly { readonly kind: NoticeKind; readonly ids?: readonly string[] }[];
  /** True if notices were left out, because the follower did not read them in time: anything may have changed. */
  readonly all?: true;
}

export const followChanges = defineRoute({
  id: "followChanges",
  method: "GET",
  path: "/api/live",
  tag: "Live",
  summary: "Follow a team: server-sent events that say what changed",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.String({ description: "server-sent events; the data of each is a notice as JSON" }),
  answersAs: "text/event-stream",
});
