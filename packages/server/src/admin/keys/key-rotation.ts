/**
 * Exchanges the key of the store, whether a server runs or not. At every moment all values can be read with the keys of
 * the file; cut short anywhere, it is finished by running it again.
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
  /** The key that encrypts everything now. */
  readonly keyId: string;
  /** Values that were encrypted anew. */
  readonly changed: number;
  /** Whether older keys are gone; with MILLRACE_SECRET_KEY, which only its owner can change, whether no value uses them. */
  readonly finished: boolean;
  /** Running jobs whose tokens may be signed with an older key; with MILLRACE_SECRET_KEY, all that run. */
  readonly waitsForJobs: number;
  /** Values that no key decrypts; older keys stay because of them. */
  readonly unreadable: readonly string[];
  /** Where the keys are. */
  readonly where: string;
}

/** A job that began so soon after the new key came may still have got a token of the old one. */
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
    `There is no key file ${path}: no server was ever started with it. Check --data-dir, or MILLRACE_SECRET_KEY_FILE.`,
  );
}

/** Several keys mean that a rotation was cut short: that one is finished, no other begun. */
async function addKey(store: Store, file: KeyFile, faults: Faults): Promise<void> {
  await store.write(async (db) => {
    await takeKeys(db);
    if (file.all().length > 1) return;
    file.addKey();
    await audit(db, operator, { action: "key.rotate", target: file.first().id }, systemClock.now());
  });
  faults.pass("key-added");
}

/** Returns how many running jobs the old keys are still needed for. Nobody encrypts while this looks. */
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
