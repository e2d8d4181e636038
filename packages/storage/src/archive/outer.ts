/**
 * The object that holds an archive, in any kind of storage. It is read in ranges, and all ranges come from the same
 * version of the object.
 */
import type { Backend, ByteRange, CallOptions, Entry } from "../backend.ts";
import type { ClientConfig, Environment } from "../configuration/parameters.ts";
import { type ErrorPlace, StorageError } from "../errors.ts";
import { readObject, streamObject } from "../transfer/download.ts";

export interface Outer {
  readonly uri: string;
  readonly scheme: string;
  readonly key: string;
  readonly backend: Backend;
}

/** Location of an archive. */
export interface OuterPlace {
  readonly uri: string;
  readonly client_config: ClientConfig;
  readonly environment: Environment;
}

/**
 * Opens the storage that holds an archive. The registry supplies the opener, because schemes do not import each other.
 */
export interface OuterOpener {
  /** Throws if the URI or its parameters are invalid, without a request to the store. */
  check(place: OuterPlace): void;
  open(place: OuterPlace): Promise<Outer>;
}

export interface Range extends ByteRange, CallOptions {}

export class ArchiveSource {
  readonly #outer: Outer;
  readonly #entry: Entry;

  constructor(outer: Outer, entry: Entry) {
    this.#outer = outer;
    this.#entry = entry;
  }

  static async look(outer: Outer, call: CallOptions): Promise<ArchiveSource> {
    const entry = await outer.backend.stat(outer.key, call);
    if (Number.isFinite(entry.size)) return new ArchiveSource(outer, entry);
    throw new StorageError(
      "unsupported",
      `${outer.uri}: the server does not report the archive's size; download the archive and open the local copy`,
    );
  }

  get uri(): string {
    return this.#outer.uri;
  }

  get size(): number {
    return this.#entry.size;
  }

  isSameAs(other: ArchiveSource): boolean {
    const [one, two] = [this.#entry, other.#entry];
    return one.size === two.size && one.etag === two.etag && Number(one.last_modified) === Number(two.last_modified);
  }

  bytes(range: Range): Promise<Uint8Array> {
    return readObject(this.#outer.backend, this.#outer.key, this.#options(range));
  }

  stream(range: Range): AsyncGenerator<Uint8Array> {
    return streamObject(this.#outer.backend, this.#outer.key, this.#options(range));
  }

  /** Makes the error for an archive that cannot be parsed. */
  damaged(why: string): StorageError {
    return new StorageError("failed", `${this.uri}: ${why}`, this.#place);
  }

  get #place(): ErrorPlace {
    return { scheme: this.#outer.scheme, key: this.#outer.key };
  }

  #options({ start, end, signal }: Range) {
    return { start, end, signal, ifMatch: this.#entry.etag || undefined };
  }
}
