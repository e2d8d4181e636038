/** What the page of a dataset shows: the dataset, and the version that was chosen. */
import type { Dataset, DatasetVersion } from "@millrace/contract";

export interface Shown {
  readonly dataset: Dataset;
  readonly version: DatasetVersion;
}
