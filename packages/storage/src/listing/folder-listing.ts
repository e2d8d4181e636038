/**
 * Lists a store whose listings cannot start in the middle, with many requests at once. A chain of pages walks through
 * everything below a folder. An idle worker takes over whatever follows the subfolder that the chain has reached. So
 * large trees are divided among workers, and small listings cost no extra request.
 */
import type { Entry, ListCall } from "../backend.ts";
import { Channel } from "../concurrency/channel.ts";
import { compareKeys } from "./key-order.ts";
import { defaultConcurrency, listInOrder } from "./listing.ts";
import { checkedPages, type FetchPage, type PageCall } from "./pages.ts";

/** Implements a backend's `list` on top of pages that cannot start in the middle. */
export function listByFolders(fetchPage: FetchPage, prefix: string, call: ListCall): AsyncIterable<Entry[]> {
  const { ordered, concurrency = defaultConcurrency, ...rest } = call;
  const request = { ...rest, prefix };
  const fetch = checkedPages(fetchPage);
  // Versions of one key may span two pages, so one reader lists them all.
  if (ordered || call.delimiter || call.versions || concurrency <= 1) return listInOrder(fetch, request);
  return listInParallel(fetch, request, concurrency);
}

/** A listing, page by page, of all keys that begin with `prefix`. The last key it has listed is `after`. */
interface Chain {
  prefix: string;
  after: string;
  /**
   * True if workers that look for something to take over must skip this chain. Either the chain has ended, or another
   * worker is checking it, or nothing was found to take over.
   */
  examined: boolean;
  /** Whether another worker has taken over everything after `after`. */
  ended: boolean;
}

interface Work {
  readonly fetch: FetchPage;
  readonly call: PageCall;
  readonly pages: Channel<Entry[]>;
  readonly chains: Set<Chain>;
  /** Folders that no worker lists yet. */
  readonly folders: string[];
  /** Functions that wake the idle workers. */
  readonly idle: (() => void)[];
  busy: number;
}

async function* listInParallel(fetch: FetchPage, call: PageCall, width: number): AsyncGenerator<Entry[]> {
  const first = await fetch(call);
  yield first.entries;
  if (first.next === undefined) return;
  const stop = new AbortController();
  const signal = call.signal ? AbortSignal.any([call.signal, stop.signal]) : stop.signal;
  const pages = new Channel<Entry[]>(width);
  const work: Work = { fetch, call: { ...call, signal }, pages, chains: new Set(), folders: [], idle: [], busy: 0 };
  const chain = newChain(call.prefix, first.entries.at(-1)?.path ?? "");
  const token = first.next;
  void run(work, () => follow(work, chain, token)).then(() => workUntilDone(work));
  for (let worker = 1; worker < width; worker += 1) void workUntilDone(work);
  try {
    yield* pages;
  } finally {
    stop.abort();
    wake(work);
  }
}

const newChain = (prefix: string, after = ""): Chain => ({ prefix, after, examined: false, ended: false });

/**
 * Runs the job of a worker. When no worker is busy any more and no folder waits, closes the channel of pages. If the
 * job fails, closes the channel at once.
 */
async function run(work: Work, job: () => Promise<void>): Promise<void> {
  work.busy += 1;
  try {
    await job();
  } catch (error) {
    work.pages.close({ error });
  } finally {
    work.busy -= 1;
    if (work.busy === 0 && work.folders.length === 0) work.pages.close();
    wake(work);
  }
}

function wake(work: Work): void {
  for (const resume of work.idle.splice(0)) resume();
}

async function workUntilDone(work: Work): Promise<void> {
  while (!work.pages.closed) {
    const folder = work.folders.shift();
    const victim = folder === undefined ? [...work.chains].find((chain) => !chain.examined) : undefined;
    if (folder !== undefined) await run(work, () => follow(work, newChain(folder)));
    else if (victim) await run(work, () => takeOver(work, victim));
    else await new Promise<void>((resolve) => work.idle.push(resolve));
  }
}

/**
 * Lists a chain to its end. Meanwhile, other workers may take over parts of the chain, so that the chain ends earlier.
 */
async function follow(work: Work, chain: Chain, token?: string): Promise<void> {
  const { prefix } = chain;
  let next = token;
  try {
    do {
      const page = await work.fetch({ ...work.call, prefix, token: next });
      const mine = chain.ended ? [] : page.entries.filter(({ path }) => path.startsWith(chain.prefix));
      chain.after = mine.at(-1)?.path ?? chain.after;
      next = mine.length < page.entries.length ? undefined : page.next;
      if (next !== undefined) work.chains.add(chain);
      await work.pages.push(mine);
      wake(work);
    } while (next !== undefined && !chain.ended && !work.pages.closed);
  } finally {
    work.chains.delete(chain);
  }
}

/**
 * Takes over everything after the subfolder that a chain has reached. Lists the files itself, and leaves the further
 * subfolders to idle workers.
 */
async function takeOver(work: Work, chain: Chain): Promise<void> {
  chain.examined = true;
  const level = chain.prefix.slice(0, Math.max(chain.prefix.lastIndexOf("/") + 1, work.call.prefix.length));
  const call: PageCall = { ...work.call, prefix: level, delimiter: "/" };
  let page = await work.fetch(call);
  const { after } = chain;
  const isBeyond = ({ path }: Entry) => compareKeys(path, after) > 0 && !after.startsWith(path);
  const worthwhile =
    page.next === undefined || page.entries.some((entry) => entry.type === "directory" && isBeyond(entry));
  // If only files remain, a takeover would list them twice.
  if (!work.chains.has(chain) || !worthwhile) return;
  restrict(chain, level);
  for (;;) {
    const beyond = page.entries.filter(isBeyond);
    for (const { path, type } of beyond) if (type === "directory") work.folders.push(path);
    wake(work);
    await work.pages.push(beyond.filter(({ type }) => type === "file"));
    if (page.next === undefined || work.pages.closed) return;
    page = await work.fetch({ ...call, token: page.next });
  }
}

/**
 * Restricts a chain to the subfolder that it has reached, because the caller takes over the rest. If the chain has
 * reached no subfolder, it ends.
 */
function restrict(chain: Chain, level: string): void {
  const slash = chain.after.indexOf("/", level.length);
  chain.ended = slash < 0;
  chain.prefix = slash < 0 ? chain.prefix : chain.after.slice(0, slash + 1);
  chain.examined = chain.ended;
}
