/** The public interface of the contract. Other packages import from here only. */
import * as attempts from "./attempts.ts";
import * as audit from "./audit.ts";
import * as auth from "./auth.ts";
import * as backfills from "./backfills.ts";
import * as clusters from "./clusters.ts";
import * as credentials from "./credentials.ts";
import * as datasetCopies from "./dataset-copies.ts";
import * as datasetRows from "./dataset-rows.ts";
import * as datasets from "./datasets.ts";
import * as exports from "./exports.ts";
import * as files from "./files.ts";
import * as invitations from "./invitations.ts";
import * as jobs from "./jobs.ts";
import * as lineage from "./lineage.ts";
import * as live from "./live.ts";
import * as logs from "./logs.ts";
import * as managedClusters from "./managed-clusters.ts";
import * as memberships from "./memberships.ts";
import * as notifications from "./notifications.ts";
import * as pipelines from "./pipelines.ts";
import * as profile from "./profile.ts";
import * as runners from "./runners.ts";
import * as schedules from "./schedules.ts";
import * as serviceAccounts from "./service-accounts.ts";
import * as sources from "./sources.ts";
import * as storage from "./storage.ts";
import * as succession from "./succession.ts";
import * as system from "./system.ts";
import * as tasks from "./tasks.ts";
import * as teams from "./teams.ts";
import * as tokens from "./tokens.ts";
import * as upcoming from "./upcoming.ts";
import * as users from "./users.ts";
import * as waits from "./waits.ts";
import * as webhooks from "./webhooks.ts";

/** All routes of the API, by id. The server registers them, the client calls them, and OpenAPI describes them. */
export const routes = {
  startDeviceLogin: auth.startDeviceLogin,
  pollDeviceLogin: auth.pollDeviceLogin,
  approveDeviceLogin: auth.approveDeviceLogin,
  denyDeviceLogin: auth.denyDeviceLogin,
  deviceLogout: auth.deviceLogout,
  whoAmI: auth.whoAmI,
  updateProfile: profile.updateProfile,
  changePassword: profile.changePassword,
  listTokens: tokens.listTokens,
  createToken: tokens.createToken,
  revokeToken: tokens.revokeToken,
  listUsers: users.listUsers,
  createUser: users.createUser,
  getUser: users.getUser,
  updateUser: users.updateUser,
  listTeams: teams.listTeams,
  createTeam: teams.createTeam,
  getTeam: teams.getTeam,
  getTeamUsage: teams.getTeamUsage,
  updateTeam: teams.updateTeam,
  listMembers: memberships.listMembers,
  addMember: memberships.addMember,
  updateMember: memberships.updateMember,
  removeMember: memberships.removeMember,
  getUserWork: succession.getUserWork,
  getMemberWork: succession.getMemberWork,
  handOverTask: succession.handOverTask,
  handOverPipeline: succession.handOverPipeline,
  createServiceAccount: serviceAccounts.createServiceAccount,
  listServiceTokens: serviceAccounts.listServiceTokens,
  createServiceToken: serviceAccounts.createServiceToken,
  revokeServiceToken: serviceAccounts.revokeServiceToken,
  listInvitations: invitations.listInvitations,
  createInvitation: invitations.createInvitation,
  revokeInvitation: invitations.revokeInvitation,
  readInvitation: invitations.readInvitation,
  joinTeam: invitations.joinTeam,
  signUp: invitations.signUp,
  listDatasetCopies: datasetCopies.listDatasetCopies,
  restoreDatasetCopy: datasetCopies.restoreDatasetCopy,
  listAudit: audit.listAudit,
  listJobs: jobs.listJobs,
  createJob: jobs.createJob,
  cancelJob: jobs.cancelJob,
  getJobUsage: jobs.getJobUsage,
  getJobAttempts: attempts.getJobAttempts,
  getJobWait: waits.getJobWait,
  getJobLogs: logs.getJobLogs,
  getLogLines: logs.getLogLines,
  searchLog: logs.searchLog,
  followLogs: logs.followLogs,
  uploadFile: files.uploadFile,
  listClusters: clusters.listClusters,
  listManagedClusters: managedClusters.listManagedClusters,
  createCluster: managedClusters.createCluster,
  getManagedCluster: managedClusters.getManagedCluster,
  updateCluster: managedClusters.updateCluster,
  deleteCluster: managedClusters.deleteCluster,
  testCluster: managedClusters.testCluster,
  listCredentials: credentials.listCredentials,
  setTeamCredentials: credentials.setTeamCredentials,
  setOwnCredentials: credentials.setOwnCredentials,
  deleteTeamCredentials: credentials.deleteTeamCredentials,
  deleteOwnCredentials: credentials.deleteOwnCredentials,
  setDefaultCredentials: credentials.setDefaultCredentials,
  listDatasets: datasets.listDatasets,
  getDataset: datasets.getDataset,
  readRows: datasetRows.readRows,
  editDataset: datasets.editDataset,
  removeDataset: datasets.removeDataset,
  datasetJobVersions: datasets.datasetJobVersions,
  registerVersion: datasets.registerVersion,
  exportDataset: exports.exportDataset,
  exportStatus: exports.exportStatus,
  downloadExport: exports.downloadExport,
  getLineage: lineage.getLineage,
  listSource: sources.listSource,
  browseStorage: storage.browseStorage,
  triggerPipeline: pipelines.triggerPipeline,
  updatePipelineSettings: pipelines.updatePipelineSettings,
  getPipeline: pipelines.getPipeline,
  listPipelines: pipelines.listPipelines,
  pausePipeline: pipelines.pausePipeline,
  resumePipeline: pipelines.resumePipeline,
  removeJobFromPipeline: pipelines.removeJobFromPipeline,
  cancelPipeline: pipelines.cancelPipeline,
  rerunPipeline: pipelines.rerunPipeline,
  retryPipelineJob: pipelines.retryPipelineJob,
  createSchedule: schedules.createSchedule,
  updateSchedule: schedules.updateSchedule,
  deleteSchedule: schedules.deleteSchedule,
  getSchedule: schedules.getSchedule,
  listSchedules: schedules.listSchedules,
  previewSchedule: schedules.previewSchedule,
  listTasks: tasks.listTasks,
  getTask: tasks.getTask,
  updateTask: tasks.updateTask,
  listUpcoming: upcoming.listUpcoming,
  createBackfill: backfills.createBackfill,
  getBackfill: backfills.getBackfill,
  listBackfills: backfills.listBackfills,
  cancelBackfill: backfills.cancelBackfill,
  retryBackfill: backfills.retryBackfill,
  previewBackfill: backfills.previewBackfill,
  listWebhooks: webhooks.listWebhooks,
  createWebhook: webhooks.createWebhook,
  updateWebhook: webhooks.updateWebhook,
  deleteWebhook: webhooks.deleteWebhook,
  testWebhook: webhooks.testWebhook,
  listDeliveries: webhooks.listDeliveries,
  redeliver: webhooks.redeliver,
  listNotifications: notifications.listNotifications,
  setNotification: notifications.setNotification,
  deleteNotification: notifications.deleteNotification,
  testNotification: notifications.testNotification,
  followChanges: live.followChanges,
  runnerClaim: runners.runnerClaim,
  runnerFile: runners.runnerFile,
  runnerPack: runners.runnerPack,
  runnerStorePack: runners.runnerStorePack,
  runnerLog: runners.runnerLog,
  runnerBeat: runners.runnerBeat,
  runnerEnd: runners.runnerEnd,
  healthz: system.healthz,
  readyz: system.readyz,
  metrics: system.metrics,
  openapiJson: system.openapiJson,
  getSystem: system.getSystem,
  getDoctor: system.getDoctor,
} as const;

