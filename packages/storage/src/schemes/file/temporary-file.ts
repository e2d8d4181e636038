/** Writes a file beside its target and then moves it there, so that nobody sees an incomplete file. */
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryKey } from "../../address/tree-path.ts";
import { named } from "./errors.ts";

export class TemporaryFile {
  readonly file: string;
  readonly handle: FileHandle;
  readonly #temporary: string;

  static open(file: string): Promise<TemporaryFile> {
    return named(file, async () => {
      await mkdir(dirname(file), { recursive: true });
      const temporary = temporaryKey(file);
      return new TemporaryFile(file, temporary, await open(temporary, "wx"));
    });
  }

  private constructor(file: string, temporary: string, handle: FileHandle) {
    this.file = file;
    this.#temporary = temporary;
    this.handle = handle;
  }

  takePlace(): Promise<void> {
    return named(this.file, async () => {
      await this.handle.close();
      await rename(this.#temporary, this.file);
    });
  }

  async giveUp(): Promise<void> {
    await this.handle.close().catch(() => {});
    await rm(this.#temporary, { force: true });
  }
}
