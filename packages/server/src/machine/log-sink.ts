/**
 * Writes log lines to standard error without ever blocking or ending the server. Standard error may be a file on a full
 * disk, a pipe without a reader or a closed terminal. If lines cannot be written, they are dropped, and a later line
 * says how many.
 */
import { constants, fstatSync, openSync, writeSync } from "node:fs";

/**
 * Maximum number of bytes that wait for a slow reader of standard error. Log lines that would exceed this number are
 * dropped.
 */
const mostWaiting = 1024 * 1024;

/** Writes as many bytes as possible without blocking, and returns how many it wrote. Throws if it can write none. */
type Write = (bytes: Buffer) => number;

export class LogSink {
  readonly #write: Write;
  #dropped = 0;
  /** Whether only a part of the last line was written. */
  #torn = false;

  constructor(write: Write) {
    this.#write = write;
  }

  write(line: string): void {
    if (this.#dropped > 0 && !this.#put(this.#lossNotice())) return void this.#dropped++;
    if (!this.#put(line)) this.#dropped++;
  }

  #put(line: string): boolean {
    const bytes = Buffer.from(this.#torn ? `\n${line}` : line);
    let written = 0;
    try {
      while (written < bytes.length) written += this.#write(bytes.subarray(written));
      this.#torn = false;
      this.#dropped = 0;
      return true;
    } catch {
      this.#torn ||= written > 0;
      return false;
    }
  }

  #lossNotice(): string {
    const notice = { level: 40, time: Date.now(), dropped: this.#dropped, msg: "log lines could not be written" };
    return `${JSON.stringify(notice)}\n`;
  }
}

/** Opens standard error as a log sink. */
export function openLogSink(): LogSink {
  const stats = fstatSync(2);
  if (stats.isFIFO() || stats.isSocket()) return new LogSink(writeToReader);
  const target = stats.isCharacterDevice() ? reopened(2) : 2;
  return new LogSink((bytes) => writeSync(target, bytes));
}

/** Writes to a pipe or socket through Node's stream, which buffers until the reader takes the bytes. */
function writeToReader(bytes: Buffer): number {
  const { stderr } = process;
  if (!stderr.writable || stderr.writableLength > mostWaiting)
    throw new Error("the reader of the log is gone or too slow");
  stderr.write(bytes);
  return bytes.length;
}

/**
 * Opens a terminal again in non-blocking mode, so that writes to a paused terminal fail at once. Other programs that
 * use the same terminal are not affected.
 */
function reopened(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
