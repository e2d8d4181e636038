/** Looks up a host's keys in OpenSSH's known_hosts. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

export interface KnownHosts {
  /** The key types of the host's known keys, such as `ssh-ed25519`. */
  readonly types: readonly string[];
  check(key: Buffer): "known" | "unknown" | "changed" | "revoked";
}

interface Line {
  readonly marker: string | undefined;
  readonly type: string;
  readonly key: Buffer;
}

export function knownHosts(text: string, host: string, port: number): KnownHosts {
  const names = port === 22 ? [host, `[${host}]:22`] : [`[${host}]:${port}`];
  const lines = [...linesOf(text, names)];
  const plain = lines.filter(({ marker }) => marker === undefined);
  return {
    types: plain.map(({ type }) => type),
    check(key) {
      if (lines.some((line) => line.marker === "@revoked" && line.key.equals(key))) return "revoked";
      if (plain.some((line) => line.key.equals(key))) return "known";
      return plain.length === 0 ? "unknown" : "changed";
    },
  };
}

/**
 * Yields the lines of known_hosts for a host, with their markers, such as `@revoked`. Host certificates are not
 * supported, so a line for a certificate authority does not make a host known.
 */
function* linesOf(text: string, names: readonly string[]): Generator<Line> {
  for (const line of text.split("\n")) {
    if (/^\s*(#|$)/.test(line)) continue;
    const words = line.trim().split(/\s+/);
    const marker = words[0]?.startsWith("@") ? words.shift() : undefined;
    const [hosts = "", type = "", key = ""] = words;
    if (names.some((name) => matches(hosts, name))) yield { marker, type, key: Buffer.from(key, "base64") };
  }
}

function matches(hosts: string, name: string): boolean {
  if (hosts.startsWith("|1|")) return matchesHash(hosts, name);
  const patterns = hosts.split(",");
  if (patterns.some((pattern) => pattern.startsWith("!") && isLike(pattern.slice(1), name))) return false;
  return patterns.some((pattern) => isLike(pattern, name));
}

function matchesHash(hosts: string, name: string): boolean {
  const [salt = "", hash = ""] = hosts.slice(3).split("|");
  const expected = Buffer.from(hash, "base64");
  const found = createHmac("sha1", Buffer.from(salt, "base64")).update(name).digest();
  return expected.length === found.length && timingSafeEqual(expected, found);
}

function isLike(pattern: string, name: string): boolean {
  const source = pattern
    .replaceAll(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "i").test(name);
}

/**
 * Whether a host key is the expected one. `expected` is a fingerprint (`SHA256:…`), a key with its type before it, or a
 * key alone.
 */
export function isHostKey(expected: string, key: Buffer): boolean {
  const hash = `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
  if (expected.startsWith("SHA256:")) return expected.replace(/=+$/, "") === hash;
  return expected.split(/\s+/).some((word) => word.length > 32 && Buffer.from(word, "base64").equals(key));
}
