/**
 * Detects that a running job has truncated or rewritten its own log, which the job has open for writing. A mark
 * remembers how many bytes readers have seen, and the last of these bytes. If these last bytes have changed, a note is
 * written to the log. With the note, the log is at least as long as the part that readers have seen, so that followers
 * neither wait forever nor read an offset twice.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { AttemptFolder } from "./attempt-folder.ts";

interface Mark {
  readonly end: number;
  readonly tail: Buffer;
}

const tailBytes = 64;
const nothing: Mark = { end: 0, tail: Buffer.alloc(0) };

const shortened = (end: number) =>
  `\n[millrace] The job changed its own log: some of the first ${end} bytes, which were already shown, are gone.\n`;

export class LogMarks {
  readonly #marks = new Map<string, Mark>();

  /** Records that a reader has seen these bytes. Does nothing if `check` was never called for the attempt. */
  saw(key: string, offset: number, bytes: Buffer): void {
    // A read past the end of the log shows nothing.
    if (bytes.length === 0) return;
    const mark = this.#marks.get(key);
    const end = offset + bytes.length;
    if (mark && end > mark.end) this.#marks.set(key, { end, tail: Buffer.from(bytes.subarray(-tailBytes)) });
  }

  /** Checks that the bytes that readers have seen are still in the log. If they are not, writes a note to the log. */
  check(folder: AttemptFolder): void {
    const mark = this.#marks.get(folder.key);
    if (!mark) this.#marks.set(folder.key, nothing);
    else if (mark.end > 0) this.#marks.set(folder.key, this.#restore(folder.log, mark));
  }

  /**
   * Writes a note to the log if bytes that readers have seen are gone. Ignores errors: neither a full disk nor a
   * deleted log may block the end of the job.
   */
  #restore(path: string, mark: Mark): Mark {
    try {
      return restore(path, mark);
    } catch {
      return mark;
    }
  }

  forget(key: string): void {
    this.#marks.delete(key);
  }
}

function restore(path: string, mark: Mark): Mark {
  const file = openSync(path, "r+");
  try {
    const { end, tail } = mark;
    const { size } = fstatSync(file);
    const found = Buffer.alloc(tail.length);
    readSync(file, found, 0, tail.length, end - tail.length);
    if (size >= end && found.equals(tail)) return mark;
    const note = Buffer.from(shortened(end));
    // Write the note where the seen part ended, or at the end of a longer log, so that no later bytes are overwritten.
    const at = Math.max(size, end - note.length);
    writeSync(file, note, 0, note.length, at);
    return { end: at + note.length, tail: note.subarray(-tailBytes) };
  } finally {
    closeSync(file);
  }
}
