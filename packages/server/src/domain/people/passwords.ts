/**
 * Passwords, stored as argon2id hashes in the usual text form, which includes the parameters. If a later release
 * changes the parameters, an older hash is replaced when its owner next signs in.
 */
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { invalid, shortestPassword } from "@millrace/contract";
import { whyGuessable } from "./password-strength.ts";
import { type Hasher, hashInTurn } from "./password-turns.ts";

const derive = promisify(argon2);

/** Memory of one hash in KiB: 19 MiB. With two passes, OWASP recommends at least this. A hash takes about 30 ms. */
const memory = 19_456;
const passes = 2;
const parallelism = 1;
const tagLength = 32;

const prefix = `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;

const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");

/** A hash that no password matches. Used for unknown users, so that their sign-in takes as long as any other. */
const nobody = `${prefix}${encode(Buffer.alloc(16))}$${encode(Buffer.alloc(tagLength))}`;

/** Normalizes Unicode, because keyboards produce the same character in different forms. */
const bytesOf = (password: string) => Buffer.from(password.normalize("NFC"));

/** The user who chooses a password. The password must not consist of these names and addresses. */
interface Owner {
  readonly username: string;
  readonly first_name?: string | null | undefined;
  readonly last_name?: string | null | undefined;
  readonly email?: string | null | undefined;
}

/** Checks and hashes a new password. Throws if it is too short, too long or easy to guess. */
export async function hashPassword(password: string, owner: Owner): Promise<string> {
  if (password.length < shortestPassword || password.length > 1024)
    throw invalid("password", `${shortestPassword} to 1024 characters`);
  const { username, first_name, last_name, email } = owner;
  const why = whyGuessable(password, [username, first_name ?? "", last_name ?? "", email ?? ""]);
  if (why !== undefined)
    throw invalid(
      "password",
      `a password that is hard to guess. The given password is easy to guess: ${why}. Use several words that nobody else would combine`,
    );
  return hashAgain(password);
}

/**
 * Hashes a password without checking its strength. Used for a password that is already in use: it may be older than the
 * current rules.
 */
export async function hashAgain(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const parameters = { message: bytesOf(password), nonce, memory, passes, parallelism, tagLength };
  const tag = await hashInTurn({}, () => derive("argon2id", parameters));
  return `${prefix}${encode(nonce)}$${encode(tag)}`;
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

/**
 * Returns whether the password matches the hash. If there is no hash, the check takes as long as for a wrong password,
 * so that the response time does not reveal which users exist.
 */
export async function verifyPassword(
  password: string,
  hash: string | null | undefined,
  hasher: Hasher = {},
): Promise<boolean> {
  const [, m, t, p, salt = "", tag = ""] = form.exec(hash ?? nobody) ?? [];
  const expected = Buffer.from(tag, "base64");
  const parameters = {
    message: bytesOf(password),
    nonce: Buffer.from(salt, "base64"),
    memory: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    tagLength: expected.length,
  };
  const derived = await hashInTurn(hasher, () => derive("argon2id", parameters));
  return timingSafeEqual(derived, expected) && hash !== null && hash !== undefined;
}

/** Returns whether a hash was made with other parameters than the current ones. */
export const isOutdated = (hash: string) => !hash.startsWith(prefix);
