/**
 * Watches the free disk space of the data folder. If it is below a minimum, the server starts no job and refuses
 * uploads and new jobs.
 */
import { statfs } from "node:fs/promises";
import { ApiError } from "@millrace/contract";
import type { Clock } from "../domain/time/clock.ts";
import { sqliteFull } from "../store/drivers/unavailable.ts";

/** Milliseconds for which a measurement of free space is reused at most. */
const askEvery = 1000;
/**
 * Bytes that jobs may write in a millisecond. A measurement is reused no longer than they need to reach the minimum:
 * new jobs that an old measurement let in would use what is reserved for cancellations.
 */
const writtenPerMs = 4 * 1024 ** 2;
/**
 * Minimum free space in bytes, even if MILLRACE_DISK_FLOOR is less. It is reserved for recording job ends and
 * cancellations.
 */
const least = 1024 ** 2;
/**
 * Factor. After downloads of files, at least this many times the minimum free space must be left. So logs and the store
 * can still grow before free space falls below the minimum and jobs are refused.
 */
const copiesLeave = 1.25;

export class Disk {
  readonly #folder: string;
  readonly #floor: number;
  readonly #clock: Clock;
  #askAgain = Number.NEGATIVE_INFINITY;
  #free = Promise.resolve(Number.POSITIVE_INFINITY);

  constructor(folder: string, floor: number, clock: Clock) {
    this.#folder = folder;
    this.#floor = floor;
    this.#clock = clock;
  }

  /** Returns the free bytes available to the server's user. The measurement may be up to a second old. */
  free(): Promise<number> {
    const now = this.#clock.monotonic();
    if (now >= this.#askAgain) {
      this.#askAgain = now + askEvery;
      this.#free = this.#ask().then((free) => {
        const spare = Math.max(0, free - this.#minimum);
        this.#askAgain = now + Math.min(askEvery, spare / writtenPerMs);
        return free;
      });
    }
    return this.#free;
  }

  get #minimum(): number {
    return Math.max(this.#floor, least);
  }

  #ask(): Promise<number> {
    // If free space cannot be read, assume that there is enough: a write will fail if there is not.
    return statfs(this.#folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.POSITIVE_INFINITY,
    );
  }

  /** Whether the disk has less free space right now than is reserved for recording job ends and cancellations. */
  async isFull(): Promise<boolean> {
    return (await this.#ask()) < least;
  }

  /** Whether free space is below the minimum, or would be after writing `more` bytes. */
  async isLow(more = 0): Promise<boolean> {
    return (await this.free()) - more < this.#minimum;
  }

  /**
   * Measures the free space. Returns how many bytes must be freed before files with a total of `more` bytes may be
   * downloaded; 0 if there is enough space.
   */
  async shortage(more = 0): Promise<number> {
    return Math.max(0, this.#minimum * copiesLeave + more - (await this.#ask()));
  }

  /** Throws `insufficient_storage` if free space is below the minimum. */
  async requireRoom(): Promise<void> {
    if (!(await this.isLow())) return;
    throw new ApiError(
      "insufficient_storage",
      `The server's disk has only ${mebibytes(await this.free())} MiB free, but the server accepts uploads, jobs and schedules only with at least ${mebibytes(this.#minimum)} MiB (MILLRACE_DISK_FLOOR). Try again after the server's operator has freed disk space.`,
    );
  }
}

const mebibytes = (bytes: number) => Math.floor(bytes / 1024 ** 2);

/** Whether an error means that a disk is full: an error of the file system, of SQLite or of PostgreSQL. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number };
  return code === "ENOSPC" || code === "EDQUOT" || code === "53100" || sqliteFull.has(errcode ?? 0);
}
