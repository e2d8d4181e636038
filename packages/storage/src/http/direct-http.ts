/** Sends requests over direct connections, which are kept alive and reused. */
import { Slots } from "../concurrency/slots.ts";
import { DirectBody } from "./direct-body.ts";
import { DirectConnection, type DirectHead } from "./direct-connection.ts";
import { DirectLease } from "./direct-lease.ts";
import { requestHead } from "./head.ts";
import type { HttpRequest, HttpSettings } from "./messages.ts";

/** Default number of seconds that an idle connection is kept, unless the server closes it sooner. */
const usuallyKept = 4;

export interface DirectAnswer {
  readonly head: DirectHead;
  readonly body: DirectBody;
}

interface Host {
  readonly url: URL;
  readonly slots: Slots;
  /** Idle connections, the most recently used last. */
  readonly idle: DirectConnection[];
  /**
   * Number of consecutive answers of this host that direct connections could not read. From `enoughUnsuited` on, undici
   * is used.
   */
  unsuited: number;
}

const enoughUnsuited = 3;

const closedError = () => Object.assign(new Error("the storage is closed; open it again"), { code: "ERR_CLOSED" });

export class DirectHttp {
  readonly #settings: HttpSettings;
  readonly #hosts = new Map<string, Host>();
  readonly #connections = new Set<DirectConnection>();
  /** Keep-alive time in milliseconds. */
  readonly #keptFor: number;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(settings: HttpSettings) {
    this.#settings = settings;
    this.#keptFor = (settings.idleTimeout ?? usuallyKept) * 1000;
  }

  /**
   * Sends a request and returns the answer. Returns undefined if this class does not support the request or the answer.
   * The caller then sends the request again with undici.
   */
  async send({ method, origin, path, headers, signal }: HttpRequest): Promise<DirectAnswer | undefined> {
    if (this.#closed) throw closedError();
    const host = this.#host(origin);
    if (host.unsuited >= enoughUnsuited) return undefined;
    const text = requestHead(method, path, host.url.host, headers);
    if (text === undefined) return undefined;
    await host.slots.acquire(signal);
    if (this.#closed || signal?.aborted) {
      host.slots.release();
      throw signal?.reason ?? closedError();
    }
    const lease = new DirectLease(signal, (kept) => {
      if (kept?.rest(this.#keptFor)) host.idle.push(kept);
      host.slots.release();
    });
    try {
      const head = await this.#ask(host, lease, text);
      host.unsuited = head ? 0 : host.unsuited + 1;
      if (head) return { head, body: new DirectBody(lease, head) };
    } catch (error) {
      lease.end(false);
      throw error;
    }
    lease.end(false);
    return undefined;
  }

  /**
   * Sends the request over an idle connection. If the server has closed that connection meanwhile, tries the next idle
   * connection. If no idle connection is left, opens a new one.
   */
  async #ask(host: Host, lease: DirectLease, text: string): Promise<DirectHead | undefined> {
    for (let kept = host.idle.pop(); kept; kept = host.idle.pop()) {
      try {
        return await lease.use(kept).ask(text);
      } catch (error) {
        kept.destroy();
        lease.signal?.throwIfAborted();
        if ((error as NodeJS.ErrnoException).code === "ETIMEDOUT") throw error;
      }
    }
    return lease.use(this.#connect(host)).ask(text);
  }

  #connect(host: Host): DirectConnection {
    const connection = new DirectConnection(host.url, this.#settings, () => {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#stopTimer();
      const index = host.idle.indexOf(connection);
      if (index >= 0) host.idle.splice(index, 1);
    });
    this.#connections.add(connection);
    this.#timer ??= setInterval(this.#lookAtTime, this.#period).unref();
    return connection;
  }

  /** Milliseconds between two checks of deadlines. A timeout may be noticed this much too late. */
  get #period(): number {
    return Math.min(this.#keptFor, this.#settings.readTimeout * 1000 || this.#keptFor) / 8;
  }

  readonly #lookAtTime = () => {
    const now = performance.now();
    for (const connection of this.#connections) connection.lookAtTime(now);
  };

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #host(origin: string): Host {
    const known = this.#hosts.get(origin);
    if (known) return known;
    const host = { url: new URL(origin), slots: new Slots(this.#settings.connections), idle: [], unsuited: 0 };
    this.#hosts.set(origin, host);
    return host;
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections) connection.destroy();
  }
}
