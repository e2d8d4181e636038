/** `@millrace/storage`: everything that is public. */

export type {
  Backend,
  Batch,
  BatchCall,
  CallOptions,
  Content,
  Entry,
  ListCall,
  PresignCall,
  ReadCall,
  Transfer,
  Upload,
  VersionCall,
  WriteCall,
} from "./backend.ts";
export type { Capabilities, KeyCapabilities } from "./capabilities.ts";
export type { Configuration } from "./configuration.ts";
export { type ErrorCode, errorCodes, isStorageError, StorageError } from "./errors.ts";
export { type OpenOptions, openStorage } from "./open.ts";
export type {
  ClientConfig,
  Environment,
  ExplainedParameter,
  FoundValue,
  Parameter,
  ParameterTable,
} from "./parameters.ts";
export { registerScheme } from "./registry.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";
export { defineScheme, type OpenRequest, type Scheme, type SchemeModule } from "./scheme.ts";
export type {
  GlobOptions,
  ListOptions,
  PresignOptions,
  ReadOptions,
  RemoveOptions,
  Storage,
  WalkedFolder,
  WriteContent,
  WriteOptions,
} from "./storage.ts";
export { type SyncAction, type SyncOptions, syncTrees } from "./sync.ts";
export { type Location, parseBucketUri } from "./uri.ts";
