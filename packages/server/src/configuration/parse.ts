/**
 * Parsers of settings. Each parser throws an error with the expected format. The caller adds the name of the setting
 * and the rejected value.
 */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { isTooOldLibrary, oldestLibrary } from "@millrace/contract";

export const text = (given: string): string => given;

/** Returns an absolute path; an empty string if no path is given. */
export const optionalPath = (given: string): string => given && resolve(given);

export const flag = (given: string): boolean => choice("true", "false")(given) === "true";

export function integer(low: number, high: number) {
  return (given: string): number => {
    const value = Number(given);
    if (!Number.isInteger(value) || value < low || value > high)
      throw new Error(`expected a whole number from ${low} to ${high}`);
    return value;
  };
}

export function choice<const T extends string>(...values: T[]) {
  return (given: string): T => {
    const found = values.find((value) => value === given.toLowerCase());
    if (!found) throw new Error(`expected one of ${values.join(", ")}`);
    return found;
  };
}

export function bytes(given: string): number {
  const match = /^(\d+)\s*(B|KiB|MiB|GiB|TiB)?$/.exec(given);
  if (!match) throw new Error("expected a size such as 500MiB or 1GiB");
  const power = ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(match[2] ?? "B");
  return Number(match[1]) * 1024 ** power;
}

/** A number of bytes, or a percentage of the memory of the machine that runs a job. */
export type Memory = number | `${number}%`;

export const memory = (given: string): Memory => (/^\d+%$/.test(given) ? (given as Memory) : bytes(given));

export interface UserRange {
  readonly first: number;
  readonly last: number;
}

export function userRange(given: string): UserRange {
  const match = /^(\d+)-(\d+)$/.exec(given);
  const [first, last] = [Number(match?.[1]), Number(match?.[2])];
  // Jobs never run as root or as an account of a system service.
  if (!match || first < 1000 || last < first || last > 4_294_967_294)
    throw new Error("expected a range of user ids that begins at 1000 or above, such as 61000-61999");
  return { first, last };
}

/** Parses a key of 32 bytes, given as base64 with or without padding, or as hex. */
export function secretKey(given: string): Buffer {
  const key = given.trim();
  const bytes = Buffer.from(key, /^[0-9a-fA-F]{64}$/.test(key) ? "hex" : "base64");
  if (bytes.length !== 32 || !/^[\w+/-]{43}=?$|^[0-9a-fA-F]{64}$/.test(key))
    throw new Error("expected keys of 32 bytes, each as base64 (43 or 44 characters) or hex (64)");
  return bytes;
}

export function databaseUrl(given: string): string {
  if (given && !(URL.canParse(given) && /^postgres(ql)?:$/.test(new URL(given).protocol)))
    throw new Error("expected a postgres:// URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE");
  if (given && new URL(given).host.includes(",")) throw new Error("expected a postgres:// URL with one host");
  return given;
}

export function storageUri(given: string): string {
  if (given && !/^[a-z][a-z0-9+.-]*:\/\/[^\s/]/.test(given))
    throw new Error("expected a URI such as s3://BUCKET/PREFIX");
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]*:[^/]*@/.test(given))
    throw new Error(
      "expected a URI without a password (credentials come from environment variables such as AWS_SECRET_ACCESS_KEY: see 'Files at a storage URI' in docs/operations.md)",
    );
  return given.replace(/\/+$/, "");
}

export function publicUrl(given: string): string {
  if (given && !(URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)))
    throw new Error("expected an http:// or https:// URL");
  if (given && /^\/(administration|api|assets|auth|healthz|metrics|readyz|team)(\/|$)/.test(new URL(given).pathname))
    throw new Error("expected a path prefix that is not a path of Millrace itself, such as /millrace");
  if (/[?#]/.test(given)) throw new Error("expected a URL without ? and #");
  return given.replace(/\/+$/, "");
}

const commaSeparated = (given: string): string[] => given.split(",").flatMap((part) => part.trim() || []);

export function hostNames(given: string): string[] {
  const names = commaSeparated(given.toLowerCase());
  if (names.some((name) => !/^[a-z0-9._-]+$/.test(name)))
    throw new Error("expected host names without ports, separated by commas");
  return names;
}

/** Tells whether the text is an IP address, or a network such as 10.0.0.0/8. */
function isNetwork(part: string): boolean {
  const [address = "", bits, ...more] = part.split("/");
  const longest = { 4: 32, 6: 128 }[isIP(address)];
  if (longest === undefined || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest);
}

const networkNames = ["loopback", "linklocal", "uniquelocal"];

/** Parses a number of proxy hops, or a list of addresses, networks and keywords for networks, such as `loopback`. */
export function trustProxy(given: string): number | string[] {
  if (/^\d{1,3}$/.test(given)) return Number(given);
  const parts = commaSeparated(given);
  if (!parts.every((part) => networkNames.includes(part) || isNetwork(part)))
    throw new Error(
      `expected the number of proxies in front of the server, or a comma-separated list of addresses, networks such as 10.0.0.0/8 and keywords (${networkNames.join(", ")})`,
    );
  return parts;
}

/** Parses a list of addresses and networks. Keywords for networks, such as `loopback`, are not accepted. */
export function networks(given: string): string[] {
  const parts = commaSeparated(given);
  if (!parts.every(isNetwork)) throw new Error("expected addresses and networks such as 10.1.0.0/16,fd00::/8");
  return parts;
}

export function smtpUrl(given: string): string {
  if (given && !(URL.canParse(given) && /^smtps?:$/.test(new URL(given).protocol) && new URL(given).hostname))
    throw new Error("expected an smtp:// or smtps:// URL");
  return given;
}

export function mailAddress(given: string): string {
  if (!/^[^\r\n]*[^@\s]+@[^@\s]+$/.test(given)) throw new Error("expected an e-mail address");
  return given;
}

export function timezone(given: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: given }).resolvedOptions().timeZone;
  } catch {
    throw new Error("expected an IANA time zone such as Europe/Berlin");
  }
}

export function libraryVersion(given: string): string {
  if (!/^\d+\.\d+\.\d+$/.test(given)) throw new Error("expected a version such as 0.62.0");
  if (isTooOldLibrary(given)) throw new Error(`expected ${oldestLibrary} or newer`);
  return given;
}

export interface JobPath {
  path: string;
  mode: "ro" | "rw";
}

export const jobPaths = (given: string): JobPath[] =>
  commaSeparated(given).map((part) => {
    const match = /^(\/.*?)(?::(ro|rw))?$/.exec(part);
    if (!match?.[1]) throw new Error("expected absolute folders such as /data:ro,/scratch:rw");
    return { path: resolve(match[1]), mode: (match[2] as "ro" | "rw" | undefined) ?? "ro" };
  });
