/**
 * A pool of a few connections to one server. Connections are reused, except those whose state is unknown after a
 * failure.
 */
import { type AccessOptions, Client, FTPError } from "basic-ftp";
import { addressOf } from "../../address/server-uri.ts";
import type { Location } from "../../address/uri.ts";
import type { CallOptions } from "../../backend.ts";
import { abortable } from "../../concurrency/abortable.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import { Slots } from "../../concurrency/slots.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { mostTold } from "../../http/bounds.ts";
import { readCertificates } from "../../http/certificates.ts";
import { toStorageError } from "./errors.ts";
import type { parameters } from "./parameters.ts";

type FtpConfiguration = Configuration<typeof parameters>;

/**
 * What a connection is used for. Each use has its own slots, to avoid a deadlock: a copy holds a download connection
 * while it waits for an upload connection, and an upload waits for a command connection. With common slots, several
 * copies could wait for each other.
 */
type Use = "download" | "upload" | "command";

const mostCommands = 2;

export class Pool {
  /** Folders that are known to exist. They are not created again. */
  readonly folders = new Set<string>();
  readonly #location: Location;
  readonly #configuration: FtpConfiguration;
  readonly #retry: RetryPolicy;
  readonly #slots: Readonly<Record<Use, Slots>>;
  readonly #uses = new Map<Client, Use>();
  readonly #idle: Client[] = [];
  #closed = false;

  constructor(location: Location, configuration: FtpConfiguration, policy: RetryPolicy) {
    this.#location = location;
    this.#configuration = configuration;
    this.#retry = policy;
    const files = configuration.values.max_connections;
    this.#slots = { download: new Slots(files), upload: new Slots(files), command: new Slots(mostCommands) };
  }

  place(key: string) {
    return { scheme: this.#location.scheme, bucket: this.#location.bucket, key };
  }

  /**
   * Runs commands on a connection of the pool. If the connection breaks, runs the commands again on another connection,
   * so they must be repeatable.
   */
  run<T>(key: string, { signal }: CallOptions, work: (client: Client) => Promise<T>): Promise<T> {
    return retry(this.#retry, signal, async () => {
      const client = await this.take("command", key, { signal });
      try {
        const result = await abortable(work(client), signal);
        this.giveBack(client);
        return result;
      } catch (error) {
        // After an error answer the connection is still usable; after anything else its state is unclear.
        if (error instanceof FTPError && !signal?.aborted) this.giveBack(client);
        else this.drop(client);
        throw signal?.aborted ? signal.reason : toStorageError(error, this.place(key));
      }
    });
  }

  /** Returns a connection. The caller must give the connection back, or drop it. */
  async take(use: Use, key: string, { signal }: CallOptions): Promise<Client> {
    await this.#slots[use].acquire(signal);
    try {
      const client = this.#takeIdle() ?? (await this.#connect(signal));
      this.#uses.set(client, use);
      return client;
    } catch (error) {
      this.#slots[use].release();
      throw signal?.aborted ? signal.reason : toStorageError(error, this.place(key));
    }
  }

  giveBack(client: Client): void {
    if (!this.#closed && !client.closed) this.#idle.push(client);
    else client.close();
    this.#release(client);
  }

  drop(client: Client): void {
    client.close();
    this.#release(client);
  }

  close(): void {
    this.#closed = true;
    for (const client of [...this.#idle, ...this.#uses.keys()]) client.close();
  }

  #release(client: Client): void {
    const use = this.#uses.get(client);
    this.#uses.delete(client);
    if (use) this.#slots[use].release();
  }

  /**
   * Returns an idle connection; undefined if there is none. Skips connections that were closed meanwhile, for example
   * by the server for inactivity.
   */
  #takeIdle(): Client | undefined {
    let client = this.#idle.pop();
    while (client?.closed) client = this.#idle.pop();
    return client;
  }

  async #connect(signal: AbortSignal | undefined): Promise<Client> {
    const { values } = this.#configuration;
    const client = new Client(values.timeout * 1000, { allowSeparateTransferHost: false, maxListingBytes: mostTold });
    client.ftp.encoding = values.encoding === "latin1" ? "latin1" : "utf8";
    try {
      await abortable(client.access(accessOf(this.#location, this.#configuration)), signal);
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }
}

function accessOf(location: Location, { values }: FtpConfiguration): AccessOptions {
  const { host, port, username, password } = addressOf(location);
  const tls = values.tls ?? (location.scheme === "ftps" ? "explicit" : "none");
  const { verify } = values;
  return {
    host,
    port: port ?? (tls === "implicit" ? 990 : 21),
    user: values.username ?? username ?? "anonymous",
    password: values.password ?? password ?? "anonymous@",
    secure: tls === "implicit" ? "implicit" : tls === "explicit",
    secureOptions: {
      rejectUnauthorized: verify !== false,
      ...(typeof verify === "string" ? { ca: readCertificates(verify, "ftp", "verify") } : {}),
    },
  };
}
