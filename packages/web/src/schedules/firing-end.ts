/** The state in which a tick of a schedule ended. */
import type { ScheduleFiring } from "@millrace/contract";

/** Returns the state of the pipeline that the tick started, or why it started none. */
export const endOf = ({ outcome, pipeline_status }: ScheduleFiring): string =>
  outcome === "fired" && pipeline_status !== null ? pipeline_status : outcome;
