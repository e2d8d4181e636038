/**
 * Places runners with Slurm, by its commands: sbatch, squeue and scancel. A job's name is the key of its attempt, so
 * that a job whose submission was interrupted is found again.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { CannotStart, EngineUnreachable } from "../engine.ts";
import type { Placed, Placement, Placer } from "../runners/placer.ts";

export interface SlurmOptions {
  /** Path of slurm.conf; empty for the default of the machine. */
  readonly configuration: string;
  readonly partition: string;
  readonly account: string;
  /** Time limit as Slurm writes it, such as `2-00:00:00`; empty for the partition's own. */
  readonly time: string;
  /** Memory of each worker as Slurm writes it, such as `4G`. */
  readonly memory: string;
  /** Generic resources of each job, such as `gpu:1`. */
  readonly resources: string;
  /** Further words for sbatch. */
  readonly extra: readonly string[];
  /** The interpreter that runs the runner on a node. */
  readonly python: string;
}

/** Jobs of Millrace have this name before their key. */
const prefix = "millrace-";

/** Milliseconds that one command may take. */
const patienceMs = 30_000;

/** States of a job that has not started yet. */
const waiting = new Set(["PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"]);

export class SlurmPlacer implements Placer {
  readonly #options: SlurmOptions;

  constructor(options: SlurmOptions) {
    this.#options = options;
  }

  async place({ key, runner, variables, workers }: Placement): Promise<string> {
    const known = (await this.#jobs()).find((job) => job.key === key);
    if (known) return known.id;
    const script = this.#script(runner, variables);
    return (await this.#run("sbatch", this.#words(key, workers), script)).trim().split(";")[0] ?? "";
  }

  #words(key: string, workers: number): string[] {
    const { partition, account, time, memory, resources, extra } = this.#options;
    const given = { partition, account, time, "mem-per-cpu": memory, gres: resources };
    return [
      ...["--parsable", "--no-requeue", "--export=NONE", "--input=/dev/null", "--output=/dev/null"],
      ...[`--job-name=${prefix}${key}`, `--comment=${prefix}${key}`, `--cpus-per-task=${workers}`],
      ...Object.entries(given).flatMap(([name, value]) => (value === "" ? [] : `--${name}=${value}`)),
      ...extra,
    ];
  }

  /** The batch script. The code in it works once, and Slurm shows the script to its owner alone. */
  #script(runner: string, variables: Placement["variables"]): string {
    const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}\n`);
    const body = Buffer.from(runner).toString("base64").replace(/.{76}/g, "$&\n");
    const start = `import base64, sys; exec(compile(base64.b64decode(sys.stdin.read()), "runner.py", "exec"))`;
    return [
      "#!/bin/sh\n",
      ...exports,
      `exec ${quote(this.#options.python)} -c ${quote(start)} <<'END'\n${body}\nEND\n`,
    ].join("");
  }

  async list(): Promise<Map<string, Placed>> {
    return new Map(
      (await this.#jobs()).map(({ key, state, reason }) => [
        key,
        { isRunning: !waiting.has(state), reason: waiting.has(state) ? `Slurm: ${reason}` : "" },
      ]),
    );
  }

  async #jobs() {
    const lines = (await this.#run("squeue", ["--noheader", "--format=%i|%T|%r|%j"])).split("\n");
    return lines.flatMap((line) => {
      const [id = "", state = "", reason = "", name = ""] = line.split("|");
      return name.startsWith(prefix) ? [{ id, state, reason, key: name.slice(prefix.length) }] : [];
    });
  }

  async remove(key: string): Promise<void> {
    await this.#run("scancel", [`--name=${prefix}${key}`]);
  }

  close = async () => {};

  /** Runs a command of Slurm. Its refusals concern the job; everything else means that Slurm cannot be reached. */
  async #run(program: string, words: readonly string[], input = ""): Promise<string> {
    const { configuration } = this.#options;
    const set = configuration === "" ? [] : [`SLURM_CONF=${configuration}`];
    const child = spawn("env", [...set, program, ...words], { timeout: patienceMs });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const [code, said, complained] = await Promise.all([ended, text(child.stdout), text(child.stderr)]).catch(
      (error: Error) => {
        throw new EngineUnreachable(`The command ${program} cannot be run: ${error.message}`, { cause: error });
      },
    );
    if (code === 0) return said;
    const why = `${program}: ${complained.trim() || `exit code ${code}`}`;
    if (program === "sbatch" && isRefusal(complained)) throw new CannotStart(`Slurm refuses the job. ${why}`);
    throw new EngineUnreachable(why);
  }
}

/** Whether sbatch refuses this job, and would refuse it again. */
const isRefusal = (message: string) =>
  /invalid|not available|violates|exceeds|not permitted|unrecognized/i.test(message) &&
  !/unable to contact|connection|timed out|socket/i.test(message);

const quote = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;
