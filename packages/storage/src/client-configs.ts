/** The parameters of each scheme as types, so that a misspelt parameter does not compile. */
import type { ClientConfig, ConfigOf } from "./configuration/parameters.ts";
import type { parameters as az } from "./schemes/az/parameters.ts";
import type { parameters as file } from "./schemes/file/parameters.ts";
import type { parameters as ftp } from "./schemes/ftp/parameters.ts";
import type { parameters as gs } from "./schemes/gs/parameters.ts";
import type { parameters as hf } from "./schemes/hf/parameters.ts";
import type { parameters as http } from "./schemes/http/parameters.ts";
import type { parameters as memory } from "./schemes/memory/parameters.ts";
import type { parameters as s3 } from "./schemes/s3/parameters.ts";
import type { parameters as sftp } from "./schemes/sftp/parameters.ts";
import type { parameters as webdav } from "./schemes/webdav/parameters.ts";

type S3Config = ConfigOf<typeof s3>;
type GsConfig = ConfigOf<typeof gs>;
type AzConfig = ConfigOf<typeof az>;
type HttpConfig = ConfigOf<typeof http>;
type SftpConfig = ConfigOf<typeof sftp>;
type FtpConfig = ConfigOf<typeof ftp>;
type WebdavConfig = ConfigOf<typeof webdav>;
type FileConfig = ConfigOf<typeof file>;

/** Parameter types by scheme. */
export interface ClientConfigs {
  readonly s3: S3Config;
  readonly s3a: S3Config;
  readonly gs: GsConfig;
  readonly gcs: GsConfig;
  readonly az: AzConfig;
  readonly abfs: AzConfig;
  readonly abfss: AzConfig;
  readonly hf: ConfigOf<typeof hf>;
  readonly http: HttpConfig;
  readonly https: HttpConfig;
  readonly sftp: SftpConfig;
  readonly ssh: SftpConfig;
  readonly ftp: FtpConfig;
  readonly ftps: FtpConfig;
  readonly webdav: WebdavConfig;
  readonly webdavs: WebdavConfig;
  readonly dav: WebdavConfig;
  readonly davs: WebdavConfig;
  readonly file: FileConfig;
  readonly local: FileConfig;
  readonly memory: ConfigOf<typeof memory>;
}

/**
 * The parameters that go with a URI, if its scheme is known at compile time. For chains (`::`), fsspec schemes and URIs
 * known only at run time the type allows anything; parameters are then checked when the storage is opened.
 */
export type ClientConfigFor<Uri extends string> = Uri extends `${string}::${string}`
  ? ClientConfig
  : Uri extends `${infer Scheme extends keyof ClientConfigs}://${string}`
    ? ClientConfigs[Scheme]
    : ClientConfig;
