/** Where the local engine keeps its files. */
export interface EngineFolders {
  /** The data folder: a sandbox hides all of it but what a job needs. */
  readonly root: string;
  readonly jobs: string;
  readonly environments: string;
  readonly accounts: string;
  readonly cgroups: string;
  readonly cache: string;
  readonly tools: string;
}
