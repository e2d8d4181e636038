/**
 * What a kind of storage can do, as data. Documentation, early refusals and the choice of tests are all derived from
 * this data.
 */

export interface Capabilities {
  readonly list: boolean;
  readonly write: boolean;
  /** Part of an object can be read without the rest. */
  readonly ranges: boolean;
  /** Old versions can be listed and read. */
  readonly versions: boolean;
  /** Old versions can be read by version id, but not listed. */
  readonly namedVersions?: true;
  /** A read can require an ETag, so that a replaced object is noticed. */
  readonly readConditions: boolean;
  /** A write can require that the object is absent or has a given ETag. */
  readonly writeConditions: boolean;
  /** The store makes copies itself; without this, the bytes pass through this process. */
  readonly serverCopy: boolean;
  readonly presign: boolean;
  /** The store keeps content type and metadata with an object. */
  readonly metadata: boolean;
  /** Folders exist on their own, and stay when they are empty. */
  readonly folders: boolean;
  readonly keys: KeyCapabilities;
}

/** Which unusual keys can be stored unchanged. */
export interface KeyCapabilities {
  /** `a//b` and `a/b` are different keys. */
  readonly doubleSlash: boolean;
  /** `a/` can be the key of an object. */
  readonly trailingSlash: boolean;
  /** Objects with the keys `a` and `a/b` can exist at the same time. */
  readonly besideFolder: boolean;
  /** Maximum length of a key, in bytes of UTF-8. */
  readonly length: number;
  /** Maximum length of a part between slashes, in bytes of UTF-8. */
  readonly segment: number;
}

/** Capabilities that the cloud object stores share. */
export const objectStoreCapabilities: Capabilities = {
  list: true,
  write: true,
  ranges: true,
  versions: true,
  readConditions: true,
  writeConditions: true,
  serverCopy: true,
  presign: true,
  metadata: true,
  folders: false,
  keys: { doubleSlash: true, trailingSlash: true, besideFolder: true, length: 1024, segment: 1024 },
};

/** Capabilities that file servers share. */
export const fileServerCapabilities: Capabilities = {
  list: true,
  write: true,
  ranges: true,
  versions: false,
  // File times have a resolution of one second: a replacement of the same size within that second goes unnoticed.
  readConditions: false,
  writeConditions: false,
  serverCopy: false,
  presign: false,
  metadata: false,
  folders: true,
  keys: { doubleSlash: false, trailingSlash: false, besideFolder: false, length: 4095, segment: 255 },
};
