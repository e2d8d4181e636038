/** The whole contract. Everything outside this package imports from here. */
import * as auth from "./auth.ts";
import * as clusters from "./clusters.ts";
import * as datasets from "./datasets.ts";
import * as files from "./files.ts";
import * as jobs from "./jobs.ts";
import * as logs from "./logs.ts";
import * as system from "./system.ts";

/** Every route of the API, by id: what the server registers, the client calls and OpenAPI describes. */
export const routes = {
  startDeviceLogin: auth.startDeviceLogin,
  pollDeviceLogin: auth.pollDeviceLogin,
  approveDeviceLogin: auth.approveDeviceLogin,
  denyDeviceLogin: auth.denyDeviceLogin,
  deviceLogout: auth.deviceLogout,
  whoAmI: auth.whoAmI,
  listJobs: jobs.listJobs,
  createJob: jobs.createJob,
  cancelJob: jobs.cancelJob,
  getJobLogs: logs.getJobLogs,
  followLogs: logs.followLogs,
  uploadFile: files.uploadFile,
  listClusters: clusters.listClusters,
  datasetJobVersions: datasets.datasetJobVersions,
  healthz: system.healthz,
  readyz: system.readyz,
  metrics: system.metrics,
  openapiJson: system.openapiJson,
} as const;

export type { Access, Level, Role, Scope, ScopeName } from "./access.ts";
export { allScopes, clientScopes, parseScope, permits, roleIncludes, roles, scopeNames } from "./access.ts";
export type { DeviceLogin, WhoAmI } from "./auth.ts";
export { type Client, createClient } from "./client.ts";
export { type Cluster, isolationLevels } from "./clusters.ts";
export type { ErrorBody, ErrorCode } from "./errors.ts";
export { ApiError, errorCodes, invalid } from "./errors.ts";
export type { UploadedFile } from "./files.ts";
export type { Job, JobInput, JobStatus, ListJobsQuery, QueryType, Step } from "./jobs.ts";
export {
  allows,
  finalStatuses,
  followExitCode,
  isSettled,
  jobActions,
  jobStatuses,
  jobTransitions,
  queryTypes,
  statusGroups,
} from "./jobs.ts";
export type { LogFrame, LogPage, LogPiece } from "./logs.ts";
export { openapiDocument } from "./openapi.ts";
export type { Route, RouteInput, RouteOutput } from "./routes.ts";
export type { ActionFeedback } from "./schema.ts";
