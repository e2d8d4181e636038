/** Marks answers in the cache as outdated, as notices of the live stream say, and reads again those that are shown. */
import { type Notice, type NoticeKind, outdatedRoutes, type Route, routes } from "@millrace/contract";
import type { QueryClient } from "@tanstack/react-query";

/** Maximum number of milliseconds that a reading delays the next one. */
const patience = 5000;
/** Minimum number of milliseconds between two readings. */
const pause = 250;

const all = Object.values(routes) as readonly Route[];

/** What changed: the ids by kind, undefined if they are not known. */
export type Changed = ReadonlyMap<NoticeKind, ReadonlySet<string> | undefined>;

/**
 * Tells whether an answer in the cache is outdated. The key of an answer has the route, the team and the input of the
 * call. An answer about one job is not outdated by changes of other jobs.
 */
export function isOutdated(key: readonly unknown[], team: string, changed: Changed): boolean {
  const [routeId, ofTeam, input] = key;
  if (ofTeam !== undefined && ofTeam !== team) return false;
  for (const [kind, ids] of changed) {
    if (!outdatedRoutes(kind, all).includes(routeId as string)) continue;
    const job = kind === "jobs" ? jobIn(input) : undefined;
    if (job === undefined || ids === undefined || ids.has(job)) return true;
  }
  return false;
}

/** The id of the job that a call is about; undefined if it is about many. */
function jobIn(input: unknown): string | undefined {
  const { query, params } = (input ?? {}) as { query?: { job_id?: unknown }; params?: { job_id?: unknown } };
  const id = query?.job_id ?? params?.job_id;
  return typeof id === "string" ? id : undefined;
}

/** Reads again what notices outdate. Notices that come during a reading are collected, and count after it. */
export class Outdated {
  readonly #cache: QueryClient;
  readonly #team: string;
  #changed = new Map<NoticeKind, Set<string> | undefined>();
  #everything = false;
  #isReading = false;

  constructor(cache: QueryClient, team: string) {
    this.#cache = cache;
    this.#team = team;
  }

  add({ all, changed = [] }: Notice): void {
    this.#everything ||= all === true;
    for (const { kind, ids } of changed) {
      const known = this.#changed.has(kind) ? this.#changed.get(kind) : new Set<string>();
      this.#changed.set(kind, ids === undefined || known === undefined ? undefined : new Set([...known, ...ids]));
    }
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#everything || this.#changed.size > 0) {
      const begun = performance.now();
      const [everything, changed] = [this.#everything, this.#changed];
      this.#everything = false;
      this.#changed = new Map();
      const predicate = ({ queryKey }: { queryKey: readonly unknown[] }) =>
        everything || isOutdated(queryKey, this.#team, changed);
      await Promise.race([this.#cache.invalidateQueries({ predicate }), sleep(patience)]);
      // A slow server is asked less often.
      await sleep(Math.max(pause, performance.now() - begun));
    }
    this.#isReading = false;
  }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
