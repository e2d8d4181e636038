/** A job as it travels to a runner: as JSON, without its files, which the runner fetches one by one. */
import { noAnalytics, requestVariables } from "../../datachain/variables.ts";
import { jobPython } from "../../runtimes/runtime.ts";
import { runtimeOf } from "../../runtimes/runtimes.ts";
import type { JobSpec } from "../engine.ts";
import type { RemoteLimits } from "../limit-words.ts";
import type { InsideScript } from "../phases/inside-scripts.ts";
import { scriptFilename, splitRevision } from "../phases/job-script.ts";
import { indexIsLocal, indexVariables, namesFiles } from "../phases/requirement-lines.ts";

/** The scripts that a runner gets with its job. */
export type RunnerScript = InsideScript | "packs.py";

export interface TravellingJob {
  readonly environment: Readonly<Record<string, string>>;
  readonly python_version: string | null;
  readonly requirements: string | null;
  /** The team, and the person whose secrets the job gets: others do not share its virtualenv. */
  readonly team: number;
  readonly person: number | null;
  /** False if the virtualenv depends on files of the job. */
  readonly shares_environment: boolean;
  /** Variables of the job that choose the package index; its build gets no others. */
  readonly build_variables: Readonly<Record<string, string>>;
  /** 0 means no limit. */
  readonly limits: Pick<RemoteLimits, "memory" | "processes" | "disk" | "log"> & { readonly open_files: number };
  /** If the server was not heard for this many seconds, the runner ends the job. Null: it never does. */
  readonly lease_seconds: number | null;
  readonly repository: { readonly url: string; readonly revision: string } | null;
  /** Names of the attached files, in order. */
  readonly files: readonly string[];
  readonly query: {
    readonly filename: string;
    /** The script; null if it is in the repository. */
    readonly text: string | null;
    /** Words of the command. Null stands for the job's Python, `{input}` for the folder of Millrace's scripts. */
    readonly command: readonly (string | null)[];
  };
  readonly scripts: Readonly<Partial<Record<RunnerScript, string>>>;
}

/** What an engine adds to the job. */
export interface Terms {
  readonly limits: RemoteLimits;
  readonly leaseSeconds: number;
  /** Whether the job's virtualenv is packed. */
  readonly packs: boolean;
}

/** Whether others may use the virtualenv of the job. Otherwise it depends on files of the job. */
export function sharesEnvironment(spec: JobSpec): boolean {
  const requirements = spec.requirements?.trim() || null;
  return requirements !== null && !namesFiles(requirements) && !indexIsLocal(spec);
}

export function travellingJob(
  spec: JobSpec,
  scripts: ReadonlyMap<RunnerScript, string>,
  { limits: { memory, processes, openFiles, log, disk }, leaseSeconds, packs }: Terms,
): TravellingJob {
  const filename = scriptFilename(spec);
  const requirements = spec.requirements?.trim() || null;
  const needed: Partial<Record<RunnerScript, boolean>> = {
    "repository.sh": spec.repository !== null,
    "repository-script.sh": spec.script !== undefined,
    "files.sh": spec.files.length > 0,
    "build.sh": requirements !== null,
    "pip-settings.py": requirements !== null,
    "packs.py": packs,
  };
  return {
    environment: {
      ...noAnalytics,
      ...spec.environment,
      ...requestVariables(spec),
      MILLRACE_JOB_ID: spec.jobId,
      MILLRACE_ATTEMPT: spec.key,
    },
    python_version: spec.pythonVersion,
    requirements,
    team: spec.teamId,
    person: spec.person,
    shares_environment: sharesEnvironment(spec),
    build_variables: indexVariables(spec),
    limits: { memory, processes, disk, log, open_files: openFiles },
    lease_seconds: spec.isRetried ? leaseSeconds : null,
    repository: spec.repository === null ? null : splitRevision(spec.repository),
    files: spec.files.map(({ name }) => name),
    query: { filename, text: spec.script === undefined ? spec.query : null, command: commandOf(spec, filename) },
    scripts: Object.fromEntries([...scripts].filter(([name]) => needed[name])),
  };
}

function commandOf(spec: JobSpec, filename: string): (string | null)[] {
  const runtime = runtimeOf(spec.queryType);
  const words =
    spec.script === undefined
      ? runtime.command(filename, spec.query)
      : ["/bin/sh", "{input}/repository-script.sh", spec.script, ...runtime.interpreter];
  return words.map((word) => (word === jobPython ? null : word));
}
