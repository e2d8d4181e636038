/** Every way in which a storage can fail: one table and one class. Callers decide by `code` and `retryable`. */

export const errorCodes = {
  not_found: { retryable: false, meaning: "There is no such object, bucket or version." },
  permission: { retryable: false, meaning: "The credentials are missing, wrong, expired, or not enough." },
  precondition: {
    retryable: false,
    meaning: "The object does not meet the condition of the call: it was replaced or removed, or it already exists.",
  },
  throttled: { retryable: true, meaning: "The store is overloaded, or wants fewer requests." },
  network: { retryable: true, meaning: "The connection failed, broke, or timed out." },
  config: { retryable: false, meaning: "The URI or the client_config is wrong; the message names the key." },
  invalid: { retryable: false, meaning: "A path or an option of this call is wrong." },
  unsupported: { retryable: false, meaning: "This kind of storage cannot do that; see its capabilities." },
  failed: { retryable: false, meaning: "The store answered with an error that no other code describes." },
} as const satisfies Record<string, { retryable: boolean; meaning: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** Where the error happened, as far as that is known. */
export interface ErrorPlace {
  readonly scheme?: string;
  readonly bucket?: string;
  readonly key?: string;
}

/** Describes a place in messages as `scheme://bucket/key`. For a web server, the bucket already contains the scheme. */
export function describePlace({ scheme, bucket = "", key }: ErrorPlace): string {
  const root = bucket.includes("://") ? bucket : `${scheme}://${bucket}`;
  return key ? `${root}/${key}` : root;
}

export interface ErrorDetails extends ErrorPlace {
  readonly requestId?: string | undefined;
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /** Milliseconds to wait, if the store sent Retry-After. */
  readonly retryAfter?: number | undefined;
  /** Whether a retry may help. Given only if this differs from the table of error codes. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** Maximum length of a message in characters. */
const longestMessage = 2000;

/**
 * Cuts the middle out of a long message, because servers choose names and answers of any length. The beginning and the
 * end stay: the beginning says where the error happened, the end says what happened.
 */
function shortened(message: string): string {
  if (message.length <= longestMessage) return message;
  const [start, end] = [message.slice(0, longestMessage / 2), message.slice(-longestMessage / 4)];
  return `${start.toWellFormed()} … ${end.toWellFormed()}`;
}

export class StorageError extends Error {
  readonly code: ErrorCode;
  readonly scheme: string | undefined;
  readonly bucket: string | undefined;
  readonly key: string | undefined;
  readonly requestId: string | undefined;
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(shortened(message), details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "StorageError";
    this.code = code;
    this.scheme = details.scheme;
    this.bucket = details.bucket;
    this.key = details.key;
    this.requestId = details.requestId;
    this.status = details.status;
    this.retryable = details.retryable ?? errorCodes[code].retryable;
    this.retryAfter = details.retryAfter;
  }
}

/**
 * The path is a folder, but a file was expected. The code is `not_found`, because there is no such file. From the
 * class, the caller knows that there is a folder, which may be empty.
 */
export class FolderError extends StorageError {
  constructor(place: ErrorPlace & { readonly key: string }) {
    super("not_found", `${place.key || describePlace(place)} is a folder, not a file`, place);
  }
}

/** Whether a thrown value is a StorageError. If codes are given, it must also have one of these codes. */
export function isStorageError(error: unknown, ...codes: ErrorCode[]): error is StorageError {
  return error instanceof StorageError && (codes.length === 0 || codes.includes(error.code));
}
