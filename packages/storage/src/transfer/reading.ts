/** A read of one object, from its first request to its last. */
import type { Backend } from "../backend.ts";
import type { ReadOptions } from "../options.ts";

export interface Reading {
  readonly backend: Backend;
  readonly key: string;
  readonly options: ReadOptions;
}

/** Returns the maximum number of ranges that are read at once. */
export const widthOf = ({ backend, options }: Reading): number => options.concurrency ?? backend.transfer.concurrency;

/** Returns the size of a range in bytes. */
export const blockOf = ({ backend, options }: Reading): number => options.blockSize ?? backend.transfer.partSize;
