/** HTTP route that lists folders of storages with a team's credentials. */
import type { Socket } from "node:net";
import { ApiError, routes, type StorageListing, storagePage } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import type { Principal, Team } from "../../domain/access/principals.ts";
import { readListing, schemeOf, type UsedCredentials, wishFor } from "../../domain/datasets/storage-listings.ts";
import {
  CredentialsUnavailable,
  gatherCredentials,
  requireCredentials,
  requireNamedByJob,
} from "../../domain/jobs/job-credentials.ts";
import type { DatasetContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";
import { type FoundEntry, withFolderOf } from "./sources.ts";

/**
 * Maximum number of listings of one user, one team, and of all, at a time: each is a process. Beyond `all`, a team that
 * has none under way gets one, up to `withFirst`: otherwise a few people with slow storages would keep out everybody.
 */
const most = { user: 3, team: 4, all: 12, withFirst: 24 };

export interface Running {
  readonly userId: number;
  readonly teamId: number;
}

export function storageRoutes(app: FastifyInstance, context: DatasetContext): void {
  const running = new Set<Running>();

  register(app, context, routes.browseStorage, async ({ principal, team, body, request }) => {
    const { uri, cursor } = body;
    const scheme = schemeOf(uri);
    if (scheme === "file")
      return withFolderOf(principal.userId, "uri", uri, context.jobPaths, async (all) =>
        localListing(uri, Number(cursor ?? 0), all),
      );
    const credentials = await credentialsFor(context, team, principal, body.credentials_name);
    const own = { userId: principal.userId, teamId: team.id };
    requireTurn(running, own);
    running.add(own);
    try {
      const wish = wishFor(scheme, uri, credentials, cursor ?? undefined);
      const answer = await whileWanted(request.raw.socket, context.stopping, (unwanted) =>
        context.listStorage(wish, unwanted),
      );
      if (context.stopping.aborted) throw new ApiError("unavailable", "The server is stopping. Try again in a moment.");
      return readListing(uri, answer, credentials);
    } finally {
      running.delete(own);
    }
  });
}

/** Runs work with a signal that is aborted when the caller has gone or the server stops. */
async function whileWanted<T>(
  socket: Socket,
  stopping: AbortSignal,
  work: (unwanted: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  if (socket.destroyed) leave();
  socket.once("close", leave);
  try {
    return await work(AbortSignal.any([gone.signal, stopping]));
  } finally {
    socket.off("close", leave);
  }
}

/** Throws if a user of a team may not start another listing beside those that run. */
export function requireTurn(running: ReadonlySet<Running>, { userId, teamId }: Running): void {
  const all = [...running];
  const ofUser = all.filter((one) => one.userId === userId).length;
  const ofTeam = all.filter((one) => one.teamId === teamId).length;
  const ofAll = ofTeam === 0 ? most.withFirst : most.all;
  if (ofUser < most.user && ofTeam < most.team && all.length < ofAll) return;
  throw new ApiError("too_many_requests", "Too many storages are being listed at once. Try again in some seconds.");
}

async function credentialsFor(
  { store, keys }: DatasetContext,
  team: Team,
  principal: Principal,
  name: string | null | undefined,
): Promise<UsedCredentials | undefined> {
  if (!name) return undefined;
  const holder = { team_id: team.id, user_id: principal.userId };
  await requireCredentials(store.db, holder, [name], "credentials_name");
  await requireNamedByJob(store.db, principal, [name]);
  try {
    return { name, ...(await gatherCredentials(store.db, keys, holder, [name])) };
  } catch (error) {
    if (error instanceof CredentialsUnavailable) throw new ApiError("wrong_state", error.message);
    throw error;
  }
}

/** A folder of this machine. It is read as a whole, and its cursor is a number of entries. */
function localListing(uri: string, from: number, all: readonly FoundEntry[]): StorageListing {
  const start = Number.isSafeInteger(from) && from > 0 ? from : 0;
  const entries = all.slice(start, start + storagePage).map(({ name, modified, size }) => ({
    name,
    kind: size === null ? ("folder" as const) : ("file" as const),
    size,
    last_modified: modified?.toISOString() ?? null,
  }));
  const end = start + entries.length;
  return { uri, entries, next_cursor: end < all.length ? String(end) : null };
}
