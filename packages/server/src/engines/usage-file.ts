/** Stores the usage samples of an attempt as lines of a file. The longer the attempt runs, the rarer its samples. */
import { appendFileSync, readFileSync } from "node:fs";
import type { UsageSample } from "@millrace/contract";

/**
 * The pause between two samples is the attempt's age divided by this number. That gives about 250 samples in the first
 * hour and 500 in the first week.
 */
const share = 50;
const shortestMs = 1000;

/** Whether the next usage sample is due. All times are in milliseconds; `last` is undefined before the first sample. */
export const isDue = (last: number | undefined, begun: number, now: number) =>
  last === undefined || now - last >= Math.max(shortestMs, (now - begun) / share);

export const appendSample = (file: string, { at, cpu_seconds, memory_bytes, processes }: UsageSample) =>
  appendFileSync(file, `${at} ${cpu_seconds.toFixed(3)} ${memory_bytes} ${processes}\n`, { mode: 0o600 });

/** Reads the usage samples. It skips a last line without a newline, which a full disk may have cut off. */
export function readSamples(file: string): UsageSample[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at = "", cpu = 0, memory = 0, processes = 0] = line.split(" ");
      return { at, cpu_seconds: Number(cpu), memory_bytes: Number(memory), processes: Number(processes) };
    });
}
