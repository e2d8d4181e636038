/** A job as the local engine runs it: with what is only so on this machine. */
import type { JobSpec } from "../../engine.ts";
import type { LocalDatasets, WarehousePlaces } from "../../warehouse-view.ts";

export interface LocalSpec extends Omit<JobSpec, "datasets"> {
  /** Null: it does not use the library. */
  readonly store: LocalDatasets | null;
}

export function onThisMachine({ datasets, ...spec }: JobSpec, warehouses: WarehousePlaces): LocalSpec {
  return { ...spec, store: datasets && { ...warehouses.use(spec.teamId), ...datasets } };
}
