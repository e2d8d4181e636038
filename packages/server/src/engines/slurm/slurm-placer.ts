/**
 * Places runners with Slurm, by its commands: sbatch, squeue and scancel. The name of a Slurm job holds the key of its
 * attempt, so a job whose submission was interrupted is found again. Jobs are never looked up by their number, which
 * Slurm uses again.
 */
import type { SlurmOptions } from "@millrace/contract";
import { EngineUnreachable } from "../engine.ts";
import type { EndedRunner, Placed, Placement, Placer } from "../runners/placer.ts";
import { SlurmAccounting } from "./slurm-accounting.ts";
import { SlurmCommands } from "./slurm-commands.ts";
import { endInWords, isCertain, isOver, isWaiting, reasonInWords, type SlurmEnd } from "./slurm-states.ts";

/** The name of a job is this and the key of its attempt. */
const prefix = "millrace-";

/** What squeue prints of a job, each followed by a separator that no field contains. */
const fields = ["Name", "JobID", "State", "Reason", "exit_code"] as const;
const separator = "\x1f";
const format = fields.map((field) => `${field}:${separator}`).join(",");

interface SlurmJob extends SlurmEnd {
  readonly key: string;
  readonly id: string;
}

export class SlurmPlacer implements Placer {
  readonly absentMs: number;
  readonly leavesNothing = true;
  readonly #options: SlurmOptions;
  readonly #commands: SlurmCommands;
  readonly #accounting: SlurmAccounting;

  /** By default a job counts as forgotten after five minutes: controllers are restarted, and backups take over. */
  constructor(options: SlurmOptions, absentMs = 300_000) {
    this.#options = options;
    this.absentMs = absentMs;
    this.#commands = new SlurmCommands(options);
    this.#accounting = new SlurmAccounting(this.#commands);
  }

  async place({ key, runner, variables, workers, priority, isRepeated }: Placement): Promise<string> {
    const known = isRepeated ? (await this.#jobs()).find((job) => job.key === key) : undefined;
    if (known) return known.id;
    const words = this.#words(key, workers, priority);
    const answer = await this.#commands.run("sbatch", words, this.#script(runner, variables));
    // The number of the job, with `;` and the name of its cluster if there are several.
    const [id = ""] = answer.trim().split(";");
    if (!/^\d+$/.test(id)) throw new EngineUnreachable(`sbatch answered ${JSON.stringify(answer.slice(0, 200))}.`);
    return id;
  }

  /** Flags of sbatch. Of two equal flags the last one counts, so the administrator's cannot replace ours. */
  #words(key: string, workers: number, priority: number): string[] {
    const { partition, account, time, memory, gpus, extra_flags, nice_step, runner_output } = this.#options;
    const given = { partition, account, time, "mem-per-cpu": memory, gres: gpus === "" ? "" : `gpu:${gpus}` };
    return [
      ...extra_flags.split(/\s+/).filter((word) => word !== ""),
      ...Object.entries(given).flatMap(([name, value]) => (value === "" ? [] : `--${name}=${value}`)),
      // A worker is a task of its own, so that a job may also start its workers with srun; all on one node.
      ...["--nodes=1", `--ntasks=${workers}`, `--nice=${priority * nice_step}`],
      // Without a requeue: the runner of an attempt starts once, and retries are the server's.
      ...["--parsable", "--no-requeue", "--export=ALL", "--chdir=/", "--input=/dev/null", `--output=${runner_output}`],
      ...[`--job-name=${prefix}${key}`, `--comment=${prefix}${key}`],
    ];
  }

  /** The batch script. Slurm shows it to its owner and to administrators, and the code in it works once. */
  #script(runner: string, variables: Placement["variables"]): string {
    const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}\n`);
    return [
      // The shell runs the commands up to `exec`, which starts Python with this very file. For Python, they are a text
      // that nobody uses. Isolated and without packages: nothing may stand in for the standard library, and it starts
      // faster.
      "#!/bin/sh\n''':'\n",
      ...exports,
      `exec ${quote(this.#options.python)} -I -S "$0" # '''\n`,
      runner,
    ].join("");
  }

  async list(): Promise<Map<string, Placed>> {
    return new Map(
      (await this.#jobs()).map(({ key, state, reason }) => [
        key,
        { isRunning: !isWaiting(state), reason: isWaiting(state) ? reasonInWords(reason) : "" },
      ]),
    );
  }

  /** Slurm remembers an ended job for some minutes (MinJobAge), and its accounting, if it has one, for longer. */
  async ended(keys: readonly string[]): Promise<Map<string, EndedRunner>> {
    const names = keys.map((key) => prefix + key);
    const known: (SlurmEnd & { readonly key: string })[] = await this.#jobs(
      "--states=all",
      `--name=${names.join(",")}`,
    );
    const listed = new Set(known.map(({ key }) => prefix + key));
    const recorded = await this.#accounting.ends(names.filter((name) => !listed.has(name)));
    const jobs = [...known, ...recorded.map(({ name, ...end }) => ({ key: name.slice(prefix.length), ...end }))];
    // Slurm may have started one job twice.
    const open = new Set(jobs.filter(({ state }) => !isOver(state)).map(({ key }) => key));
    const over = jobs.filter(({ key }) => !open.has(key));
    return new Map(over.map(({ key, ...job }) => [key, { how: endInWords(job), isCertain: isCertain(job.state) }]));
  }

  /** Lists jobs of this user. Others may choose the names of their jobs as they like. */
  async #jobs(...words: readonly string[]): Promise<SlurmJob[]> {
    const answer = await this.#commands.list(["--me", "--noheader", `--Format=${format}`, ...words]);
    return answer.split("\n").flatMap((line) => {
      const [name = "", id = "", state = "", reason = "", status = ""] = line.split(separator).map((f) => f.trim());
      return name.startsWith(prefix)
        ? [{ key: name.slice(prefix.length), id, state, reason, status: Number(status) }]
        : [];
    });
  }

  async remove(key: string): Promise<void> {
    await this.#commands.run("scancel", ["--quiet", "--me", `--name=${prefix}${key}`]);
  }

  /**
   * Removes several jobs by their numbers, because scancel takes one name only. The numbers come from a list that was
   * made just before: numbers that are older may belong to other jobs.
   */
  async removeAll(keys: readonly string[]): Promise<void> {
    const [key = "", ...others] = keys;
    if (others.length === 0) return this.remove(key);
    const listed = async () => (await this.#jobs()).filter((job) => keys.includes(job.key)).map(({ id }) => id);
    const ids = await listed();
    if (ids.length === 0) return;
    await this.#commands.run("scancel", ["--quiet", "--me", ...ids]).catch(async (error) => {
      // It complains about jobs that have ended meanwhile.
      if ((await listed()).length > 0) throw error;
    });
  }

  close = async () => this.#commands.close();
}

/** Quotes a word for the shell so that no apostrophes follow each other: three would end the text that Python reads. */
const quote = (word: string) => `"${word.replace(/["$`\\]/g, "\\$&").replaceAll("'", `'""`)}"`;
