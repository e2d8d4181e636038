/** The environment variables of jobs, and of the builds of their virtualenvs. */
import { join } from "node:path";
import { pathWithPlugIns, plugInFolder } from "../../../datachain/plug-ins/plug-ins.ts";
import { jobVariables, noAnalytics, requestVariables, warehouseVariables } from "../../../datachain/variables.ts";
import type { LocalDatasets } from "../../warehouse-view.ts";
import { type AttemptFolder, metricsFile } from "../attempt/attempt-folder.ts";
import type { LocalSpec } from "../attempt/local-spec.ts";
import type { PlannedJob } from "../environments/plan-input.ts";
import type { Isolation } from "../isolation/isolation.ts";
import { keyVariable } from "../processes/processes.ts";

export class Variables {
  /** The variables that the operator sets for all jobs. */
  readonly ofOperator: Readonly<Record<string, string>>;
  readonly #isolation: Isolation;
  readonly #cache: string;

  /** `cache` is the folder of the package cache that jobs share if they are not isolated. */
  constructor(ofOperator: Readonly<Record<string, string>>, isolation: Isolation, cache: string) {
    this.ofOperator = ofOperator;
    this.#isolation = isolation;
    this.#cache = cache;
  }

  /**
   * Returns the job's environment variables. Variables that Millrace sets come last, so that the job cannot override
   * them.
   */
  ofJob(
    { spec, interpreter }: Pick<PlannedJob, "spec" | "interpreter">,
    folder: AttemptFolder,
  ): Record<string, string> {
    const temporary = this.#isolation.temporary(folder);
    const work = join(this.#isolation.place(folder), "work");
    // An isolated job gets its own package cache: another job could put manipulated packages into a shared one.
    const cache = temporary === undefined ? this.#cache : join(temporary, "cache");
    const bin = this.#isolation.level === "bwrap" && interpreter ? `${join(interpreter.path, "..")}:` : "";
    return {
      LANG: "C.UTF-8",
      ...this.ofOperator,
      PATH: `${bin}${this.ofOperator["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"}`,
      PIP_CACHE_DIR: join(cache, "pip"),
      UV_CACHE_DIR: join(cache, "uv"),
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PYTHONUNBUFFERED: "1",
      ...noAnalytics,
      HOME: work,
      ...(temporary === undefined ? {} : { TMPDIR: temporary }),
      ...spec.environment,
      ...requestVariables(spec),
      ...(spec.store ? this.#ofLibrary(spec, spec.store, folder, temporary ?? work) : {}),
      MILLRACE_JOB_ID: spec.jobId,
      MILLRACE_METRICS_FILE: join(work, metricsFile),
      [keyVariable]: spec.key,
    };
  }

  /**
   * Returns the variables by which the dataset library finds the team's warehouse, the job's record and the plug-ins.
   */
  #ofLibrary({ jobId, environment }: LocalSpec, access: LocalDatasets, folder: AttemptFolder, root: string) {
    const path = environment["PYTHONPATH"] ?? this.ofOperator["PYTHONPATH"];
    return {
      ...warehouseVariables(access, root),
      ...jobVariables({ ...access, jobId }),
      ...pathWithPlugIns(join(this.#isolation.place(folder), "input", plugInFolder), path),
    };
  }

  /**
   * Returns the variables for building a virtualenv. Of the job's own variables, only those for the package index are
   * used, because other jobs may share the virtualenv.
   */
  ofBuild({ spec, buildSettings }: PlannedJob, folder: AttemptFolder): Record<string, string> {
    const temporary = this.#isolation.buildTemporary(folder);
    // An isolated build gets its own package cache: another job could put manipulated packages into a shared one.
    const cache = this.#isolation.level === "none" ? this.#cache : join(temporary, "cache");
    return {
      LANG: "C.UTF-8",
      ...buildSettings,
      PATH: buildSettings["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
      PIP_CACHE_DIR: join(cache, "pip"),
      UV_CACHE_DIR: join(cache, "uv"),
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PYTHONUNBUFFERED: "1",
      HOME: join(this.#isolation.place(folder), "build/home"),
      TMPDIR: temporary,
      [keyVariable]: spec.key,
    };
  }
}
