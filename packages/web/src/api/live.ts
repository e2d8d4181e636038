/**
 * Follows the live stream of a team. Its notices say which answers are outdated, and those that the page shows are read
 * again. A stream that breaks off is opened again by itself, and then every answer is read again.
 */
import { ApiError, readNotices, routes } from "@millrace/contract";
import { useEffect, useState } from "react";
import { queries } from "./calls.ts";
import { clientOf, mayPass } from "./client.ts";
import { Outdated } from "./outdated.ts";

/** The server sends a sign of life every 15 s. Without one for this many milliseconds, the stream is dead. */
const silence = 40_000;
/** A page that is hidden for this many milliseconds stops following, and goes on when it is looked at. */
const hiddenFor = 60_000;
/** A stream that was open for this many milliseconds was a good one: the next delay is short again. */
const goodAfter = 10_000;

/** Milliseconds until the next attempt, after this many in a row failed. */
const delayAfter = (failures: number) => Math.min(30_000, 500 * 2 ** Math.min(failures, 10));

/** Whether the page follows its team: `down` while it tries to connect again, `away` while the server has no database. */
export type LiveState = "up" | "down" | "away";

class LiveStream {
  readonly #team: string;
  readonly #onState: (state: LiveState) => void;
  readonly #outdated: Outdated;
  readonly #stopped = new AbortController();
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #open: AbortController | undefined;
  /** Wakes the loop while it waits for the next attempt. */
  #wake = () => {};
  #failures = 0;

  constructor(team: string, onState: (state: LiveState) => void) {
    this.#team = team;
    this.#onState = onState;
    this.#outdated = new Outdated(queries, team);
    document.addEventListener("visibilitychange", this.#look);
    window.addEventListener("online", this.#look);
    void this.#run();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.#look);
    window.removeEventListener("online", this.#look);
    clearTimeout(this.#hiding);
    this.#stopped.abort();
    this.#open?.abort();
    this.#wake();
  }

  /** Somebody looks at the page again, or no longer. */
  readonly #look = () => {
    clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = setTimeout(() => this.#open?.abort(), hiddenFor);
    else this.#wake();
  };

  async #run(): Promise<void> {
    for (let isFirst = true; !this.#stopped.signal.aborted; isFirst = false) {
      if (document.hidden) await this.#wait();
      else {
        await this.#follow(isFirst);
        if (!document.hidden && !this.#stopped.signal.aborted) await this.#wait(delayAfter(this.#failures++));
      }
    }
  }

  #wait(milliseconds?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer =
        milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds * (0.75 + Math.random() / 2));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Follows until the stream ends. Whatever changed before it began is unknown, unless it is the first of the page. */
  async #follow(isFirst: boolean): Promise<void> {
    const open = new AbortController();
    this.#open = open;
    let begun: number | undefined;
    let watchdog = setTimeout(() => open.abort(), silence);
    try {
      const { body } = await clientOf(this.#team).request(routes.followChanges, { query: {} }, { signal: open.signal });
      begun = performance.now();
      this.#onState("up");
      if (!isFirst) this.#outdated.add({ all: true });
      for await (const notice of readNotices(body as ReadableStream<Uint8Array>)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => open.abort(), silence);
        if (notice) this.#outdated.add(notice);
        if (notice?.database) this.#onState(notice.database === "away" ? "away" : "up");
      }
    } catch (error) {
      this.#refused(error);
    }
    clearTimeout(watchdog);
    if (begun !== undefined && performance.now() - begun > goodAfter) this.#failures = 0;
    if (!document.hidden && !this.#stopped.signal.aborted) this.#onState("down");
  }

  /** The session may have ended, or the user may have left the team: the frame finds out by asking who this is. */
  #refused(error: unknown): void {
    if (!(error instanceof ApiError) || mayPass(error)) return;
    this.#failures = Math.max(this.#failures, 5);
    void queries.invalidateQueries({ queryKey: [routes.whoAmI.id] });
  }
}

/** Follows the team while the component is shown. */
export function useLive(team: string): LiveState {
  const [state, setState] = useState<LiveState>("up");
  useEffect(() => {
    const stream = new LiveStream(team, setState);
    return () => stream.stop();
  }, [team]);
  return state;
}
