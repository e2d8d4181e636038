/** One SSH connection with one SFTP channel. It is opened at the first call, and opened again after a failure. */
import ssh2, { type ConnectConfig, type SFTPWrapper } from "ssh2";
import type { CallOptions } from "../../backend.ts";
import { abortable } from "../../concurrency/abortable.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import { StorageError } from "../../errors.ts";
import { toStorageError } from "./errors.ts";

/**
 * An SSH connection. A file handle is valid only on the connection that opened it; on another connection, the same
 * handle may mean another file.
 */
export class Connection {
  readonly client: ssh2.Client;
  readonly files: SFTPWrapper;
  readonly #waiting = new Set<(error: Error) => void>();
  #isLost = false;

  constructor(client: ssh2.Client, files: SFTPWrapper) {
    this.client = client;
    this.files = files;
    client.once("close", () => {
      this.#isLost = true;
      for (const reject of this.#waiting) reject(lost());
    });
  }

  /**
   * Runs work that waits for answers of the server. If the connection is lost, rejects, because the answers would never
   * arrive.
   */
  async during<T>(work: (files: SFTPWrapper) => Promise<T>): Promise<T> {
    if (this.#isLost) throw lost();
    const ended = Promise.withResolvers<never>();
    this.#waiting.add(ended.reject);
    const working = work(this.files);
    working.catch(() => {});
    try {
      return await Promise.race([working, ended.promise]);
    } finally {
      this.#waiting.delete(ended.reject);
    }
  }
}

const lost = () => new StorageError("network", "the connection to the SFTP server was lost");

export class Session {
  readonly #connect: () => ConnectConfig;
  readonly #bucket: string;
  readonly #retry: RetryPolicy;
  #connection: Promise<Connection> | undefined;
  /** The client of the current connection. The end of an earlier client is ignored. */
  #client: ssh2.Client | undefined;

  constructor(bucket: string, connect: () => ConnectConfig, policy: RetryPolicy) {
    this.#bucket = bucket;
    this.#connect = connect;
    this.#retry = policy;
  }

  place(key: string) {
    return { scheme: "sftp", bucket: this.#bucket, key };
  }

  /**
   * Runs work on the current connection. If the connection breaks, runs the work again on a new connection, so the work
   * must be repeatable.
   */
  run<T>(
    key: string,
    { signal }: CallOptions,
    work: (files: SFTPWrapper, connection: Connection) => Promise<T>,
  ): Promise<T> {
    return retry(this.#retry, signal, () =>
      this.#named(key, signal, async () => {
        const connection = await abortable(this.#connected(), signal);
        return abortable(
          connection.during((files) => work(files, connection)),
          signal,
        );
      }),
    );
  }

  /**
   * Runs work on the given connection. If the connection is lost, the work is not retried on a new one, because file
   * handles are valid only on the connection that opened them.
   */
  on<T>(
    connection: Connection,
    key: string,
    { signal }: CallOptions,
    work: (files: SFTPWrapper) => Promise<T>,
  ): Promise<T> {
    return this.#named(key, signal, () => abortable(connection.during(work), signal));
  }

  async #named<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw signal?.aborted ? signal.reason : toStorageError(error, this.place(key));
    }
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    this.#connection = undefined;
    connection?.client.end();
  }

  #connected(): Promise<Connection> {
    this.#connection ??= this.#open().catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }

  async #open(): Promise<Connection> {
    const client = new ssh2.Client();
    this.#client = client;
    const config = this.#connect();
    let isTrusted = true;
    const { hostVerifier } = config as { hostVerifier: (key: Buffer) => boolean };
    client.connect({
      ...config,
      hostVerifier: (key: Buffer) => {
        isTrusted = hostVerifier(key);
        return isTrusted;
      },
    });
    try {
      await untilReady(client);
    } catch (error) {
      client.destroy();
      throw isTrusted ? error : this.#distrust();
    }
    // Disables Nagle's algorithm, which would delay each small request by 40 ms.
    client.setNoDelay(true);
    // Later errors need no handling here, because they close the connection, and all waiting calls fail.
    client.on("error", () => {});
    client.on("close", () => {
      if (this.#client === client) this.#connection = undefined;
    });
    return new Connection(client, await openFiles(client));
  }

  #distrust(): StorageError {
    const message = `sftp://${this.#bucket}: the host's key is unknown or has changed. Check the key; if it is right, add it to known_hosts, or set host_key`;
    return new StorageError("permission", message, this.place(""));
  }
}

/** Resolves after the login. Rejects if an error occurs, or if the server closes the connection without an error. */
function untilReady(client: ssh2.Client): Promise<void> {
  const ready = Promise.withResolvers<void>();
  client.once("ready", () => ready.resolve());
  client.once("error", ready.reject);
  client.once("close", () => ready.reject(lost()));
  return ready.promise;
}

function openFiles(client: ssh2.Client): Promise<SFTPWrapper> {
  const opened = Promise.withResolvers<SFTPWrapper>();
  client.once("close", () => opened.reject(lost()));
  client.sftp((error, files) => (error ? opened.reject(error) : opened.resolve(files)));
  return opened.promise;
}
