/**
 * Where log lines go. Logging never blocks the server and never ends it: standard error may be a file on a full disk, a
 * pipe that nobody reads, a terminal that was closed. What cannot be written is dropped, and counted when it can again.
 */
import { constants, fstatSync, openSync, writeSync } from "node:fs";

/** Bytes that wait for a reader; beyond that lines are dropped. */
const mostWaiting = 1024 * 1024;

/** Writes what it can without waiting; returns how many bytes that was. Throws where it can write nothing. */
type Write = (bytes: Buffer) => number;

export class LogSink {
  readonly #write: Write;
  #dropped = 0;
  /** Whether the last line broke off in its middle. */
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

/** Standard error. */
export function openLogSink(): LogSink {
  const stats = fstatSync(2);
  if (stats.isFIFO() || stats.isSocket()) return new LogSink(writeToReader);
  const target = stats.isCharacterDevice() ? reopened(2) : 2;
  return new LogSink((bytes) => writeSync(target, bytes));
}

/** Through the event loop, which keeps for a while what the reader does not take yet. */
function writeToReader(bytes: Buffer): number {
  const { stderr } = process;
  if (!stderr.writable || stderr.writableLength > mostWaiting) throw new Error("nobody reads the log");
  stderr.write(bytes);
  return bytes.length;
}

/** A terminal that was paused would block; opened anew, it refuses instead, and others who have it open do not notice. */
function reopened(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
