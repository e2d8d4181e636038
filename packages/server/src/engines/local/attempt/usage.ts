/** What an attempt uses, sampled: lines in a file of its folder, more seldom the longer it runs. */
import { appendFileSync, readFileSync } from "node:fs";
import type { UsageSample } from "@millrace/contract";

/** An hour has some hundred and fifty samples, a week some three hundred. */
const share = 50;
const shortestMs = 1000;

/** Whether it is time for another. */
export const isDue = (last: number | undefined, begun: number, now: number) =>
  last === undefined || now - last >= Math.max(shortestMs, (now - begun) / share);

export const appendSample = (file: string, { at, cpu_seconds, memory_bytes, processes }: UsageSample) =>
  appendFileSync(file, `${at} ${cpu_seconds.toFixed(3)} ${memory_bytes} ${processes}\n`, { mode: 0o600 });

/** A last line that was cut short by a full disk is left out. */
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
