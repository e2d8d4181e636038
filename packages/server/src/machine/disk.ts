/** Room on the file system of the data folder: below the floor nothing is started and nothing is taken. */
import { statfs } from "node:fs/promises";
import { ApiError } from "@millrace/contract";
import type { Clock } from "../domain/time/clock.ts";
import { sqliteFull } from "../store/drivers/unavailable.ts";

/** The file system is asked at most this often. */
const askEvery = 1000;
/** Without a floor, too: what is reserved for ends and cancellations is not for new jobs. */
const least = 1024 ** 2;

export class Disk {
  readonly #folder: string;
  readonly #floor: number;
  readonly #clock: Clock;
  #asked = Number.NEGATIVE_INFINITY;
  #free = Promise.resolve(Number.POSITIVE_INFINITY);

  constructor(folder: string, floor: number, clock: Clock) {
    this.#folder = folder;
    this.#floor = floor;
    this.#clock = clock;
  }

  /** In bytes, for this user. */
  free(): Promise<number> {
    const now = this.#clock.monotonic();
    if (now - this.#asked >= askEvery) {
      this.#asked = now;
      this.#free = this.#ask();
    }
    return this.#free;
  }

  #ask(): Promise<number> {
    // A file system that does not say counts as roomy: a write finds out.
    return statfs(this.#folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.POSITIVE_INFINITY,
    );
  }

  /** Whether nothing more can be written, but for what is reserved, at this moment. */
  async isFull(): Promise<boolean> {
    return (await this.#ask()) < least;
  }

  /** Whether it is low, or would be with so many bytes more. */
  async isLow(more = 0): Promise<boolean> {
    return (await this.free()) - more < Math.max(this.#floor, least);
  }

  /** Refuses what would need room. */
  async requireRoom(): Promise<void> {
    if (!(await this.isLow())) return;
    throw new ApiError(
      "insufficient_storage",
      `The server's disk has ${mebibytes(await this.free())} MiB left, and takes nothing below ${mebibytes(Math.max(this.#floor, least))} MiB (MILLRACE_DISK_FLOOR). Its operator must free some space; then try again.`,
    );
  }
}

const mebibytes = (bytes: number) => Math.floor(bytes / 1024 ** 2);

/** Whether a failure means that a disk is full: that of files, of the embedded store or of the database. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number };
  return code === "ENOSPC" || code === "EDQUOT" || code === "53100" || sqliteFull.has(errcode ?? 0);
}
