/** Browsing storage: which parameters a listing gets, and what its errors mean for the user. */
import { ApiError, invalid, type StorageListing, storagePage, storageSchemes } from "@millrace/contract";

/** A folder to list, and with what. */
export interface StorageWish {
  readonly uri: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly after: string | undefined;
  readonly limit: number;
}

/** The credentials with which a folder is listed. */
export interface UsedCredentials {
  readonly name: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Values that no message may repeat. */
  readonly secrets: readonly string[];
}

export type Scheme = (typeof storageSchemes)[number];

/** Returns the scheme of a URI that can be browsed. */
export function schemeOf(uri: string): Scheme {
  const scheme = /^([a-z0-9]+):\/\//.exec(uri)?.[1];
  const found = storageSchemes.find((name) => name === scheme);
  if (!found || uri.includes("\0") || uri.includes("::"))
    throw invalid("uri", "a URI such as s3://bucket/folder, gs://, az:// or file://", uri);
  return found;
}

/** Parameters for requests without credentials. */
const anonymous = { s3: { anon: true }, gs: { token: "anon" }, az: { anon: true } } as const;

export function wishFor(
  scheme: keyof typeof anonymous,
  uri: string,
  credentials: UsedCredentials | undefined,
  after: string | undefined,
): StorageWish {
  const folder = uri.replace(/(?<=[^/:])\/+$/, "");
  const config = credentials ? {} : anonymous[scheme];
  return { uri: folder, config, variables: credentials?.variables ?? {}, after, limit: storagePage };
}

/** Checks the answer of the process that listed the folder: names and errors come from the store. */
export function readListing(uri: string, answer: unknown, credentials: UsedCredentials | undefined): StorageListing {
  const { entries, next, problem, message } = (answer ?? {}) as Record<string, unknown>;
  if (typeof problem === "string") throw problemOf(uri, problem, String(message), credentials);
  const isNext = next === null || typeof next === "string";
  if (!Array.isArray(entries) || !isNext) throw problemOf(uri, "failed", "no list of files", credentials);
  return { uri, entries: entries.slice(0, storagePage).map(readEntry), next_cursor: next };
}

function readEntry(entry: unknown): StorageListing["entries"][number] {
  const { path, isFolder, size, modified } = (entry ?? {}) as Record<string, unknown>;
  const name = String(path).replace(/\/$/, "");
  if (isFolder === true) return { name, kind: "folder", size: null, last_modified: null };
  const time = typeof modified === "string" && !Number.isNaN(Date.parse(modified)) ? modified : null;
  return { name, kind: "file", size: Number.isSafeInteger(size) ? Number(size) : null, last_modified: time };
}

/** The variables that a store usually needs. */
const usual: Readonly<Record<string, readonly string[]>> = {
  s3: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
  gs: ["FSSPEC_GS_TOKEN"],
  az: ["AZURE_STORAGE_CONNECTION_STRING"],
};

function problemOf(uri: string, problem: string, message: string, credentials: UsedCredentials | undefined): ApiError {
  const said = masked(message, credentials?.secrets ?? []);
  if (problem === "not_found") return new ApiError("not_found", `There is nothing at ${uri}: ${said}`);
  if (problem === "config" || problem === "invalid" || problem === "unsupported")
    return new ApiError("wrong_state", `${uri} cannot be listed: ${said}`);
  const missing = missingIn(uri, credentials);
  // What the library says about this names settings that nobody sees here.
  if (missing !== undefined && said.startsWith("cannot get credentials"))
    return new ApiError("wrong_state", `${uri} cannot be listed. ${missing}`);
  const advice = problem === "permission" ? ` ${missing ?? adviceFor(credentials)}` : "";
  return new ApiError("wrong_state", `${uri} cannot be listed: ${said.replace(/\.?$/, ".")}${advice}`);
}

/** Says which variables the credentials lack; undefined if they have all that are usual. */
function missingIn(uri: string, credentials: UsedCredentials | undefined): string | undefined {
  const missing = credentials && (usual[schemeOf(uri)] ?? []).filter((name) => !(name in credentials.variables));
  return missing?.length
    ? `The credentials ${credentials?.name} have no ${missing.join(" and no ")}. Set them in the settings of the team.`
    : undefined;
}

const adviceFor = (credentials: UsedCredentials | undefined) =>
  credentials
    ? `Check the values of the credentials ${credentials.name}, and what they may list.`
    : "Choose credentials: without them only public buckets can be listed.";

const masked = (message: string, secrets: readonly string[]) =>
  secrets.filter((secret) => secret.length > 3).reduce((text, secret) => text.replaceAll(secret, "***"), message);
