/** Where the keys of the store come from: the setting, or a file that only the server's user can read. */
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

/** Where the keys of a store are: in the settings, or in a file. */
export interface KeyLocation extends KeySettings {
  /** The key file, unless the settings name another. */
  readonly usualFile: string;
}

export const keyLocation = ({ keys, data }: Pick<Config, "keys" | "data">): KeyLocation => ({
  ...keys,
  usualFile: new DataFolder(data.dataDir).keys,
});

export const keyFilePath = ({ secretKeyFile, usualFile }: KeyLocation) => secretKeyFile || usualFile;

/** Keys that are given by the setting: they change with a restart only. */
export function givenKeys({ secretKey: given }: KeySettings): KeySource | undefined {
  const keys = given.map(secretKeyOf);
  const [first] = keys;
  return first && { all: () => keys, first: () => first };
}

/**
 * The keys of a store that is about to be used. A store with values that they cannot read is refused, before a new key
 * would hide that the right one is missing; what an older version left in clear is encrypted.
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

/** A file of keys. Looked at before every use, which costs a microsecond, so that a new key holds at once. */
export class KeyFile implements KeySource {
  readonly path: string;
  readonly #onTrouble: (error: Error) => void;
  #keys: readonly SecretKey[];
  #seen: string;
  #trouble: Error | undefined;

  /** Undefined: there is no such file. Throws where it cannot be used, and says what to do. */
  static open(path: string, onTrouble: (error: Error) => void): KeyFile | undefined {
    return statSync(path, { throwIfNoEntry: false }) && new KeyFile(path, onTrouble);
  }

  /** Makes the file with a first key, on disk before it returns. One that came into being meanwhile is used instead. */
  static create(path: string, onTrouble: (error: Error) => void): KeyFile {
    const draft = `${path}.${process.pid}.new`;
    try {
      rmSync(draft, { force: true });
      writeDurably(draft, textOf([newKey()]));
    } catch (error) {
      throw new Error(
        `The key file ${path} cannot be made (${(error as Error).message}). Choose another with MILLRACE_SECRET_KEY_FILE.`,
      );
    }
    try {
      // A hard link appears with its content or not at all, and fails where the name is taken.
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
    // What the last keys encrypted stays readable; a new value might be encrypted with a key that is being dropped.
    if (this.#trouble) throw this.#trouble;
    return this.#keys[0] as SecretKey;
  }

  /** When the newest key was put in front, in milliseconds. */
  get changedAt(): number {
    return statSync(this.path).mtimeMs;
  }

  /** Puts a new key in front. Call it, as `keepFirst`, while no one else can change the file or encrypt. */
  addKey(): void {
    this.#replace([newKey(), ...this.all().map(({ bytes }) => bytes)]);
  }

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
    // Said below, without the line: it may be most of a key.
  }
  throw new Error(
    `The key file ${path} holds no keys that can be read: expected one a line, 32 bytes as base64 or hex. Put the file back as it was: without its keys, secrets in the store cannot be read.`,
  );
}

function checkOwner(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new Error(`The key file ${path} is gone. Put it back: secrets in the store need it.`);
  if ((found.mode & 0o077) !== 0)
    throw new Error(
      `The key file ${path} can be read by others. Run \`chmod 600 ${path}\`, and if somebody may have read it, \`millrace admin rotate-key\`.`,
    );
  if (found.uid !== process.getuid?.())
    throw new Error(`The key file ${path} belongs to another user. Run \`chown\` to give it to the server's user.`);
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
