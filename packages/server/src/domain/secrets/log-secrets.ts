/** What a job's log must not show: which values are secrets, and how they may be spelled in a text. */
import { parseEnvironment } from "./environment-text.ts";

/** Shorter ones turn up by chance, and a mask of their length would tell as much. */
const minBytes = 6;
const minLine = 8;

/** Words that stand alone between underscores, and words that say enough wherever they stand. */
const secretName =
  /(^|_)(AUTH|DSN|SAS|PASS|PAT|JWT|COOKIE|PIN|PEM|[A-Z0-9]*KEYS?)(_|$)|_PWD$|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE|CONNECTION_?STRING|AUTHORIZATION/i;
/** Of the alphabet of tokens, with letters and digits (what begins like a path is one), or a key in a text's armour. */
const secretValue = /^(?![./])(?=.*[A-Za-z])(?=.*\d)[\w+/=.~-]{16,}$|-----BEGIN /;

/** The password of a URL such as postgres://user:password@host. By hand: a pattern would try every colon to the end. */
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

/** The secrets among the variables that a job was given in its own environment. */
export function secretsOfEnvironment(text: string): string[] {
  return Object.entries(parseEnvironment(text)).flatMap(([name, value]) => {
    const password = urlPassword(value);
    if (password !== undefined) return [value, password];
    return secretName.test(name) || secretValue.test(value) ? [value] : [];
  });
}

/** Each is looked for in every part of a log: more would let one job's settings hold up everybody. */
const most = 300;

/** Every text that gives one of these values away: the value, its lines, and the usual ways to escape them. */
export function spellings(values: readonly string[]): Buffer[] {
  const texts = [...new Set([...values, ...values.flatMap(lines)])].slice(0, most);
  const all = [...new Set(texts.flatMap(escapes))].map((text) => Buffer.from(text));
  return all.filter((bytes) => bytes.length >= minBytes);
}

/** Programs print a key line by line; a short line says nothing. */
const lines = (value: string) =>
  value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.length >= minLine) : [];

/** As it is, in JSON (with and without letters beyond ASCII), and percent-encoded as browsers, Python and forms do it. */
function escapes(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const url = encodeURIComponent(value.toWellFormed());
  const strict = url.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return [value, json, ascii, url, strict, strict.replaceAll("%2F", "/"), strict.replaceAll("%20", "+")];
}
