/** How it ended when a schedule was due. */
import type { ScheduleFiring } from "@millrace/contract";

/** Returns the state of the pipeline that was started, or why none was. */
export const endOf = ({ outcome, pipeline_status }: ScheduleFiring): string =>
  outcome === "fired" && pipeline_status !== null ? pipeline_status : outcome;
