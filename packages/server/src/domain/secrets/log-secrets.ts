/** Finds the secrets that must be masked in a job's log, and the forms in which they may appear in a text. */
import { parseEnvironment } from "./environment-text.ts";

/**
 * A secret is masked only if it has at least this many bytes. A shorter text also occurs elsewhere by chance, and
 * masking it there would reveal it.
 */
const minBytes = 6;
/** A line of a multi-line secret is masked only if it has at least this many characters. */
const minLine = 8;

/**
 * Variable names that indicate a secret. Short words must stand between underscores or at an end of the name; longer
 * words may stand anywhere in the name.
 */
const secretName =
  /(^|_)(AUTH|DSN|SAS|PASS|PAT|JWT|COOKIE|PIN|PEM|[A-Z0-9]*KEYS?)(_|$)|_PWD$|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE|CONNECTION_?STRING|AUTHORIZATION/i;
/** Values that look like a token (letters and digits, not a path) or like a PEM key. */
const secretValue = /^(?![./])(?=.*[A-Za-z])(?=.*\d)[\w+/=.~-]{16,}$|-----BEGIN /;

/**
 * Returns the password in a URL such as postgres://user:password@host. Parsed by hand, because a regular expression
 * would backtrack.
 */
function urlPassword(value: string): string | undefined {
  const scheme = /^[a-z][\w+.-]{0,50}:\/\//i.exec(value)?.[0];
  if (scheme === undefined) return undefined;
  const end = value.slice(scheme.length).search(/[\s@]/) + scheme.length;
  if (value[end] !== "@") return undefined;
  const login = value.slice(scheme.length, end);
  const slash = login.indexOf("/");
  const colon = login.lastIndexOf(":", slash === -1 ? undefined : slash);
  return colon === -1 ? undefined : login.slice(colon + 1) || undefined;
}

/** Returns the values in a job's environment that look like secrets. */
export function secretsOfEnvironment(text: string): string[] {
  return Object.entries(parseEnvironment(text)).flatMap(([name, value]) => {
    const password = urlPassword(value);
    if (password !== undefined) return [value, password];
    return secretName.test(name) || secretValue.test(value) ? [value] : [];
  });
}

/**
 * Maximum number of secrets of a job that are masked. Each secret is searched for in every part of the log, so more
 * would slow down the server.
 */
const most = 300;

/** Returns every text to mask: the values, their lines, and the usual escaped forms of both. */
export function spellings(values: readonly string[]): Buffer[] {
  const texts = [...new Set([...values, ...values.flatMap(lines)])].slice(0, most);
  const all = [...new Set(texts.flatMap(escapes))].map((text) => Buffer.from(text));
  return all.filter((bytes) => bytes.length >= minBytes);
}

/** Returns the lines of a multi-line value, because programs may print a key line by line. Short lines are left out. */
const lines = (value: string) =>
  value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.length >= minLine) : [];

/**
 * Returns the forms in which a value may be printed: as it is, in JSON (with non-ASCII letters unchanged or escaped),
 * and percent-encoded in the ways of browsers, Python and HTML forms.
 */
function escapes(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const url = encodeURIComponent(value.toWellFormed());
  const strict = url.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return [value, json, ascii, url, strict, strict.replaceAll("%2F", "/"), strict.replaceAll("%20", "+")];
}
