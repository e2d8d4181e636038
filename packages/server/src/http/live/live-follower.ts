/** A caller that follows a team: an answer that is written as events come, and keeps little of them in memory. */
import type { ServerResponse } from "node:http";
import { type Notice, type NoticeKind, permits, type Scope, scopeOfNotice } from "@millrace/contract";
import type { DatabaseState } from "../../turns/changes.ts";
import type { FeedReader } from "./live-feeds.ts";

/** Milliseconds that the rest of an ended stream may take to be read. */
const farewell = 1000;

export class LiveFollower implements FeedReader {
  readonly #answer: ServerResponse;
  readonly #scopes: readonly Scope[];
  /** Ends the stream if the caller may no longer follow the team. */
  readonly check: () => void;
  #missed = false;
  /** What the database did while the buffer was full. */
  #missedState: DatabaseState | undefined;

  constructor(answer: ServerResponse, scopes: readonly Scope[], check: (follower: LiveFollower) => void) {
    this.#answer = answer;
    this.#scopes = scopes;
    this.check = () => check(this);
    answer.on("drain", () => this.#catchUp());
    answer.on("error", () => answer.destroy());
    // Sends the header, so that the caller knows at once that it follows.
    answer.write(": following\n\n");
  }

  hears(kind: NoticeKind): boolean {
    return permits(this.#scopes, `${scopeOfNotice(kind)}:read`);
  }

  /** If the buffer of the connection is full, notices are left out. When it is empty again, one notice says so. */
  tell(notice: string): void {
    if (this.#answer.writableNeedDrain) this.#missed = true;
    else this.#answer.write(`data: ${notice}\n\n`);
  }

  /** While the database was away, changes may have been lost. */
  tellDatabase(database: DatabaseState): void {
    if (this.#answer.writableNeedDrain) this.#missedState = database;
    this.tell(JSON.stringify({ ...(database === "back" ? { all: true } : {}), database } satisfies Notice));
  }

  /** Sends a comment, so that neither the caller nor a proxy takes the stream for dead. */
  beat(): void {
    if (this.#answer.writableLength === 0) this.#answer.write(": beat\n\n");
  }

  /** Ends the stream. A caller that does not read its rest is cut off, because a stop of the server waits for it. */
  end(): void {
    this.#answer.end();
    const late = setTimeout(() => this.#answer.destroy(), farewell);
    this.onEnd(() => clearTimeout(late));
  }

  /** Calls `listener` when the answer has ended or its connection is closed. */
  onEnd(listener: () => void): void {
    if (this.#answer.closed) listener();
    else this.#answer.once("close", listener);
  }

  #catchUp(): void {
    if (!this.#missed) return;
    const database = this.#missedState;
    this.#missed = false;
    this.#missedState = undefined;
    this.tell(JSON.stringify({ all: true, ...(database ? { database } : {}) } satisfies Notice));
  }
}
