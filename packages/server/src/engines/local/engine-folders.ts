/** The folders in which the local engine keeps its files. */
export interface EngineFolders {
  /** The data folder. A sandbox hides it from the job, except for the files that the job needs. */
  readonly root: string;
  readonly jobs: string;
  readonly environments: string;
  /** Folders of the interpreters that wait for a job. */
  readonly waiting: string;
  readonly accounts: string;
  readonly cgroups: string;
  /** File with the isolation level at which jobs ran last. */
  readonly isolation: string;
  readonly cache: string;
  readonly tools: string;
}
