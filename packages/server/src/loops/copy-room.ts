/**
 * Reserves disk space for local copies of the files that jobs need: the downloads, and then the copies in the jobs'
 * working folders. The free space stays above its minimum even when all of them are complete. If space is needed,
 * copies that no job uses are deleted.
 */
import type { Blobs, Copy } from "../blobs/blobs.ts";
import type { Disk } from "../machine/disk.ts";

/**
 * A copy is not deleted for this many milliseconds after its last use, because a queued job may be about to need it.
 */
const recentMs = 10_000;

export class CopyRoom {
  readonly #blobs: Blobs;
  readonly #disk: Pick<Disk, "shortage">;
  readonly #reserved = new Map<string, number>();

  constructor({ blobs, disk }: { readonly blobs: Blobs; readonly disk: Pick<Disk, "shortage"> }) {
    this.#blobs = blobs;
    this.#disk = disk;
  }

  /**
   * Reserves space for the files of a job. If there is not enough space, deletes unused copies. If even deleting all
   * unused copies would not free enough space, deletes nothing and returns false.
   */
  async reserve(jobId: string, bytes: number): Promise<boolean> {
    this.release(jobId);
    const shortage = await this.#disk.shortage(bytes + this.#sum());
    if (shortage > 0 && !(await this.#free(shortage))) return false;
    this.hold(jobId, bytes);
    return true;
  }

  /** Changes how much space is reserved for a job. */
  hold(jobId: string, bytes: number): void {
    this.#reserved.set(jobId, bytes);
  }

  /** Returns the ids of the jobs for which space is reserved. */
  holders(): string[] {
    return [...this.#reserved.keys()];
  }

  release(jobId: string): void {
    this.#reserved.delete(jobId);
  }

  /** Deletes unused copies until the disk has its minimum of free space, or until no unused copy is left. */
  async keepMinimum(): Promise<void> {
    const shortage = await this.#disk.shortage();
    if (shortage > 0) await this.#remove(await this.#unused(), shortage);
  }

  #sum(): number {
    return [...this.#reserved.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  async #free(bytes: number): Promise<boolean> {
    const unused = await this.#unused();
    if (unused.reduce((sum, { size }) => sum + size, 0) < bytes) return false;
    await this.#remove(unused, bytes);
    return true;
  }

  async #remove(copies: readonly Copy[], bytes: number): Promise<void> {
    let left = bytes;
    for (const copy of copies) {
      if (left <= 0) return;
      await this.#blobs.removeCopy(copy.name);
      left -= copy.size;
    }
  }

  /** Returns the copies that no running job uses and that nobody has used for `recentMs`, least recently used first. */
  async #unused(): Promise<Copy[]> {
    const now = Date.now();
    const copies = await this.#blobs.copies();
    return copies
      .filter(({ isLinked, usedAt }) => !isLinked && Math.abs(now - usedAt) >= recentMs)
      .sort((a, b) => a.usedAt - b.usedAt);
  }
}
