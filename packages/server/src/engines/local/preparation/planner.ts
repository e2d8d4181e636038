/** Decides what a job runs with: its interpreter, its packages and its variables. Refuses jobs that cannot start. */
import { isOnlyLibrary } from "../../../datachain/requirements.ts";
import { runtimeOf } from "../../../runtimes/runtimes.ts";
import { CannotStart } from "../../engine.ts";
import { scriptFilename } from "../../phases/job-script.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { LocalSpec } from "../attempt/local-spec.ts";
import { buildSettings } from "../environments/environments.ts";
import type { Interpreter, Interpreters } from "../environments/interpreters.ts";
import type { PlannedJob, Toolbox } from "../environments/plan-input.ts";
import type { Isolation } from "../isolation/isolation.ts";
import { variablesRoom, whyNotGiven } from "../processes/process-room.ts";
import type { Variables } from "./variables.ts";

export interface PlannerOptions {
  readonly isolation: Isolation;
  readonly interpreters: Interpreters;
  readonly tools: Toolbox;
  readonly variables: Variables;
}

/** What a new attempt runs with. */
export interface PlannedAttempt {
  readonly job: PlannedJob;
  /** The job's environment variables. */
  readonly environment: Readonly<Record<string, string>>;
}

export class Planner {
  readonly #options: PlannerOptions;
  readonly #room = variablesRoom();

  constructor(options: PlannerOptions) {
    this.#options = options;
  }

  /** Throws `CannotStart` if the job cannot run here. */
  async plan(spec: LocalSpec, folder: AttemptFolder): Promise<PlannedAttempt> {
    const { isolation, tools, variables } = this.#options;
    const wanted = spec.requirements?.trim() || undefined;
    const interpreter = await this.#interpreter(spec, folder, wanted !== undefined);
    const environment = variables.ofJob({ spec, interpreter }, folder);
    const why = whyNotGiven(environment, this.#room);
    if (why !== undefined) refuse(folder, why);
    // If the interpreter already has the only required package, no virtualenv is needed.
    const requirements = wanted && isOnlyLibrary(wanted, interpreter?.library ?? "") ? undefined : wanted;
    const job = {
      ...{ spec, interpreter, requirements, isolation, tools },
      scriptName: scriptFilename(spec),
      buildSettings: buildSettings(variables.ofOperator, spec),
    };
    return { job, environment };
  }

  /** Returns the machine's Python interpreter for the job; undefined if the job needs no Python. */
  async #interpreter(
    { pythonVersion, queryType }: LocalSpec,
    folder: AttemptFolder,
    builds: boolean,
  ): Promise<Interpreter | undefined> {
    const { isolation, interpreters } = this.#options;
    const needed = runtimeOf(queryType).needsPython || builds || pythonVersion !== null;
    // In a sandbox, a shell script can use the machine's Python only if it is mounted, so it is looked up for that too.
    if (!needed && isolation.level !== "bwrap") return undefined;
    try {
      return await interpreters.resolve(pythonVersion);
    } catch (error) {
      if (!needed) return undefined;
      if (error instanceof CannotStart) refuse(folder, error.message);
      throw error;
    }
  }
}

/**
 * Refuses to start a job. Also writes the reason to the job's log, because clients that follow the log see nothing
 * else.
 */
function refuse(folder: AttemptFolder, why: string): never {
  folder.make();
  folder.write("log", `${why}\n`);
  throw new CannotStart(why);
}
