/**
 * Remembers in the data folder at which isolation level jobs ran last. With `auto`, a level that worked before and fails
 * now has a temporary cause, such as a full disk, and must not lead to a weaker level.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isolationLevels } from "@millrace/contract";
import type { IsolationLevel } from "../../engine.ts";

/** Returns the level at which jobs ran last; undefined if that is not known. */
export function readKeptLevel(file: string): IsolationLevel | undefined {
  try {
    const text = readFileSync(file, "utf8").trim();
    return isolationLevels.find((level) => level === text);
  } catch {
    return undefined;
  }
}

/** Remembers the level. On a full disk it does nothing: the next start tries again. */
export function keepLevel(file: string, level: IsolationLevel): void {
  if (readKeptLevel(file) === level) return;
  try {
    writeFileSync(`${file}.draft`, `${level}\n`, { mode: 0o600 });
    renameSync(`${file}.draft`, file);
  } catch (error) {
    if (!isFull(error)) throw error;
  }
}

/** A level that has worked is tried this often, with pauses of this many milliseconds. */
const [triesOfKept, pauseMs] = [3, 500];

/**
 * Tries out a level. One that has worked before gets several tries: what is wrong may be over in a moment, and the
 * server would not start.
 */
export async function tryLevel(tryOut: () => Promise<void>, hasWorked: boolean): Promise<void> {
  for (let left = hasWorked ? triesOfKept : 1; ; left--)
    try {
      return await tryOut();
    } catch (error) {
      if (left === 1) throw error;
      await sleep(pauseMs);
    }
}

/** Whether an error says that the disk is full. Programs say it in their message. */
const isFull = (error: unknown): boolean =>
  /^(ENOSPC|EDQUOT)$/.test(codeOf(error)) || /No space left on device|Disk quota exceeded/.test(messageOf(error));

/** Whether an error says that processes, open files or memory are used up. bwrap and sh say it in their message. */
const isShort = (error: unknown): boolean =>
  /^(EAGAIN|EMFILE|ENFILE|ENOMEM)$/.test(codeOf(error)) ||
  /Resource temporarily unavailable|Cannot fork|Too many open files|Cannot allocate memory|Out of memory/i.test(
    messageOf(error),
  );

/** Whether an error says nothing about the machine: a full disk, no free process, file or memory, or a time limit. */
export const isPassing = (error: unknown): boolean => isFull(error) || isShort(error) || causeOf(error).killed === true;

const causeOf = (error: unknown) =>
  ((error as Error).cause ?? error) as NodeJS.ErrnoException & { readonly killed?: boolean };
const codeOf = (error: unknown) => String(causeOf(error).code ?? "");
const messageOf = (error: unknown) => (error as Error).message;
