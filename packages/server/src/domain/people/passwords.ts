/**
 * Passwords, kept as argon2id hashes in the usual text form, with the parameters inside: those can be raised later, and a
 * hash with lesser ones is replaced when its owner next signs in.
 */
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { invalid, shortestPassword } from "@millrace/contract";
import { whyGuessable } from "./password-strength.ts";
import { type Hasher, hashInTurn } from "./password-turns.ts";

const derive = promisify(argon2);

/** 19 MiB and two passes: the least that OWASP recommends. A sign-in takes some 30 ms and never all of the memory. */
const memory = 19_456;
const passes = 2;
const parallelism = 1;
const tagLength = 32;

const prefix = `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;

const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");

/** What a user without a password is compared with: never right, and as slow as any other. */
const nobody = `${prefix}${encode(Buffer.alloc(16))}$${encode(Buffer.alloc(tagLength))}`;

/** The same password typed on another keyboard is the same password. */
const bytesOf = (password: string) => Buffer.from(password.normalize("NFC"));

/** What others know of whoever chooses a password. */
interface Owner {
  readonly username: string;
  readonly first_name?: string | null | undefined;
  readonly last_name?: string | null | undefined;
  readonly email?: string | null | undefined;
}

/** Checks and hashes a password that somebody chose. */
export async function hashPassword(password: string, owner: Owner): Promise<string> {
  if (password.length < shortestPassword || password.length > 1024)
    throw invalid("password", `${shortestPassword} to 1024 characters`);
  const { username, first_name, last_name, email } = owner;
  const why = whyGuessable(password, [username, first_name ?? "", last_name ?? "", email ?? ""]);
  if (why !== undefined)
    throw invalid(
      "password",
      `one that is hard to guess: ${why}. Use several words that nobody else would put together`,
    );
  return hashAgain(password);
}

/** For a password that somebody has already, whatever is asked of new ones. */
export async function hashAgain(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const parameters = { message: bytesOf(password), nonce, memory, passes, parallelism, tagLength };
  const tag = await hashInTurn({}, () => derive("argon2id", parameters));
  return `${prefix}${encode(nonce)}$${encode(tag)}`;
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

/** Takes its time for an unknown user too, so that nobody learns who exists. */
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

/** Made with other parameters than those of today. */
export const isOutdated = (hash: string) => !hash.startsWith(prefix);
