/** A job as the local engine runs it, including its paths on this machine. */
import type { JobSpec } from "../../engine.ts";
import type { LocalDatasets, WarehousePlaces } from "../../warehouse-view.ts";

export interface LocalSpec extends Omit<JobSpec, "datasets"> {
  /** Access to the team's warehouse; null if the job does not use the dataset library. */
  readonly store: LocalDatasets | null;
}

export function onThisMachine({ datasets, ...spec }: JobSpec, warehouses: WarehousePlaces): LocalSpec {
  return { ...spec, store: datasets && { ...warehouses.use(spec.teamId), ...datasets } };
}
