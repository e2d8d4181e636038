/**
 * Lists with many requests at once. A listing begins as one range of keys. An idle worker takes over the second half of
 * a range that is still being listed. So large listings are divided among workers, and small ones cost no extra
 * request.
 */
import type { Entry } from "../backend.ts";
import { Channel } from "../concurrency/channel.ts";
import { compareKeys } from "./key-order.ts";
import { findSplit } from "./listing-split.ts";
import { PagePlaces } from "./page-places.ts";
import type { FetchPage, Page, PageCall } from "./pages.ts";
import { type StoppablePages, stoppablePages } from "./stoppable-pages.ts";

/** The keys that are still to be listed: those after `after`, up to and including `until`. */
interface KeyRange {
  after: string;
  until: string | undefined;
  /**
   * Number of pages to list before a worker may search for a key at which to split the range. Each search sets a new
   * number.
   */
  patience: number;
  splitting: boolean;
}

interface Work extends StoppablePages {
  readonly call: PageCall;
  readonly pages: Channel<Entry[]>;
  readonly places: PagePlaces;
  readonly ranges: Set<KeyRange>;
  /** Functions that wake the idle workers, which wait for a range that can be split. */
  readonly idle: (() => void)[];
}

const firstPatience = 1;
const laterPatience = 16;

export async function* listInParallel(fetch: FetchPage, call: PageCall, width: number): AsyncGenerator<Entry[]> {
  const first = await fetch(call);
  // This is computed before the caller receives the entries, because the caller may change them.
  const after = endOf(first) ?? call.startAfter ?? call.prefix;
  yield first.entries;
  if (first.next === undefined) return;
  const work = startWork(fetch, call, width);
  const range: KeyRange = { after, until: undefined, patience: firstPatience, splitting: false };
  void followRange(work, range, first.next).then(() => stealUntilDone(work));
  for (let worker = 1; worker < width; worker += 1) void stealUntilDone(work);
  try {
    for await (const page of work.pages) {
      work.places.give();
      yield page;
    }
  } finally {
    work.stop();
  }
}

function startWork(fetch: FetchPage, call: PageCall, width: number): Work {
  const pages = new Channel<Entry[]>(Number.POSITIVE_INFINITY);
  return {
    ...stoppablePages(fetch, call.signal),
    call,
    pages,
    places: new PagePlaces(width),
    ranges: new Set(),
    idle: [],
  };
}

/**
 * Lists a range to its end. Meanwhile, another worker may take over the second half, so that the range ends earlier.
 */
async function followRange(work: Work, range: KeyRange, token?: string): Promise<void> {
  work.ranges.add(range);
  let next = token;
  try {
    do next = await takePage(work, range, next);
    while (next !== undefined && !work.pages.closed);
  } catch (error) {
    work.pages.close({ error });
  } finally {
    work.ranges.delete(range);
    if (work.ranges.size === 0) work.pages.close();
    wake(work);
  }
}

/**
 * Fetches one page and returns the token of the next page. This is a separate function so that nothing refers to a page
 * while the next page is fetched. If each request kept its previous page, these pages would take most of the memory of
 * a listing with many requests at once.
 */
async function takePage(work: Work, range: KeyRange, token: string | undefined): Promise<string | undefined> {
  await work.places.take();
  if (work.pages.closed) return undefined;
  const start = token === undefined ? { startAfter: range.after } : { token };
  const page = await work.fetch({ ...work.call, startAfter: undefined, ...start });
  const next = advance(range, page) ? page.next : undefined;
  await work.pages.push(page.entries);
  range.patience -= 1;
  wake(work);
  return next;
}

/** Drops entries beyond the end of the range, and returns whether the range continues. */
function advance(range: KeyRange, page: Page): boolean {
  const { entries } = page;
  const last = endOf(page);
  if (last === undefined) return true;
  range.after = last;
  const { until } = range;
  if (until === undefined || compareKeys(last, until) <= 0) return true;
  entries.length = countUpTo(entries, until);
  return false;
}

const endOf = ({ entries, reached }: Page) => reached ?? entries.at(-1)?.path;

/** Counts the sorted entries up to and including a key. */
function countUpTo(entries: readonly Entry[], key: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys((entries[middle] as Entry).path, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function wake(work: Work): void {
  for (const resume of work.idle.splice(0)) resume();
}

async function stealUntilDone(work: Work): Promise<void> {
  while (!work.pages.closed) {
    const victim = [...work.ranges].find((range) => range.patience <= 0 && !range.splitting);
    if (!victim) {
      await new Promise<void>((resolve) => work.idle.push(resolve));
      continue;
    }
    const stolen = await steal(work, victim).catch((error: unknown) => work.pages.close({ error }));
    if (stolen) await followRange(work, stolen);
  }
}

async function steal(work: Work, victim: KeyRange): Promise<KeyRange | undefined> {
  victim.splitting = true;
  const { after, until } = victim;
  const split = await findSplit(work.fetch, work.call, { after, until }).finally(() => {
    victim.splitting = false;
  });
  victim.patience = laterPatience;
  const gone = !work.ranges.has(victim) || (split !== undefined && compareKeys(split, victim.after) <= 0);
  if (split === undefined || gone) return undefined;
  const stolen: KeyRange = { after: split, until: victim.until, patience: firstPatience, splitting: false };
  victim.until = split;
  victim.patience = firstPatience;
  work.ranges.add(stolen);
  return stolen;
}
