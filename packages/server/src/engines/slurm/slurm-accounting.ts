/**
 * What Slurm's accounting (sacct) tells about jobs that squeue has forgotten. Many clusters have no accounting, and it
 * may be away while Slurm works: then nothing is known, and nothing else depends on it.
 */
import { EngineUnreachable } from "../engine.ts";
import type { SlurmCommands } from "./slurm-commands.ts";
import type { SlurmEnd } from "./slurm-states.ts";

/** An attempt is asked for at most this often: squeue has forgotten it, so its record does not change any more. */
const askAgainMs = 30_000;
/** The most names in one question. */
const mostNames = 200;
/** How far back sacct looks; by default it would be the last midnight. */
const since = "now-31days";

const fields = ["JobName%200", "State%40", "ExitCode", "Reason%100"] as const;
const separator = "\x1f";

export class SlurmAccounting {
  readonly #commands: SlurmCommands;
  readonly #now: () => number;
  readonly #asked = new Map<string, number>();
  /** Undefined until it was asked. False if the cluster keeps no accounts; it is not asked again. */
  #isOn: boolean | undefined;

  constructor(commands: SlurmCommands, now = () => performance.now()) {
    this.#commands = commands;
    this.#now = now;
  }

  /** Returns how jobs of these names ended, one entry for each record, without those that were asked for just now. */
  async ends(names: readonly string[]): Promise<(SlurmEnd & { readonly name: string })[]> {
    const now = this.#now();
    for (const [name, at] of this.#asked) if (now - at >= askAgainMs) this.#asked.delete(name);
    const due = names.filter((name) => !this.#asked.has(name)).slice(0, mostNames);
    if (due.length === 0 || this.#isOn === false) return [];
    for (const name of due) this.#asked.set(name, now);
    return (await this.#ask(due)).split("\n").flatMap((line) => {
      const [name = "", state = "", exit = "", reason = ""] = line.split(separator);
      // As in "CANCELLED by 1000".
      return due.includes(name) ? [{ name, state: state.split(" ")[0] ?? "", reason, status: statusOf(exit) }] : [];
    });
  }

  async #ask(names: readonly string[]): Promise<string> {
    // Without further flags, sacct shows root the jobs of everybody, whose names anybody can choose.
    const whose = `--uid=${process.getuid?.() ?? 0}`;
    const format = ["--noheader", "--parsable2", `--delimiter=${separator}`, `--format=${fields.join(",")}`];
    const words = [
      whose,
      "--allocations",
      "--duplicates",
      `--starttime=${since}`,
      ...format,
      `--name=${names.join(",")}`,
    ];
    try {
      const said = await this.#commands.run("sacct", words);
      this.#isOn = true;
      return said;
    } catch (error) {
      if (!(error instanceof EngineUnreachable)) throw error;
      if (/accounting storage is disabled/i.test(error.message)) this.#isOn = false;
      return "";
    }
  }
}

/** Returns what wait(2) would for an exit code and a signal, written as `1:0`. */
function statusOf(exit: string): number {
  const [code = 0, signal = 0] = exit.split(":").map((part) => Number(part) || 0);
  return (code << 8) | signal;
}
