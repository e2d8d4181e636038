/**
 * Backfills: the rules for creating, reading, canceling and retrying them. A backfill runs a pipeline once for each
 * time in a series of past times. These times are called its moments. The runs are started by backfill-progress.ts.
 */
import {
  ApiError,
  type Backfill,
  type BackfillItem,
  type BackfillPreview,
  backfillLimits,
  type CreateBackfillInput,
  invalid,
} from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { lockTeam } from "../../store/queries/people/teams.ts";
import {
  type BackfillRow,
  findBackfill,
  giveBackMoments,
  insertBackfill,
  listBackfills,
  lockBackfill,
  type MomentRow,
  momentsOf,
  runningBackfillsOf,
  stateOf,
  updateBackfill,
} from "../../store/queries/schedules/backfills.ts";
import { nextLook } from "../../turns/large-answers.ts";
import type { Signals } from "../../turns/signals.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import type { Team } from "../access/principals.ts";
import { makeTemplate } from "../pipelines/new-pipeline.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { checkCron, readTime, ticksIn } from "../time/ticks.ts";
import { checkTimezone } from "../time/time-zones.ts";
import { backfillDocument, backfillItem } from "./backfill-documents.ts";
import { cancelNextRun } from "./backfill-progress.ts";
import { requirePipeline } from "./schedules.ts";

interface BackfillsContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly signals: Signals;
}

/** The words that the input `every` accepts, with their cron expressions. */
const intervals: Readonly<Record<string, string>> = {
  hour: "@hourly",
  day: "@daily",
  week: "@weekly",
  month: "@monthly",
};

/** Number of ticks that are computed before other requests get a chance to run: a few tenths of a millisecond each. */
const ticksAtOnce = 10;

type RangeInput = Pick<CreateBackfillInput, "from" | "to" | "every" | "timezone">;

/**
 * Returns the moments (scheduled times) of a backfill, with the cron expression and the time zone that they are
 * computed from.
 */
async function readMoments({ from, to, every, timezone }: RangeInput, now: number) {
  const zone = timezone?.trim() ? checkTimezone(timezone) : "UTC";
  const cron = checkEvery(every?.trim() || "day");
  const span = { from: Date.parse(readTime(from, zone, "from")), to: Date.parse(readTime(to, zone, "to")) };
  if (span.to > now) throw invalid("to", "a time in the past (for times in the future, create a schedule)", to);
  if (span.to < span.from) throw invalid("to", `a time that is not before \`from\` (${from})`, to);
  const ticks: number[] = [];
  await nextLook();
  for (const tick of ticksIn(cron, zone, span).take(backfillLimits.moments + 1))
    if (ticks.push(tick) % ticksAtOnce === 0) await nextLook();
  if (ticks.length === 0)
    throw invalid("every", `an interval or a cron expression with at least one tick between ${from} and ${to}`, every);
  if (ticks.length > backfillLimits.moments)
    throw new ApiError(
      "invalid",
      `from, to, every: these give more than ${backfillLimits.moments} moments (scheduled times), which is the maximum of a backfill. The last moment that fits is ${iso(ticks.at(-2) ?? 0)}. Create several backfills, one after another.`,
    );
  return { cron, zone, moments: ticks.map(iso) };
}

/** Returns the moments that a backfill of this range would have. */
export async function previewTeamBackfill(input: RangeInput, now: number): Promise<BackfillPreview> {
  const { cron, zone, moments } = await readMoments(input, now);
  return { cron_expression: cron, timezone: zone, moments };
}

function checkEvery(every: string): string {
  const name = every.toLowerCase();
  if (Object.hasOwn(intervals, name)) return intervals[name] as string;
  try {
    return checkCron(every);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw invalid("every", `${Object.keys(intervals).join(", ")} or a cron expression`, every);
  }
}

/** Creates a backfill. Its template is a copy of the pipeline, from which each run is created. */
export async function createTeamBackfill(
  { store, keys, signals }: BackfillsContext,
  { principal, actor, team }: Call,
  input: CreateBackfillInput,
  now: number,
): Promise<Backfill> {
  const { cron, zone, moments } = await readMoments(input, now);
  const row = {
    team_id: team.id,
    user_id: principal.userId,
    cron_expression: cron,
    timezone: zone,
    from_moment: moments[0] ?? "",
    to_moment: moments.at(-1) ?? "",
    parallel: input.parallel ?? 1,
    on_failure: input.on_failure ?? "stop",
    status: "RUNNING",
    total: moments.length,
    created_at: iso(now),
    updated_at: iso(now),
  } as const;
  const backfill = await store.write(async (db) => {
    const source = await requirePipeline(db, team, input.pipeline_name);
    await requireRoomForBackfill(db, team);
    const own = { ...source, user_id: principal.userId, scopes: JSON.stringify(principal.scopes) };
    const pipeline_id = await makeTemplate({ db, now }, keys, own, null);
    const id = await insertBackfill(db, { ...row, pipeline_id, source_name: source.name }, moments);
    const detail = `${moments.length} moments from ${row.from_moment} to ${row.to_moment}`;
    await audit(db, actor, { action: "backfill.create", team, target: source.name, detail }, now);
    return backfillDocument(db, await requireBackfill(db, team, id));
  });
  signals.backfills.wake();
  return backfill;
}

