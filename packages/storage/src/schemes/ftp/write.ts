/** Writes files on FTP servers under a temporary name, and then renames them. */
import { PassThrough } from "node:stream";
import { type Client, FTPError } from "basic-ftp";
import { foldersOf, temporaryKey } from "../../address/tree-path.ts";
import type { CallOptions, Entry, Upload, WriteCall } from "../../backend.ts";
import { abortable } from "../../concurrency/abortable.ts";
import { putAtOnce } from "../../transfer/sequential-upload.ts";
import { toStorageError } from "./errors.ts";
import { checkPath, pathOf, statFile } from "./list.ts";
import type { Pool } from "./pool.ts";

export async function putFile(pool: Pool, key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry> {
  return putAtOnce(await beginUpload(pool, key, call), bytes);
}

/** Begins an upload, which occupies a connection until it is finished or aborted. */
export async function beginUpload(pool: Pool, key: string, call: WriteCall): Promise<Upload> {
  checkPath(key);
  await makeFolders(pool, key, call);
  const temporary = temporaryKey(key);
  const client = await pool.take("upload", key, call);
  const source = new PassThrough();
  const sent = client.uploadFrom(source, pathOf(temporary));
  // If the transfer fails, the source stream is destroyed too, so that no write to it waits for ever.
  sent.catch((error: Error) => source.destroy(error));
  return new FileUpload(pool, key, { temporary, connection: client, source, sent }, call);
}

/** A running transfer to a temporary file on the server. */
interface Sending {
  /** Key of the temporary file. */
  readonly temporary: string;
  /** The connection that the transfer occupies. */
  readonly connection: Client;
  /** Bytes that are written to this stream are sent to the server. */
  readonly source: PassThrough;
  /** Settles when the transfer has ended. */
  readonly sent: Promise<unknown>;
}

class FileUpload implements Upload {
  readonly #pool: Pool;
  readonly #key: string;
  readonly #sending: Sending;
  readonly #call: WriteCall;
  #isHeld = true;

  constructor(pool: Pool, key: string, sending: Sending, call: WriteCall) {
    this.#pool = pool;
    this.#key = key;
    this.#sending = sending;
    this.#call = call;
  }

  /**
   * Sends a piece of the file. Resolves when the stream has room for more; rejects if the transfer failed. Copies the
   * bytes, because the caller reuses its buffer.
   */
  async put(_part: number, bytes: Uint8Array): Promise<void> {
    this.#call.signal?.throwIfAborted();
    const { source, sent } = this.#sending;
    const written = Promise.withResolvers<void>();
    source.write(Buffer.from(bytes), (error) => (error ? written.reject(error) : written.resolve()));
    const taken = Promise.race([written.promise, sent.then(() => {})]);
    await this.#named(abortable(taken, this.#call.signal));
  }

  async finish(): Promise<Entry> {
    const { source, sent, connection, temporary } = this.#sending;
    source.end();
    await this.#named(abortable(sent, this.#call.signal));
    this.#isHeld = false;
    this.#pool.giveBack(connection);
    await this.#pool.run(this.#key, this.#call, (client) => replace(client, temporary, this.#key));
    return statFile(this.#pool, this.#key, this.#call);
  }

  async abort(): Promise<void> {
    const { source, connection, temporary } = this.#sending;
    source.destroy();
    if (this.#isHeld) this.#pool.drop(connection);
    this.#isHeld = false;
    await this.#pool.run(this.#key, {}, (client) => client.remove(pathOf(temporary)));
  }

  async #named<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const { signal } = this.#call;
      throw signal?.aborted ? signal.reason : toStorageError(error, this.#pool.place(this.#key));
    }
  }
}

/**
 * Creates the parent folders. Errors are ignored, because a server also refuses to create a folder that exists. If a
 * folder is really missing, the write of the file fails.
 */
export async function makeFolders(pool: Pool, key: string, call: CallOptions): Promise<void> {
  await pool.run(key, call, async (client) => {
    for (const folder of foldersOf(key).filter((name) => !pool.folders.has(name))) {
      await client.sendIgnoringError(`MKD ${pathOf(folder)}`);
      pool.folders.add(folder);
    }
  });
}

/**
 * Replaces a file. If the server cannot rename over an existing file, the old file is removed first, so that the file
 * is missing for a moment.
 */
export async function replace(client: Client, from: string, to: string): Promise<void> {
  try {
    await client.rename(pathOf(from), pathOf(to));
  } catch (error) {
    if (!(error instanceof FTPError)) throw error;
    await client.remove(pathOf(to), true);
    await client.rename(pathOf(from), pathOf(to));
  }
}
