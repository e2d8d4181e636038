/** Pipelines: datasets rebuilt by running again, in order, the jobs that made them. */

export const pipelineStatuses = ["PENDING", "RUNNING", "COMPLETED", "FAILED", "PAUSED", "CANCELED"] as const;
export type PipelineStatus = (typeof pipelineStatuses)[number];
