/** Writes the files that the supervisor and the job need before an attempt starts. */
import { jobRecord } from "../../../datachain/job-record.ts";
import { runtimeOf } from "../../../runtimes/runtimes.ts";
import type { JobLimits } from "../../limit-words.ts";
import { type InsideScript, insideScripts } from "../../phases/inside-scripts.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { PlanInput, PlannedJob } from "../environments/plan-input.ts";
import { TeamEnvironments } from "../environments/team-environments.ts";
import type { Isolation } from "../isolation/isolation.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import { quote } from "../processes/shell.ts";
import { queryFile, scriptComesLast, writeEnv, writePlan, writeWaitingPlan } from "./plan.ts";
import type { PlannedAttempt } from "./planner.ts";
import type { Variables } from "./variables.ts";

export interface AttemptFilesOptions {
  readonly isolation: Isolation;
  /** Undefined if control groups are not used. */
  readonly cgroups: Cgroups | undefined;
  readonly limits: JobLimits;
  readonly variables: Variables;
  /** Texts of the scripts that run inside a job. */
  readonly scripts: ReadonlyMap<InsideScript, string>;
}

export class AttemptFiles {
  readonly #options: AttemptFilesOptions;

  constructor(options: AttemptFilesOptions) {
    this.#options = options;
  }

  /** Makes the folder of the team's virtualenvs, if the job needs one. Who may enter it is part of the job's plan. */
  makeEnvironments({ spec, requirements, tools }: PlannedJob): void {
    if (requirements === undefined) return;
    new TeamEnvironments(tools.envsDir, spec.teamId, this.#options.isolation.level !== "none").make();
  }

  /** Writes the files of an attempt. `uid` is undefined if the attempt runs as the server's user. */
  write(folder: AttemptFolder, uid: number | undefined, { job, environment }: PlannedAttempt): void {
    const { variables } = this.#options;
    const { spec, interpreter, requirements } = job;
    this.#makeInside(folder, uid);
    if (spec.store && interpreter) folder.writePython(interpreter, spec.teamId);
    this.#writeInput(folder, uid, job);
    folder.writeInput("env", writeEnv(environment), uid);
    if (requirements !== undefined) {
      folder.write("tool-env", writeEnv(variables.ofOperator));
      folder.writeInput("build-env", writeEnv(variables.ofBuild(job, folder)), uid);
    }
    folder.write("plan", writePlan(this.#planInput(folder, uid, job)));
  }

  /** Writes the files of an interpreter that waits for jobs like `job`, which use the virtualenv `venv`. */
  writeWaiting(folder: AttemptFolder, uid: number | undefined, job: PlannedJob, venv: string): void {
    const { plugIns } = job.tools;
    folder.makeInside(uid, true);
    folder.writeInputFiles({ ...plugIns.files("{}", false), ...plugIns.waiting() }, uid);
    const variables = writeEnv(this.#options.variables.ofJob(job, folder));
    // The interpreter needs the variables that are set before those of the job, to get the same as the job would.
    const before = `MILLRACE_BEFORE=$(export -p)\nexport MILLRACE_BEFORE\nexport MILLRACE_WAITING_VENV=${quote(venv)}\n`;
    folder.writeInput("env", before + variables, uid);
    folder.write("plan", writeWaitingPlan(this.#planInput(folder, uid, job), venv));
  }

  /** Creates the job's folders. From then on, the owner of the working folder shows which user id the attempt has. */
  #makeInside(folder: AttemptFolder, uid: number | undefined): void {
    const { isolation } = this.#options;
    try {
      folder.makeInside(uid, isolation.temporary(folder) !== undefined);
    } catch (error) {
      if (uid !== undefined) isolation.freeUser(uid, folder);
      throw error;
    }
  }

  #writeInput(folder: AttemptFolder, uid: number | undefined, job: PlannedJob): void {
    const { spec, scriptName, requirements, tools } = job;
    const comesLast = scriptComesLast(spec, scriptName);
    if (comesLast) folder.writeInput(queryFile, spec.query, uid);
    else if (spec.script === undefined) folder.writeScript(scriptName, spec.query, uid);
    for (const index of spec.files.keys()) folder.takeStaged(index);
    if (requirements !== undefined) folder.writeInput("requirements.txt", `${requirements}\n`, uid);
    const needed = {
      "repository.sh": spec.repository !== null,
      "repository-script.sh": spec.script !== undefined,
      "files.sh": comesLast || spec.files.length > 0,
      "stage.py": requirements !== undefined,
      "build.sh": requirements !== undefined,
      "pip-settings.py": requirements !== undefined,
    };
    if (spec.store) {
      const kind = runtimeOf(spec.queryType).libraryKind;
      const record = jobRecord({ ...spec, kind }, spec.store);
      folder.writeInputFiles(tools.plugIns.files(record, spec.store.listingsSince !== undefined), uid);
    }
    const { scripts } = this.#options;
    for (const name of insideScripts) if (needed[name]) folder.writeInput(name, scripts.get(name) ?? "", uid);
  }

  #planInput(folder: AttemptFolder, uid: number | undefined, job: PlannedJob): PlanInput {
    const { limits } = this.#options;
    const groups = this.#joinGroup(folder);
    return {
      ...job,
      folder,
      groups,
      openFiles: limits.openFiles,
      fileBytes: limits.log > 0 && limits.disk > 0 ? Math.max(limits.log, limits.disk) : 0,
      disk: limits.disk,
      processes: groups.length === 0 && uid !== undefined ? limits.processes : 0,
    };
  }

  /**
   * Takes a control group for the attempt. Returns the files to which a process writes to join the group; an empty list
   * if control groups are not used.
   */
  #joinGroup(folder: AttemptFolder): string[] {
    const { cgroups } = this.#options;
    // An interpreter that has waited for the attempt is already in its group.
    const adopted = folder.group();
    const group = adopted ?? cgroups?.take();
    if (!group) return [];
    if (!adopted) folder.write("group", `${group.name} ${group.oomKills} ${group.cpuSeconds}`);
    return cgroups?.entries(group) ?? [];
  }
}
