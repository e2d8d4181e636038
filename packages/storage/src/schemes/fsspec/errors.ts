/** Converts exceptions of fsspec to storage errors. */
import { type ErrorCode, type ErrorPlace, FolderError, StorageError } from "../../errors.ts";
import type { RemoteFailure } from "./call.ts";

/**
 * Error codes by the name of an exception class. The most specific class of an exception that is listed here decides.
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

/** Codes that apply only while a file system is created: later, these exceptions do not mean a wrong configuration. */
const openingCodes: Readonly<Record<string, ErrorCode>> = {
  TypeError: "config",
  ValueError: "config",
  KeyError: "config",
};

/** Packages whose name differs from the name of their module, by module. */
const packages: Readonly<Record<string, string>> = { smbclient: "smbprotocol" };

export interface Circumstances {
  readonly place: ErrorPlace;
  readonly python: string;
  readonly isOpening: boolean;
  /** Texts that must not appear in messages. */
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
 * Returns the values in the configuration, at any depth, whose names look like those of secrets, and the password in
 * the URI.
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
