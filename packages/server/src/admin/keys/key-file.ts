/** Reads the encryption keys: from the setting, or from a file that only the server's user can read. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../configuration/config.ts";
import type { KeySettings } from "../../configuration/groups/keys.ts";
import { secretKey } from "../../configuration/parse.ts";
import { checkKeys, encryptPlain } from "../../domain/secrets/encryption.ts";
import { KeyRing, type KeySource, type SecretKey, secretKeyOf } from "../../domain/secrets/key-ring.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import type { Store } from "../../store/drivers/store.ts";

/** Where the encryption keys are: in the settings, or in a file. */
export interface KeyLocation extends KeySettings {
  /** Path of the key file if the settings name no other. */
  readonly usualFile: string;
}

export const keyLocation = ({ keys, data }: Pick<Config, "keys" | "data">): KeyLocation => ({
  ...keys,
  usualFile: new DataFolder(data.dataDir).keys,
});

export const keyFilePath = ({ secretKeyFile, usualFile }: KeyLocation) => secretKeyFile || usualFile;

/** Returns the keys in MILLRACE_SECRET_KEY; undefined if it is not set. They change only with a restart. */
export function givenKeys({ secretKey: given }: KeySettings): KeySource | undefined {
  const keys = given.map(secretKeyOf);
  const [first] = keys;
  return first && { all: () => keys, first: () => first };
}

/**
 * Opens the keys of a store that a server is about to use. If there are no keys yet, creates one. Throws if the store
 * has values that no key decrypts. This is checked before a key is created, because a new key would hide that the right
 * one is missing. Finally encrypts values that an older version of Millrace stored in plain text.
 */
export async function openKeys(
  location: KeyLocation,
  store: Store,
  onTrouble: (error: Error) => void,
): Promise<KeyRing> {
  const path = keyFilePath(location);
  const source = givenKeys(location) ?? KeyFile.open(path, onTrouble);
  await checkKeys(store, (id) => source?.all().some((key) => key.id === id) ?? false);
  const keys = new KeyRing(source ?? KeyFile.create(path, onTrouble));
  await encryptPlain(store, keys);
  return keys;
}

/**
 * A key file. Before every use, the file is checked for changes, so that a new key applies at once. This check takes a
 * microsecond.
 */
export class KeyFile implements KeySource {
  readonly path: string;
  readonly #onTrouble: (error: Error) => void;
  #keys: readonly SecretKey[];
  #seen: string;
  #trouble: Error | undefined;

  /** Opens an existing key file; undefined if there is none. Throws if the file cannot be used. */
  static open(path: string, onTrouble: (error: Error) => void): KeyFile | undefined {
    return statSync(path, { throwIfNoEntry: false }) && new KeyFile(path, onTrouble);
  }

  /**
   * Creates the file with a first key, durably. If another process has created the file in the meantime, that file is
   * used.
   */
  static create(path: string, onTrouble: (error: Error) => void): KeyFile {
    const draft = `${path}.${process.pid}.new`;
    try {
      rmSync(draft, { force: true });
      writeDurably(draft, textOf([newKey()]));
    } catch (error) {
      throw new Error(
        `The key file ${path} cannot be created (${(error as Error).message}). Choose another path with MILLRACE_SECRET_KEY_FILE.`,
      );
    }
    try {
      // A hard link appears with its content or not at all, and fails if the name is taken.
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      rmSync(draft);
    }
    syncFolder(path);
    return new KeyFile(path, onTrouble);
  }

  private constructor(path: string, onTrouble: (error: Error) => void) {
    this.path = path;
    this.#onTrouble = onTrouble;
    this.#seen = stampOf(path);
    this.#keys = readKeys(path);
  }

  all(): readonly SecretKey[] {
    this.#refresh();
    return this.#keys;
  }

  first(): SecretKey {
    this.#refresh();
    // Existing values stay readable with the last known keys. A new value might be encrypted with a key that is being
    // removed, so encrypting fails.
    if (this.#trouble) throw this.#trouble;
    return this.#keys[0] as SecretKey;
  }

  /** Time at which the newest key was added, in milliseconds since the epoch. */
  get changedAt(): number {
    return statSync(this.path).mtimeMs;
  }

  /**
   * Adds a new key before the others. Call this method and `keepFirst` only while nobody else can change the file or
   * encrypt values.
   */
  addKey(): void {
    this.#replace([newKey(), ...this.all().map(({ bytes }) => bytes)]);
  }

  /** Removes all keys but the newest. */
  keepFirst(): void {
    this.#replace([this.first().bytes]);
  }

  #replace(keys: readonly Buffer[]): void {
    const draft = `${this.path}.new`;
    rmSync(draft, { force: true });
    writeDurably(draft, textOf(keys));
    renameSync(draft, this.path);
    syncFolder(this.path);
    this.#refresh();
  }

  #refresh(): void {
    const stamp = stampOf(this.path);
    if (stamp === this.#seen) return;
    this.#seen = stamp;
    try {
      this.#keys = readKeys(this.path);
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = error as Error;
      this.#onTrouble(this.#trouble);
    }
  }
}

const newKey = () => randomBytes(32);
const textOf = (keys: readonly Buffer[]) => keys.map((bytes) => `${bytes.toString("base64")}\n`).join("");

function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : "";
}

function readKeys(path: string): SecretKey[] {
  checkOwner(path);
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  try {
    if (lines.length > 0) return lines.map((line) => secretKeyOf(secretKey(line)));
  } catch {
    // Reported below without the line, which may contain most of a key.
  }
  throw new Error(
    `The key file ${path} has no valid keys: expected one per line, 32 bytes as base64 or hex. Restore the file: without its keys, secrets in the database cannot be decrypted.`,
  );
}

function checkOwner(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile())
    throw new Error(
      `The key file ${path} is missing. Restore it: without it, secrets in the database cannot be decrypted.`,
    );
  if ((found.mode & 0o077) !== 0)
    throw new Error(
      `Other users can read the key file ${path}. Run \`chmod 600 ${path}\`. If somebody may have read it, also run \`millrace admin rotate-key\`.`,
    );
  if (found.uid !== process.getuid?.())
    throw new Error(`The key file ${path} belongs to another user. Run \`chown\` to make the server's user its owner.`);
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
}