/**
 * Throws if the team has too many running backfills. Locks the team first, because on PostgreSQL concurrent
 * transactions do not see each other's new rows.
 */
async function requireRoomForBackfill(db: Db, { id, name }: Team): Promise<void> {
  await lockTeam(db, id);
  if ((await runningBackfillsOf(db, id)) < backfillLimits.running) return;
  throw new ApiError(
    "wrong_state",
    `The team ${name} has ${backfillLimits.running} running backfills, which is the maximum. Wait for one to end, or cancel one.`,
    { hint: "list_backfills" },
  );
}

async function requireBackfill(db: Db, team: Team, id: number): Promise<BackfillRow> {
  const row = await findBackfill(db, team.id, id);
  if (row) return row;
  throw new ApiError("not_found", `There is no backfill ${id} in the team ${team.name}.`, { hint: "list_backfills" });
}

/**
 * Locks a backfill. Until the end of the transaction, nobody else changes the backfill, and no further run of it
 * begins.
 */
async function holdBackfill(db: Db, team: Team, id: number): Promise<BackfillRow> {
  await requireBackfill(db, team, id);
  return (await lockBackfill(db, id)) as BackfillRow;
}

export async function readTeamBackfill(
  { store }: Pick<BackfillsContext, "store">,
  team: Team,
  id: number,
): Promise<Backfill> {
  return backfillDocument(store.db, await requireBackfill(store.db, team, id));
}

/** Maximum number of backfills on a page. */
const listPart = 100;

export async function listTeamBackfills({ store: { db } }: BackfillsContext, team: Team, cursor: number | undefined) {
  const rows = await listBackfills(db, team.id, cursor, listPart);
  const backfills: BackfillItem[] = [];
  for (const row of rows) backfills.push(await backfillItem(db, row));
  return { backfills, next: rows.length < listPart ? undefined : rows.at(-1)?.id };
}

/**
 * Cancels a backfill: no further run begins, and its pipelines are canceled in a write each, because together they may
 * have a hundred thousand runs. If the server stops in between, the loop of backfills cancels the rest.
 */
export async function cancelTeamBackfill(
  { store, signals }: BackfillsContext,
  { actor, team }: Call,
  id: number,
  now: number,
): Promise<Backfill> {
  await store.write(async (db) => {
    const row = await holdBackfill(db, team, id);
    if (row.status !== "RUNNING")
      throw new ApiError(
        "wrong_state",
        `The backfill ${id} is ${row.status}; only a backfill that is RUNNING can be canceled.`,
      );
    if (row.canceling !== null) return;
    await updateBackfill(db, id, { canceling: JSON.stringify(actor), updated_at: iso(now) });
    await audit(db, actor, { action: "backfill.cancel", team, target: row.source_name, detail: `backfill ${id}` }, now);
  });
  while (await store.write((db) => cancelNextRun(db, id, now))) signals.observe.wake();
  return readTeamBackfill({ store }, team, id);
}

/**
 * Runs a backfill again for the scheduled times whose runs failed or were canceled, and continues with those that never
 * began. Complete runs are not repeated.
 */
export async function retryTeamBackfill(
  { store, signals }: BackfillsContext,
  { actor, team }: Call,
  id: number,
  now: number,
): Promise<Backfill> {
  const backfill = await store.write(async (db) => {
    const row = await holdBackfill(db, team, id);
    if (row.canceling !== null)
      throw new ApiError("wrong_state", `The backfill ${id} is still being canceled. Try again when it has ended.`);
    const moments = await momentsOf(db, id);
    const failed = moments.filter(({ status, open_runs }) => stateOf(status, open_runs) === "failed");
    requireRetryable(row, moments, failed.length);
    if (row.status !== "RUNNING") await requireRoomForBackfill(db, team);
    const positions = failed.map(({ position }) => position);
    await giveBackMoments(db, id, positions);
    const changes = { status: "RUNNING", last_error: null, updated_at: iso(now), finished_at: null } as const;
    await updateBackfill(db, id, changes);
    const detail = `backfill ${id}: retries ${positions.length} moments`;
    await audit(db, actor, { action: "backfill.retry", team, target: row.source_name, detail }, now);
    return backfillDocument(db, await requireBackfill(db, team, id));
  });
  signals.backfills.wake();
  return backfill;
}

/** Throws if a backfill has nothing to retry, or if one of its pipelines is still being canceled. */
function requireRetryable({ id, status }: BackfillRow, moments: readonly MomentRow[], failed: number): void {
  const ending = moments.find((one) => one.status === "CANCELED" && (one.open_runs ?? 0) > 0);
  if (ending)
    throw new ApiError(
      "wrong_state",
      `The backfill ${id} cannot be retried yet: the run ${ending.name} for ${ending.moment} is still being canceled. Try again when it has ended.`,
    );
  if (failed > 0 || status === "FAILED" || status === "CANCELED") return;
  throw new ApiError(
    "wrong_state",
    `The backfill ${id} has nothing to retry: it is ${status}, and none of its runs has failed or was canceled.`,
  );
}