export type { Access, Level, Role, Scope, ScopeName } from "./access.ts";
export {
  allScopes,
  clientScopes,
  parseScope,
  permits,
  roleIncludes,
  roles,
  scopeNames,
  scopesInWords,
  scopeTitles,
} from "./access.ts";
export type { JobAttempt, JobAttempts } from "./attempts.ts";
export type { AuditEntry } from "./audit.ts";
export type { DeviceLogin, WhoAmI } from "./auth.ts";
export {
  type Backfill,
  type BackfillFailurePolicy,
  type BackfillItem,
  type BackfillMoment,
  type BackfillPreview,
  type BackfillStatus,
  backfillFailurePolicies,
  backfillLimits,
  type CreateBackfillInput,
} from "./backfills.ts";
export { type Client, createClient, type PlainRequest, requestOf } from "./client.ts";
export { defaultOptions, type EngineKindName, engineKindNames, engineKinds } from "./clusters/engine-kinds.ts";
export { KubernetesOptions, type KubernetesSecrets } from "./clusters/kubernetes-options.ts";
export { RayOptions, RaySecrets } from "./clusters/ray-options.ts";
export { type RunnerOptions, runnerOptions, usualLeaseSeconds } from "./clusters/runner-options.ts";
export { SlurmOptions } from "./clusters/slurm-options.ts";
export {
  type Cluster,
  type ClusterIsolation,
  type ClusterState,
  clusterLimits,
  clusterStates,
  isolationLevels,
  localEngine,
} from "./clusters.ts";
export { type Credentials, type CredentialsInput, credentialLimits } from "./credentials.ts";
export type { DatasetCopy } from "./dataset-copies.ts";
export { type Cell, type DatasetRows, rowLimits } from "./dataset-rows.ts";
export { type Dataset, type DatasetVersion, type ListedDataset, versionStatus } from "./datasets.ts";
export { durationWords, readDuration } from "./durations.ts";
export type { ErrorBody, ErrorCode, ErrorHint } from "./errors.ts";
export { ApiError, errorCodes, errorHints, invalid } from "./errors.ts";
export { parseExactly, replaceBareNumbers } from "./exact-json.ts";
export type { ExportStatus } from "./exports.ts";
export type { UploadedFile } from "./files.ts";
export { type FiringOutcome, mostFirings, type ScheduleFiring, type ScheduleHealth } from "./firings.ts";
export { type Invitation, type InvitationOffer, mostInvitations, type NewInvitation } from "./invitations.ts";
export type {
  FinalStatus,
  Job,
  JobInput,
  JobStatus,
  JobUsage,
  ListJobsQuery,
  QueryType,
  Step,
  UsageSample,
} from "./jobs.ts";
export {
  allows,
  followExitCode,
  isIn,
  isSettled,
  jobActions,
  jobStates,
  jobStatuses,
  jobTransitions,
  queryTypes,
  statusGroups,
} from "./jobs.ts";
export { compareReleases, isTooOldLibrary, oldestLibrary } from "./library.ts";
export { answerLimits, environmentBytes, fieldLimits, processLimits, variableBytes } from "./limits.ts";
export { type Lineage, type LineageNode, lineageDirections } from "./lineage.ts";
export { type Notice, type NoticeKind, noticeKinds, noticeOf, outdatedRoutes, scopeOfNotice } from "./live.ts";
export {
  type LogFrame,
  type LogHits,
  type LogLine,
  type LogLines,
  type LogPage,
  type LogPiece,
  logSearchKinds,
} from "./logs.ts";
export { type ClusterTest, type ManagedCluster, managedClusterLimits } from "./managed-clusters.ts";
export { type Member, mostMembers } from "./memberships.ts";
export { readNotices } from "./notices.ts";
export type { Notification, SetNotificationInput } from "./notifications.ts";
export { errorsAs, openapiDocument } from "./openapi.ts";
export type {
  JobPipelineRun,
  ListPipelinesQuery,
  Pipeline,
  PipelineAction,
  PipelineInput,
  PipelineOutput,
  PipelineStatus,
  TriggerPipelineInput,
  UpdatePipelineSettingsInput,
} from "./pipelines.ts";
export {
  isUnfinished,
  pipelineActions,
  pipelineStates,
  pipelineStatuses,
  pipelineTransitions,
  watchExitCode,
} from "./pipelines.ts";
export { credentialsInput, environmentText, rerunInput, UnquotableVariable } from "./reruns.ts";
export { retryLimits, retryWait, usualRetryDelay } from "./retries.ts";
export { bodyLimitOf, type Route, type RouteInput, type RouteOutput } from "./routes.ts";
export { mostPackBytes, runnerLimits } from "./runners.ts";
export {
  type CatchUpPolicy,
  type CreatePipelineScheduleInput,
  catchUpPolicies,
  type FollowPolicy,
  followPolicies,
  mostCaughtUp,
  type NewerScript,
  type OverlapPolicy,
  overlapPolicies,
  type PipelineSchedule,
  type PipelineScheduleItem,
  type PipelineScheduleUpdateOutput,
  type SchedulePreview,
  type UpdatePipelineScheduleInput,
} from "./schedules.ts";
export type { ActionFeedback } from "./schema.ts";
export { serviceRoles } from "./service-accounts.ts";
export { type StorageEntry, type StorageListing, storagePage, storageSchemes } from "./storage.ts";
export type { Work } from "./succession.ts";
export type { Finding, SystemState } from "./system.ts";
export type { Task, TaskItem, UpdateTaskInput } from "./tasks.ts";
export type { Team, TeamUsage } from "./teams.ts";
export type { NewToken, Token } from "./tokens.ts";
export type { Upcoming } from "./upcoming.ts";
export { reservedNames, shortestPassword, type User } from "./users.ts";
export { type JobWait, waitLimits } from "./waits.ts";
export {
  type CreateWebhookInput,
  type Delivery,
  type DeliveryStatus,
  deliveryStatuses,
  type NewWebhook,
  type ToldEvent,
  toldEvents,
  toldStatuses,
  type UpdateWebhookInput,
  type Webhook,
  type WebhookFormat,
  type WebhookMethod,
  webhookFormats,
  webhookLimits,
  webhookMethods,
} from "./webhooks.ts";
