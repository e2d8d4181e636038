/**
 * Rotates the encryption key, whether or not a server runs. At any time, the keys in the file decrypt all values. An
 * interrupted rotation is completed by running it again.
 */
import { audit, operator } from "../../domain/access/audit.ts";
import { reencrypt, usedKeys } from "../../domain/secrets/encryption.ts";
import { KeyRing } from "../../domain/secrets/key-ring.ts";
import { iso, systemClock } from "../../domain/time/clock.ts";
import type { Faults } from "../../machine/faults.ts";
import type { Store } from "../../store/drivers/store.ts";
import { takeKeys } from "../../store/opening/encrypted-values.ts";
import { countAttemptsBefore } from "../../store/queries/jobs/attempts.ts";
import { givenKeys, KeyFile, type KeyLocation, keyFilePath } from "./key-file.ts";

export interface Rotation {
  /** Id of the key that now encrypts all values. */
  readonly keyId: string;
  /** Number of values that were re-encrypted. */
  readonly changed: number;
  /**
   * With a key file: true if the older keys were removed from the file. With MILLRACE_SECRET_KEY, which only the
   * operator can change: true if no value uses the older keys any more.
   */
  readonly finished: boolean;
  /**
   * Number of running jobs whose tokens may be signed with an older key. With MILLRACE_SECRET_KEY, the number of all
   * running jobs.
   */
  readonly waitsForJobs: number;
  /** Descriptions of the values that no key decrypts. Because of these values, the older keys are not removed. */
  readonly unreadable: readonly string[];
  /** Path of the key file, or the name of the setting. */
  readonly where: string;
}

/**
 * A job that started at most this many milliseconds after the new key was added may still have a token signed with the
 * old key.
 */
const tokenSlack = 60_000;

export async function rotateKey(location: KeyLocation, store: Store, faults: Faults): Promise<Rotation> {
  const given = givenKeys(location);
  const onBatch = () => faults.pass("values-encrypted");
  if (given) {
    const { changed, unreadable } = await reencrypt(store, new KeyRing(given), onBatch);
    const waitsForJobs = await countAttemptsBefore(store.db, iso(systemClock.now() + tokenSlack));
    const finished = unreadable.length === 0;
    return { keyId: given.first().id, changed, finished, waitsForJobs, unreadable, where: "MILLRACE_SECRET_KEY" };
  }
  const file = openFile(location);
  await addKey(store, file, faults);
  const { changed, unreadable } = await reencrypt(store, new KeyRing(file), onBatch);
  faults.pass("key-unused");
  const waitsForJobs = await dropOldKeys(store, file, faults);
  const finished = file.all().length === 1;
  return { keyId: file.first().id, changed, finished, waitsForJobs, unreadable, where: file.path };
}

function openFile(location: KeyLocation): KeyFile {
  const path = keyFilePath(location);
  const file = KeyFile.open(path, (error) => {
    throw error;
  });
  if (file) return file;
  throw new Error(
    `There is no key file ${path}. A server creates it at its first start, so this is probably not the path that your server uses: check --data-dir and MILLRACE_SECRET_KEY_FILE. If the file was lost, restore it from a backup.`,
  );
}

/**
 * Adds a key to the file. If the file already has several keys, an earlier rotation was interrupted, and this rotation
 * completes it without another key.
 */
async function addKey(store: Store, file: KeyFile, faults: Faults): Promise<void> {
  await store.write(async (db) => {
    await takeKeys(db);
    if (file.all().length > 1) return;
    file.addKey();
    await audit(db, operator, { action: "key.rotate", target: file.first().id }, systemClock.now());
  });
  faults.pass("key-added");
}

/**
 * Removes the old keys if nothing uses them any more. Returns the number of running jobs that still need them. Nobody
 * can encrypt values during this check.
 */
const dropOldKeys = (store: Store, file: KeyFile, faults: Faults): Promise<number> =>
  store.write(async (db) => {
    await takeKeys(db);
    const waiting = await countAttemptsBefore(db, iso(file.changedAt + tokenSlack));
    const used = await usedKeys(db);
    used.delete(file.first().id);
    if (waiting > 0 || used.size > 0) return waiting;
    file.keepFirst();
    faults.pass("key-dropped");
    return 0;
  });
