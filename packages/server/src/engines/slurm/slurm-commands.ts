/** Runs Slurm's commands, and tells a refusal of a job from a Slurm that cannot be reached. */
import { spawn } from "node:child_process";
import type { SlurmOptions } from "@millrace/contract";
import { CannotStart, EngineUnreachable } from "../engine.ts";
import { answerText } from "../runners/cluster-answers.ts";

/** Milliseconds that one command may take. */
const patienceMs = 30_000;

/** Where commands are looked for, here and on the nodes: `sbatch` passes its environment on to the job. */
const usualPath = "/usr/local/bin:/usr/bin:/bin";

export class SlurmCommands {
  readonly #env: Readonly<Record<string, string>>;
  readonly #closing = new AbortController();

  /** The commands get no variable of the server's own environment: it may hold secrets, and flags for sbatch. */
  constructor({ slurm_conf, slurm_bin }: Pick<SlurmOptions, "slurm_conf" | "slurm_bin">) {
    this.#env = {
      PATH: slurm_bin === "" ? usualPath : `${slurm_bin}:${usualPath}`,
      LANG: "C.UTF-8",
      ...(slurm_conf === "" ? {} : { SLURM_CONF: slurm_conf }),
    };
  }

  /** Returns what the command prints. Throws CannotStart if Slurm refuses a job, otherwise EngineUnreachable. */
  async run(program: "sbatch" | "squeue" | "scancel", words: readonly string[], input = ""): Promise<string> {
    const { code, said, complained } = await this.#start(program, words, input).catch((error: Error) => {
      const why = error.name === "AbortError" ? "it did not end in time, and was ended" : error.message;
      throw new EngineUnreachable(`The command ${program} cannot be run: ${why}`, { cause: error });
    });
    if (code === 0) return said;
    const why = complained.trim() || `${program} ended with ${code === null ? "a signal" : `exit code ${code}`}`;
    if (program === "sbatch" && isRefusal(why)) throw new CannotStart(`Slurm refuses the job. ${why}`);
    throw new EngineUnreachable(why);
  }

  async #start(program: string, words: readonly string[], input: string) {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(patienceMs)]);
    const child = spawn(program, words, { env: this.#env, cwd: "/", signal, killSignal: "SIGKILL" });
    // The command may end without reading its input; its exit code says what happened.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    try {
      const [code, said, complained] = await Promise.all([ended, answerText(child.stdout), answerText(child.stderr)]);
      return { code, said, complained };
    } finally {
      child.kill("SIGKILL");
      // What the command has started may hold its output open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    }
  }

  /** Ends the commands that are under way. */
  close = (): void => this.#closing.abort();
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
