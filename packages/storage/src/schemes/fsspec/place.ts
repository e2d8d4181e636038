/** A URI that is open in the Python process. If that process has exited, the URI is opened again in a new one. */
import { folderOf, type Location } from "../../address/uri.ts";
import type { CallOptions } from "../../backend.ts";
import { abortable } from "../../concurrency/abortable.ts";
import { Slots } from "../../concurrency/slots.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { type ErrorPlace, StorageError } from "../../errors.ts";
import type { Call, RemoteFailure } from "./call.ts";
import { type PythonChild, pythonChild } from "./child.ts";
import { secretsOf, toStorageError } from "./errors.ts";
import { pythonOf } from "./python.ts";
import { type BridgedUri, linkNames } from "./uri.ts";

/**
 * Maximum number of concurrent calls of each sort; further calls wait. Applies only to file systems whose instances do
 * not allow concurrent calls, so that each call needs a connection of its own.
 */
const mostAtOnce = 32;

type Sort = "question" | "read" | "write";

/** A request to the Python process about one file or folder. */
export interface BridgeRequest {
  /** Name of the action, such as `info`, which the Python function `do_info` carries out. */
  readonly action: string;
  readonly key: string;
  /** Further arguments, which depend on the action. */
  readonly members?: object;
}

interface Opened {
  readonly child: PythonChild;
  /** Whether concurrent calls may share one instance of the file system. */
  readonly isParallel: boolean;
}

let lastPlace = 0;

export class Place {
  readonly scheme: string;
  readonly #location: Location;
  readonly #bridged: BridgedUri;
  readonly #configuration: Configuration;
  readonly #hasFolders: boolean;
  readonly #number: number;
  readonly #secrets: readonly string[];
  readonly #slots: Record<Sort, Slots>;
  #opening: Promise<Opened> | undefined;

  constructor(location: Location, bridged: BridgedUri, configuration: Configuration, hasFolders: boolean) {
    lastPlace += 1;
    this.#number = lastPlace;
    this.scheme = location.scheme;
    this.#location = location;
    this.#bridged = bridged;
    this.#configuration = configuration;
    this.#hasFolders = hasFolders;
    this.#secrets = secretsOf(configuration.values, location.uri);
    const slots = () => new Slots(mostAtOnce);
    this.#slots = { question: slots(), read: slots(), write: slots() };
  }

  /** Returns a key relative to the opened URI, as the Python process expects it. */
  relative(key: string): string {
    return key === this.#location.path ? "" : key.slice(folderOf(this.#location.path).length);
  }

  of(key: string): ErrorPlace & { readonly key: string } {
    return { scheme: this.scheme, key };
  }

  /** Sends a request and returns its answer. For actions that answer only once and do not stream. */
  async ask(request: BridgeRequest, { signal }: CallOptions): Promise<unknown> {
    return (await this.begin("question", request, { signal })).result();
  }

  async begin(sort: Sort, { action, key, members }: BridgeRequest, { signal }: CallOptions): Promise<Call> {
    const { child, isParallel } = await abortable(this.#opened(), signal);
    const slots = isParallel ? undefined : this.#slots[sort];
    await slots?.acquire(signal);
    const request = { action, place: this.#number, key: this.relative(key), ...members };
    try {
      const call = child.begin(request, (failure) => this.#explain(failure, key, false), signal);
      void call.answered.then(() => slots?.release());
      return call;
    } catch (error) {
      slots?.release();
      throw error;
    }
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    if (!opened || opened.child.isEnded) return;
    const call = opened.child.begin({ action: "close", place: this.#number }, () => new Error("not closed"));
    await call.result().catch(() => {});
  }

  /**
   * Opens the URI in the Python process, unless it is already open there. If that process has exited, starts a new one.
   */
  async #opened(): Promise<Opened> {
    const opening = this.#opening;
    const known = await opening?.catch(() => undefined);
    if (known && !known.child.isEnded) return known;
    if (this.#opening === opening) this.#opening = undefined;
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Opened> {
    const child = await pythonChild(pythonOf(this.#configuration.environment));
    this.#checkNames(child);
    const { url } = this.#bridged;
    const members = { place: this.#number, url, config: this.#configuration.values, folders: this.#hasFolders };
    const explain = (failure: RemoteFailure) => this.#explain(failure, "", true);
    const answer = await child.begin({ action: "open", ...members }, explain).result();
    return { child, isParallel: (answer as { parallel: boolean }).parallel };
  }

  #checkNames({ hello, python }: PythonChild): void {
    const unknown = linkNames(this.#bridged.url).find((name) => !hello.names.includes(name));
    if (unknown === undefined) return;
    const message =
      `${unknown}:// is not a known kind of storage, neither of Millrace (${this.#bridged.natives.join(", ")}) ` +
      `nor of fsspec ${hello.fsspec} in ${python}. Check the spelling, or install the package that adds ${unknown} to fsspec for this Python`;
    throw new StorageError("config", message, { scheme: this.scheme });
  }

  #explain(failure: RemoteFailure, key: string, isOpening: boolean): Error {
    const python = pythonOf(this.#configuration.environment);
    return toStorageError(failure, { place: this.of(key), python, isOpening, secrets: this.#secrets });
  }
}
