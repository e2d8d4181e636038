/** What a kind of storage can do, as data: documentation, early refusals and the choice of tests all read it. */

export interface Capabilities {
  readonly list: boolean;
  readonly write: boolean;
  /** Part of an object can be read without the rest. */
  readonly ranges: boolean;
  /** Old versions can be listed and read. */
  readonly versions: boolean;
  /** Old versions can be read by their names, although they cannot be listed. */
  readonly namedVersions?: true;
  /** A read can insist on an ETag, so that an object replaced meanwhile is noticed. */
  readonly readConditions: boolean;
  /** A write can insist that the object is absent, or is the one expected. */
  readonly writeConditions: boolean;
  /** Copies are made by the store; elsewhere the bytes pass through us. */
  readonly serverCopy: boolean;
  readonly presign: boolean;
  /** Content type and metadata are kept with an object. */
  readonly metadata: boolean;
  /** Folders exist on their own, and stay when they are empty. */
  readonly folders: boolean;
  readonly keys: KeyCapabilities;
}

/** Which unusual keys can be stored as they are. */
export interface KeyCapabilities {
  /** `a//b` is not `a/b`. */
  readonly doubleSlash: boolean;
  /** `a/` is an object. */
  readonly trailingSlash: boolean;
  /** `a` and `a/b` exist together. */
  readonly besideFolder: boolean;
  /** The longest key, in bytes of UTF-8. */
  readonly length: number;
  /** The longest part between slashes, in bytes of UTF-8. */
  readonly segment: number;
}

/** What the object stores of the clouds have in common. */
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

/** What servers of plain files have in common. */
export const fileServerCapabilities: Capabilities = {
  list: true,
  write: true,
  ranges: true,
  versions: false,
  // Times have seconds: a file that is replaced within one by another of the same size is not noticed.
  readConditions: false,
  writeConditions: false,
  serverCopy: false,
  presign: false,
  metadata: false,
  folders: true,
  keys: { doubleSlash: false, trailingSlash: false, besideFolder: false, length: 4095, segment: 255 },
};
