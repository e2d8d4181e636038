/**
 * Seasons of a year of schedules in moments, the whole year in the long form: with an injected clock and the real loop
 * on the real store. Beside it, a list of expected firings is derived from the calendar and docs/schedules.md. None is
 * missing, none is extra.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { expectedTicks, wallsOf } from "../support/expected-ticks.ts";
import { chances, type Life, mortal, steady, troubled } from "../support/mortal-servers.ts";
import { type Planned, ScheduledYear } from "../support/scheduled-year.ts";

const minute = 60_000;
/** The interval of the loop here; ticks are only at such moments. */
const step = 10 * minute;
/** The loop runs a little late, as real loops do. */
const late = 3000;

const plan = (expression: string, timezone: string, rest: Partial<Planned> = {}): Planned => ({
  expression,
  timezone,
  overlap: "allow",
  catch_up: "one",
  takes: minute,
  ...rest,
});

const plans: readonly Planned[] = [
  ...(["one", "none", "all"] as const).flatMap((catch_up) => [
    plan("30 2 * * *", "Europe/Berlin", { catch_up }),
    plan("0 2 * * *", "America/New_York", { catch_up }),
    plan("30 1 * * *", "America/New_York", { catch_up }),
    plan("10 2 * * *", "Australia/Lord_Howe", { catch_up }),
    plan("40 1 * * *", "Australia/Lord_Howe", { catch_up }),
    plan("0 0 1 * *", "UTC", { catch_up }),
    plan("*/20 * 9-16 6 *", "UTC", { catch_up }),
    plan("0 * 24-29 3,10 *", "Europe/Berlin", { catch_up }),
  ]),
  plan("*/20 2 * * 0", "Europe/Berlin"),
  plan("0 */6 * 3,11 *", "America/New_York"),
  plan("*/30 * 1-7 4,10 *", "Australia/Lord_Howe"),
  plan("0 12 * * 1-5", "UTC", { catch_up: "none" }),
  ...(["skip", "wait"] as const).flatMap((overlap) => [
    plan("0,30 * 25-30 3,10 *", "Europe/Berlin", { overlap, takes: 65 * minute }),
    plan("0 3 * * *", "America/New_York", { overlap, takes: 50 * 60 * minute, catch_up: "none" }),
    plan("20 4 * * *", "UTC", { overlap, takes: 5 * minute, catch_up: "all" }),
  ]),
];

interface Outage {
  readonly from: number;
  readonly to: number;
}

const outage = (from: string, to: string): Outage => ({ from: Date.parse(`${from}Z`), to: Date.parse(`${to}Z`) });

/** Outages: across clock changes, over one tick, over none, and over more ticks than are made up. */
const outages: readonly Outage[] = [
  outage("2026-01-31T20:05", "2026-02-01T06:05"),
  outage("2026-03-28T20:05", "2026-03-29T09:05"),
  outage("2026-04-04T12:05", "2026-04-04T18:05"),
  outage("2026-05-02T00:35", "2026-05-04T00:05"),
  outage("2026-06-10T00:05", "2026-06-15T11:25"),
  outage("2026-08-08T09:05", "2026-08-08T09:35"),
  outage("2026-10-24T22:05", "2026-10-25T00:35"),
  outage("2026-11-01T03:05", "2026-11-01T06:15"),
];

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The moments at which a server runs its loop. */
function looks({ from, to }: Span): number[] {
  const moments: number[] = [];
  for (let at = from + step; at < to; at += step)
    if (!outages.some((one) => at >= one.from && at < one.to)) moments.push(at + late);
  return moments;
}

/** The expected firings according to the documentation, without the scheduler's own code. */
function expectedFirings({ expression, timezone, overlap, catch_up, takes }: Planned, span: Span): string[] {
  const ticks = expectedTicks(expression, wallsOf(timezone, span.from, span.to));
  const firings: number[] = [];
  let waits = false;
  const isBusy = (now: number) => firings.length > 0 && now < (firings.at(-1) ?? 0) + takes;
  for (const now of looks(span)) {
    const due: number[] = [];
    while ((ticks[0] ?? Number.POSITIVE_INFINITY) <= now) due.push(ticks.shift() as number);
    if (waits && !isBusy(now)) {
      firings.push(now);
      waits = false;
    }
    for (let runs = runsFor(due, catch_up, now); runs > 0; runs--) {
      if (overlap === "allow" || !isBusy(now)) firings.push(now);
      else if (overlap === "wait") waits = true;
    }
  }
  return firings.map(iso);
}

