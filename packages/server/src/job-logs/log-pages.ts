/** Pages of a log as pieces, which are answered as JSON. */
import type { LogPage } from "@millrace/contract";
import type { LogSource } from "../engines/engine.ts";
import { readPieces } from "../logs/read-pieces.ts";
import { nextPart } from "../turns/large-answers.ts";

/** A page ends when it has read this many bytes. */
const pageBytes = 1024 * 1024;

/**
 * Reads one page of the pieces of a log: at most `limit` pieces, and about a megabyte. Reads several batches, because
 * the size of pieces varies. Masking a batch and turning it into text takes milliseconds, so each batch waits for its
 * turn.
 */
export async function readLogPage(source: LogSource, after: number, ended: boolean, limit: number): Promise<LogPage> {
  const logs: LogPage["logs"] = [];
  let next = after;
  for (;;) {
    await nextPart();
    const batch = await readPieces(source, next, ended, { maxPieces: limit - logs.length });
    logs.push(...batch.pieces);
    next = batch.next;
    if (batch.finished) return { logs, next: null, complete: true };
    if (batch.pieces.length === 0 || logs.length >= limit || next - after >= pageBytes)
      return { logs, next, complete: false };
  }
}
