/** The public API of `@millrace/storage`. */

export { type Location, parseBucketUri } from "./address/uri.ts";
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
export type { ClientConfigFor, ClientConfigs } from "./client-configs.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./concurrency/retry.ts";
export type { Configuration } from "./configuration/configuration.ts";
export type {
  ClientConfig,
  Environment,
  ExplainedParameter,
  FoundValue,
  Parameter,
  ParameterTable,
} from "./configuration/parameters.ts";
export {
  type ErrorCode,
  type ErrorDetails,
  type ErrorPlace,
  errorCodes,
  isStorageError,
  StorageError,
} from "./errors.ts";
export { ContentCache, type ContentCacheOptions } from "./files/content-cache.ts";
export type { FileRecord } from "./files/file-record.ts";
export { FileListing, type FromStorageOptions, fromStorage } from "./files/from-storage.ts";
export type { LinkType } from "./files/link.ts";
export { ListingCache } from "./files/listing-cache.ts";
export { type Placement, placements } from "./files/placement.ts";
export { StorageFile } from "./files/storage-file.ts";
export { type ExportedFile, type ExportProgress, type ToStorageOptions, toStorage } from "./files/to-storage.ts";
export { type OpenOptions, openStorage } from "./open.ts";
export type {
  Bytes,
  BytesOrText,
  CopyFromOptions,
  DownloadOptions,
  GlobOptions,
  ListOptions,
  PresignOptions,
  ReadOptions,
  RemoveOptions,
  TransferProgress,
  UploadOptions,
  WriteContent,
  WriteOptions,
} from "./options.ts";
export { type CacheType, cacheTypes } from "./random-access/cache-types.ts";
export type { CacheOptions } from "./random-access/file-cache.ts";
export type { OpenedFile, OpenFileOptions } from "./random-access/opened-file.ts";
export { registerScheme } from "./registry.ts";
export { defineScheme, type OpenRequest, type Scheme, type SchemeModule } from "./scheme.ts";
export type { Storage, WalkedFolder } from "./storage.ts";
export { type SyncAction, type SyncOptions, syncTrees } from "./sync.ts";
