/**
 * A job's log is a file that the job itself has open: it can cut it, and write it anew. What was read of it once is
 * remembered while the job runs, as a length and the last bytes before it; where they are gone, the log says so, and it is
 * as long as it was, so that whoever follows it neither waits for ever nor reads the same place twice.
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
  `\n[millrace] The job changed its own log: of the first ${end} bytes, which were shown before, some are gone.\n`;

export class LogMarks {
  readonly #marks = new Map<string, Mark>();

  /** Somebody was shown these bytes. Only of attempts that are being looked at. */
  saw(key: string, offset: number, bytes: Buffer): void {
    // Beyond the end there was nothing to see, wherever somebody looked.
    if (bytes.length === 0) return;
    const mark = this.#marks.get(key);
    const end = offset + bytes.length;
    if (mark && end > mark.end) this.#marks.set(key, { end, tail: Buffer.from(bytes.subarray(-tailBytes)) });
  }

  /** Looks whether what was shown is still there; where it is not, the log says so from now on. */
  check(folder: AttemptFolder): void {
    const mark = this.#marks.get(folder.key);
    if (!mark) this.#marks.set(folder.key, nothing);
    else if (mark.end > 0) this.#marks.set(folder.key, this.#restore(folder.log, mark));
  }

  /** A disk that is full, or a log that was removed, must not keep a job from ending. */
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
    // At the end of what was shown, or of what is there now: nothing comes to lie before it that was not there.
    const at = Math.max(size, end - note.length);
    writeSync(file, note, 0, note.length, at);
    return { end: at + note.length, tail: note.subarray(-tailBytes) };
  } finally {
    closeSync(file);
  }
}