function runsFor(due: readonly number[], catch_up: Planned["catch_up"], now: number): number {
  if (due.length === 0) return 0;
  if (catch_up === "none") return now - (due.at(-1) ?? 0) < minute ? 1 : 0;
  return catch_up === "one" ? 1 : Math.min(due.length, 100);
}

async function assertFirings(year: ScheduledYear, store: Store, ids: readonly number[], span: Span): Promise<void> {
  let fired = 0;
  for (const [index, id] of ids.entries()) {
    const planned = plans[index] as Planned;
    const actual = await year.firings(store, id);
    assert.deepEqual(actual, expectedFirings(planned, span), JSON.stringify(planned));
    fired += actual.length;
  }
  assert.ok(fired > 100, `${fired} firings`);
}

/** Runs every moment with these servers at once; a server that dies is replaced, until nothing is due. */
async function pass(
  year: ScheduledYear,
  stores: readonly Store[],
  span: Span,
  live: (store: Store) => Life,
): Promise<void> {
  const start = (store: Store) => {
    const life = live(store);
    return { ...life, loop: year.server(life.store) };
  };
  let servers = stores.map(start);
  let before = 0;
  for (year.now of looks(span)) {
    const [first] = stores as [Store];
    await year.endRuns(first);
    if (year.now - before > step) servers = stores.map(start);
    before = year.now;
    do {
      servers = servers.map((server, index) => (server.isDead() ? start(stores[index] as Store) : server));
      await Promise.allSettled(servers.map(({ loop }) => loop.runOnce()));
    } while (servers.some(({ isDead }) => isDead()) || !(await year.isQuiet(first)));
  }
}

async function inFolder(work: (dataDir: string, year: ScheduledYear) => Promise<void>, { from }: Span): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-year-"));
  const year = new ScheduledYear(dataDir, from - minute);
  try {
    await work(dataDir, year);
  } finally {
    year.close();
    await rm(dataDir, { recursive: true });
  }
}

describe("a year of schedules", () => {
  const year2026 = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };
  /** The clock goes forward in one zone and back in another, with two outages. SCHEDULE_YEAR=1 runs the whole year. */
  const spring = { from: Date.UTC(2026, 2, 24), to: Date.UTC(2026, 3, 14) };
  const isLong = process.env["SCHEDULE_YEAR"] === "1";
  const first = isLong ? year2026 : spring;
  /** The clock goes back in two zones. */
  const weeks = { from: Date.UTC(2026, 9, 20), to: Date.UTC(2026, 10, 3) };
  const autumn = isLong ? { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 3) } : weeks;
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it("fires every expected tick once, through outages, restarts and changes of the clock", () =>
    inFolder(async (dataDir, year) => {
      const store = await openStore(storeIn(dataDir));
      const ids = await year.prepare(store, plans);
      await pass(year, [store], first, steady);
      await assertFirings(year, store, ids, first);
      await store.close();
    }, first));

  it("fires every expected tick once with two servers that die before and after their commits", () =>
    inFolder(async (dataDir, year) => {
      const store = await openStore(storeIn(dataDir));
      const ids = await year.prepare(store, plans);
      await pass(year, [store, store], autumn, mortal(chances(50)));
      await assertFirings(year, store, ids, autumn);
      await store.close();
    }, autumn));

  it("fires every expected tick once on a store that fails occasionally", () =>
    inFolder(async (dataDir, year) => {
      const store = await openStore(storeIn(dataDir));
      const ids = await year.prepare(store, plans);
      await pass(year, [store], weeks, troubled(chances(50)));
      await assertFirings(year, store, ids, weeks);
      await store.close();
    }, weeks));

  it("fires every expected tick once with two servers on one PostgreSQL that die in the same way", () =>
    inFolder(async (dataDir, year) => {
      const databaseUrl = await postgres.createDatabase();
      const [first, second] = [
        await openStore(storeIn(dataDir, databaseUrl)),
        await openStore(storeIn(dataDir, databaseUrl)),
      ];
      const ids = await year.prepare(first, plans);
      await pass(year, [first, second], weeks, mortal(chances(50)));
      await assertFirings(year, first, ids, weeks);
      for (const store of [first, second]) await store.close();
    }, weeks));
});
