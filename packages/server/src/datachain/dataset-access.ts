/** Settings with which a job reads and writes its team's datasets. They are the same for every engine. */
export interface DatasetAccess {
  /** Default namespace and project for dataset names that give neither. */
  readonly home: { readonly namespace: string; readonly project: string };
  readonly createdAt: string;
  readonly workers: number;
  readonly runGroupId: string;
  readonly rerunFromJobId: string | null;
  /**
   * ISO time: cached storage listings older than this are refreshed. Null leaves the cache to the datachain library. In both
   * cases the job's log names each listing that is used. Absent for jobs outside pipelines: nothing is refreshed or logged.
   */
  readonly listingsSince?: string | null;
}
