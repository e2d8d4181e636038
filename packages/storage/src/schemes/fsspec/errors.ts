/** Converts exceptions of fsspec to storage errors. */
import { type ErrorCode, type ErrorPlace, FolderError, StorageError } from "../../errors.ts";
import type { RemoteFailure } from "./call.ts";

/**
 * Storage error codes by the name of an exception class. If the list contains both the class of an exception and one of
 * its base classes, the most specific class decides.
 */
const codes: Readonly<Record<string, ErrorCode>> = {
  FileNotFoundError: "not_found",
  NotADirectoryError: "not_found",
  PermissionError: "permission",
  NoCredentialsError: "permission",
  AuthenticationException: "permission",
  FileExistsError: "precondition",
  TimeoutError: "network",
  ConnectionError: "network",
  EOFError: "network",
  // Exceptions of ftplib. error_temp is a transient error; error_reply is an unexpected answer, after which the
  // connection cannot be used.
  error_temp: "throttled",
  error_reply: "network",
  ClientConnectionError: "network",
  gaierror: "network",
  NotImplementedError: "unsupported",
  ImportError: "config",
};

/**
 * Storage error codes by exception class that apply only while a file system is opened. Later, these exceptions do not
 * mean that the configuration is wrong.
 */
const openingCodes: Readonly<Record<string, ErrorCode>> = {
  TypeError: "config",
  ValueError: "config",
  KeyError: "config",
};

/** Names of Python packages by module, for packages whose name differs from that of the module. */
const packages: Readonly<Record<string, string>> = { smbclient: "smbprotocol" };

export interface Circumstances {
  readonly place: ErrorPlace;
  readonly python: string;
  readonly isOpening: boolean;
  /** Secrets, which are masked in error messages. */
  readonly secrets: readonly string[];
}

export function toStorageError(failure: RemoteFailure, { place, python, isOpening, secrets }: Circumstances): Error {
  const { types, module } = failure;
  const known = { ...codes, ...(isOpening ? openingCodes : {}) };
  const code = types.map((type) => known[type]).find((found) => found !== undefined) ?? "failed";
  if (types[0] === "IsADirectoryError") return new FolderError({ key: "", ...place });
  const where = `${place.scheme}://${isOpening ? "" : (place.key ?? "")}`;
  const words = secrets.reduce((text, secret) => text.replaceAll(secret, "********"), failure.message);
  const why = words === "" ? types[0] : types.includes("ImportError") ? words : `${words} (${types[0]})`;
  return new StorageError(code, `${where}: ${why}${module ? advice(python, module) : ""}`, place);
}

const advice = (python: string, module: string) =>
  `. Install the missing package with \`${python} -m pip install ${packages[module] ?? module}\``;

/**
 * Returns texts to mask in messages: the password in the URI, and all values in the configuration, at any depth, whose
 * names suggest a secret. Leaves out texts of three characters or fewer.
 */
export function secretsOf(config: unknown, uri: string): string[] {
  const [, inUri = ""] = /:\/\/[^/@:]*:([^/@]+)@/.exec(uri) ?? [];
  return [inUri, ...secretValues(config, false)].filter((text) => text.length > 3);
}

function secretValues(value: unknown, isSecret: boolean): string[] {
  if (typeof value === "string") return isSecret ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  const named = /secret|pass|token|key|credential|auth|sas|connection_string/i;
  return Object.entries(value).flatMap(([name, member]) => secretValues(member, isSecret || named.test(name)));
}
