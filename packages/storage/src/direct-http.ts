/** Answers over direct connections, which are kept for a while and used again. */
import { DirectBody } from "./direct-body.ts";
import { DirectConnection, type DirectHead } from "./direct-connection.ts";
import { DirectLease } from "./direct-lease.ts";
import type { HttpRequest, HttpSettings } from "./http.ts";
import { requestHead } from "./http-head.ts";
import { Slots } from "./slots.ts";

/** Milliseconds; servers that close sooner are noticed. */
const keptFor = 4000;

export interface DirectAnswer {
  readonly head: DirectHead;
  readonly body: DirectBody;
}

interface Host {
  readonly url: URL;
  readonly slots: Slots;
  /** The one used last is at the end. */
  readonly idle: DirectConnection[];
}

export class DirectHttp {
  readonly #settings: HttpSettings;
  readonly #hosts = new Map<string, Host>();
  readonly #connections = new Set<DirectConnection>();

  constructor(settings: HttpSettings) {
    this.#settings = settings;
  }

  /** Undefined: the request, or its answer, is none for this way, and must be asked in the ordinary one. */
  async send({ method, origin, path, headers, signal }: HttpRequest): Promise<DirectAnswer | undefined> {
    const host = this.#host(origin);
    const text = requestHead(method, path, host.url.host, headers);
    if (text === undefined) return undefined;
    await host.slots.acquire(signal);
    const lease = new DirectLease(signal, (kept) => {
      if (kept?.rest(keptFor)) host.idle.push(kept);
      host.slots.release();
    });
    try {
      const head = await this.#ask(host, lease, text);
      if (head) return { head, body: new DirectBody(lease, head) };
    } catch (error) {
      lease.end(false);
      throw error;
    }
    lease.end(false);
    return undefined;
  }

  /** A kept connection may have been closed by the server meanwhile: then the next one is tried, at last a new one. */
  async #ask(host: Host, lease: DirectLease, text: string): Promise<DirectHead | undefined> {
    for (let kept = host.idle.pop(); kept; kept = host.idle.pop()) {
      try {
        return await lease.use(kept).ask(text);
      } catch {
        kept.destroy();
        lease.signal?.throwIfAborted();
      }
    }
    return lease.use(this.#connect(host)).ask(text);
  }

  #connect(host: Host): DirectConnection {
    const connection = new DirectConnection(host.url, this.#settings, () => {
      this.#connections.delete(connection);
      const index = host.idle.indexOf(connection);
      if (index >= 0) host.idle.splice(index, 1);
    });
    this.#connections.add(connection);
    return connection;
  }

  #host(origin: string): Host {
    const known = this.#hosts.get(origin);
    if (known) return known;
    const host = { url: new URL(origin), slots: new Slots(this.#settings.connections), idle: [] };
    this.#hosts.set(origin, host);
    return host;
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }
}
