/** Runs Slurm's commands, and tells a refusal of a job from a Slurm that cannot be reached. */
import { spawn } from "node:child_process";
import type { SlurmOptions } from "@millrace/contract";
import { Turns } from "../../turns/turns.ts";
import { CannotStart, EngineUnreachable } from "../engine.ts";
import { Calls, whyFailed } from "../runners/calls.ts";

/** Commands of one cluster that run at a time. Starting a process holds up the server for some milliseconds. */
const atOnce = 4;

/** Where commands are looked for, here and on the nodes: `sbatch` passes its environment on to the job. */
const usualPath = "/usr/local/bin:/usr/bin:/bin";

export class SlurmCommands {
  readonly #env: Readonly<Record<string, string>>;
  readonly #calls = new Calls();
  readonly #turns = new Turns(atOnce);

  /** The commands get no variable of the server's own environment: it may hold secrets, and flags for sbatch. */
  constructor({ slurm_conf, slurm_bin }: Pick<SlurmOptions, "slurm_conf" | "slurm_bin">) {
    this.#env = {
      PATH: slurm_bin === "" ? usualPath : `${slurm_bin}:${usualPath}`,
      LANG: "C.UTF-8",
      ...(slurm_conf === "" ? {} : { SLURM_CONF: slurm_conf }),
    };
  }

  /** Returns what the command prints. Throws CannotStart if Slurm refuses a job, otherwise EngineUnreachable. */
  async run(program: "sbatch" | "squeue" | "scancel" | "sacct", words: readonly string[], input = ""): Promise<string> {
    const start = () => this.#start(program, words, input);
    const { code, said, complained } = await this.#turns.run(start, program).catch((error: Error) => {
      throw new EngineUnreachable(`The command ${program} cannot be run: ${whyFailed(error)}`, { cause: error });
    });
    if (code === 0) return said;
    const why = complained.trim() || `${program} ended with ${code === null ? "a signal" : `exit code ${code}`}`;
    if (program === "sbatch" && isRefusal(why)) throw new CannotStart(`Slurm refuses the job. ${why}`);
    throw new EngineUnreachable(why);
  }

  /** Runs squeue, which is asked again and again. */
  async list(words: readonly string[]): Promise<string> {
    await this.#calls.rest();
    const said = await this.run("squeue", words);
    this.#calls.noteList(said);
    return said;
  }

  close = () => this.#calls.close();

  async #start(program: string, words: readonly string[], input: string) {
    const signal = this.#calls.limit();
    signal.throwIfAborted();
    const child = spawn(program, words, { env: this.#env, cwd: "/", signal, killSignal: "SIGKILL" });
    // The command may end without reading its input; its exit code says what happened.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const printed = [this.#calls.read(child.stdout), this.#calls.read(child.stderr)] as const;
    try {
      const [code, said, complained] = await Promise.all([ended, ...printed]);
      return { code, said, complained };
    } finally {
      child.kill("SIGKILL");
      // What the command has started may hold its output open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    }
  }
}

/** What sbatch says when a job cannot run as it is submitted. All other failures may be over at the next attempt. */
const refusals = [
  /unrecognized option|invalid option|requires an argument|ambiguous|Invalid .* specification/i,
  /Invalid (partition|account|qos|feature|reservation|generic resource|job name|wckey|license|numeric|--)/i,
  /Requested (node configuration|partition configuration|time limit|operation|reservation|topology)/i,
  /(Memory|CPU|Node) (required|specification|count)/i,
  /More (processors|nodes) requested than permitted|Requested nodes? .* not available/i,
  /not permitted|Access\/permission denied|violates accounting\/QOS policy/i,
  /Unable to open file|too (large|long)|Pathname of a file/i,
];

/** A limit on the number of submitted jobs is reached: there will be room again. */
const isFull = /MaxSubmit|GrpSubmit|temporarily|maximum number/i;

const isRefusal = (message: string) =>
  refusals.some((refusal) => refusal.test(message)) &&
  !isFull.test(message) &&
  !/contact|connect|timed out|socket|authentication|munge/i.test(message);
