/** A follower of the live stream that keeps what it hears. */
import assert from "node:assert/strict";
import { type Client, type Notice, type NoticeKind, readNotices, routes } from "@millrace/contract";
import { until } from "./until.ts";

/** Follows a team until it is ended, and keeps what it hears. */
export class Listener {
  readonly notices: Notice[] = [];
  beats = 0;
  isOver = false;
  readonly #stop = new AbortController();

  static async open(client: Client, headers: Record<string, string> = {}): Promise<Listener> {
    const listener = new Listener();
    const response = await client.request(
      routes.followChanges,
      { query: {} },
      { headers, signal: listener.#stop.signal },
    );
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.equal(response.headers.get("connection"), "close");
    void listener.#listen(response.body as ReadableStream<Uint8Array>);
    return listener;
  }

  async #listen(stream: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const notice of readNotices(stream)) {
        if (notice) this.notices.push(notice);
        else this.beats++;
      }
    } catch {}
    this.isOver = true;
  }

  kinds(): NoticeKind[] {
    return this.notices.flatMap(({ changed = [] }) => changed.map(({ kind }) => kind));
  }

  ids(): string[] {
    return this.notices.flatMap(({ changed = [] }) => changed.flatMap(({ ids = [] }) => ids));
  }

  async hears(kind: NoticeKind): Promise<void> {
    await until(async () => this.kinds().includes(kind), 10);
  }

  close(): void {
    this.#stop.abort();
  }
}
