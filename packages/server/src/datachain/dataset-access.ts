/** Settings with which a job reads and writes its team's datasets. They are the same for every engine. */
export interface DatasetAccess {
  /** Namespace and project of datasets whose names contain neither. */
  readonly home: { readonly namespace: string; readonly project: string };
  readonly createdAt: string;
  readonly workers: number;
  readonly runGroupId: string;
  readonly rerunFromJobId: string | null;
  /**
   * Cached storage listings that are older than this ISO time are refreshed. If null, the datachain library decides
   * when to refresh them. In both cases the job's log names each listing that is used. Absent for jobs outside
   * pipelines, which run without the listings plug-in.
   */
  readonly listingsSince?: string | null;
}
