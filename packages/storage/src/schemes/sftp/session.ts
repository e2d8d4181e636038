/** One connection with one channel for files, made when it is needed and again when it broke. */
import { once } from "node:events";
import ssh2, { type ConnectConfig, type SFTPWrapper } from "ssh2";
import { abortable } from "../../abortable.ts";
import type { CallOptions } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { type RetryPolicy, retry } from "../../retry.ts";
import { toStorageError } from "./errors.ts";

interface Connection {
  readonly client: ssh2.Client;
  readonly files: SFTPWrapper;
}

export class Session {
  readonly #connect: () => ConnectConfig;
  readonly #bucket: string;
  readonly #retry: RetryPolicy;
  #connection: Promise<Connection> | undefined;

  constructor(bucket: string, connect: () => ConnectConfig, policy: RetryPolicy) {
    this.#bucket = bucket;
    this.#connect = connect;
    this.#retry = policy;
  }

  place(key: string) {
    return { scheme: "sftp", bucket: this.#bucket, key };
  }

  /** Runs work that may be done again when the connection broke. */
  run<T>(key: string, { signal }: CallOptions, work: (files: SFTPWrapper) => Promise<T>): Promise<T> {
    return retry(this.#retry, signal, () => this.once(key, { signal }, work));
  }

  async once<T>(key: string, { signal }: CallOptions, work: (files: SFTPWrapper) => Promise<T>): Promise<T> {
    try {
      const { client, files } = await abortable(this.#connected(), signal);
      return await abortable(untilLost(client, work(files)), signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw toStorageError(error, this.place(key));
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
      await once(client, "ready");
    } catch (error) {
      client.destroy();
      throw isTrusted ? error : this.#distrust();
    }
    // Requests are small, and each waits for its answer: put off, every one of them would take 40 ms.
    client.setNoDelay(true);
    // Errors after this end the connection, and with it what waits for an answer.
    client.on("error", () => {});
    // Everything that waits for an answer listens for the end.
    client.setMaxListeners(0);
    client.on("close", () => {
      this.#connection = undefined;
    });
    return { client, files: await openFiles(client) };
  }

  #distrust(): StorageError {
    const message = `sftp://${this.#bucket}: the host's key is not one that is known; see host_key_policy`;
    return new StorageError("permission", message, this.place(""));
  }
}

function openFiles(client: ssh2.Client): Promise<SFTPWrapper> {
  const opened = Promise.withResolvers<SFTPWrapper>();
  client.sftp((error, files) => (error ? opened.reject(error) : opened.resolve(files)));
  return opened.promise;
}

/** An answer never comes once the connection is lost. */
async function untilLost<T>(client: ssh2.Client, work: Promise<T>): Promise<T> {
  const lost = Promise.withResolvers<never>();
  const lose = () => lost.reject(new StorageError("network", "the connection was lost"));
  client.once("close", lose);
  work.catch(() => {});
  try {
    return await Promise.race([work, lost.promise]);
  } finally {
    client.off("close", lose);
  }
}
