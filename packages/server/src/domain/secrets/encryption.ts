/** Values of the store, encrypted: written, read, and moved from one key to the next. */

import type { Db, Store } from "../../store/drivers/store.ts";
import {
  type EncryptedPlace,
  type EncryptedValue,
  encryptedPlaces,
  nextHead,
  replaceValue,
  shareKeys,
  valuesWithHead,
} from "../../store/opening/encrypted-values.ts";
import { type KeyRing, keyIdOf } from "./key-ring.ts";

type Id = EncryptedValue["id"];

/** What a value is for: part of what is authenticated, so it must never change. */
const purpose = ({ table, column }: EncryptedPlace, id: Id) => `${table} ${column} ${id}`;

const [jobEnvironment, jobSecrets, credentials, pipelineEnvironment, receiverSecret] = encryptedPlaces;

/** Inside the write that stores it: see `shareKeys`. Nothing stays nothing. */
const encryptAt = (place: EncryptedPlace) => async (db: Db, keys: KeyRing, id: Id, text: string) => {
  if (text === "") return "";
  await shareKeys(db);
  return keys.encrypt(text, purpose(place, id));
};
const decryptAt = (place: EncryptedPlace) => (keys: KeyRing, id: Id, value: string) =>
  value === "" ? "" : keys.decrypt(value, purpose(place, id));

export const encryptEnvironment = encryptAt(jobEnvironment);
export const decryptEnvironment = decryptAt(jobEnvironment);
export const encryptJobSecrets = encryptAt(jobSecrets);
export const decryptJobSecrets = decryptAt(jobSecrets);
export const encryptCredentials = encryptAt(credentials);
export const decryptCredentials = decryptAt(credentials);
export const encryptPipelineEnvironment = encryptAt(pipelineEnvironment);
export const decryptPipelineEnvironment = decryptAt(pipelineEnvironment);
export const encryptReceiver = encryptAt(receiverSecret);
export const decryptReceiver = decryptAt(receiverSecret);

/** Refuses to begin with values that nobody could read: told at the start, not when a job needs one. */
export async function checkKeys({ db }: Store, hasKey: (id: string) => boolean): Promise<void> {
  for (const id of await usedKeys(db)) {
    if (hasKey(id)) continue;
    throw new Error(
      `The store holds secrets that are encrypted with the key ${id}, and this server does not have it. Give it the key file (secret.key) of the data folder that the store was used with, or add the key to MILLRACE_SECRET_KEY.`,
    );
  }
}

/** Ids of all keys that values in the store name. */
export async function usedKeys(db: Db): Promise<Set<string>> {
  const used = new Set<string>();
  for (const place of encryptedPlaces) {
    for await (const head of heads(db, place)) {
      const id = keyIdOf(head);
      if (id !== undefined) used.add(id);
    }
  }
  return used;
}

async function* heads(db: Db, place: EncryptedPlace): AsyncGenerator<string> {
  for (let head = await nextHead(db, place, ""); head !== null; head = await nextHead(db, place, head)) yield head;
}

const batchSize = 200;

export interface Reencryption {
  /** Values that are now encrypted with the newest key. */
  readonly changed: number;
  /** Values that cannot be decrypted, as places people can find. */
  readonly unreadable: readonly string[];
}

/** A store of an older version holds environments in clear. Returns whether there were any. */
export async function encryptPlain(store: Store, keys: KeyRing): Promise<boolean> {
  const { changed } = await encryptWhere(store, keys, (keyId) => keyId === undefined);
  // What was in clear lies on in pages and rows that are free now.
  if (changed > 0) await store.compact();
  return changed > 0;
}

/** Encrypts with the newest key whatever has another one. */
export const reencrypt = (store: Store, keys: KeyRing, onBatch: () => void): Promise<Reencryption> =>
  encryptWhere(store, keys, (keyId) => keyId !== keys.currentId, onBatch);

/**
 * In batches, each value only as long as it is what was read: jobs go on meanwhile, and when it is cut short, it is
 * simply run again.
 */
async function encryptWhere(
  store: Store,
  keys: KeyRing,
  isDue: (keyId: string | undefined) => boolean,
  onBatch: () => void = () => {},
): Promise<Reencryption> {
  const parts: Reencryption[] = [];
  for (const place of encryptedPlaces) {
    for await (const head of heads(store.db, place)) {
      if (!isDue(keyIdOf(head))) continue;
      for (let after: Id | undefined; ; ) {
        const values: EncryptedValue[] = await valuesWithHead(store.db, place, head, { after, limit: batchSize });
        if (values.length === 0) break;
        parts.push(await store.write((db) => reencryptBatch(db, keys, place, values)));
        after = values.at(-1)?.id;
        onBatch();
      }
    }
  }
  const changed = parts.reduce((total, part) => total + part.changed, 0);
  return { changed, unreadable: parts.flatMap((part) => part.unreadable) };
}

async function reencryptBatch(
  db: Db,
  keys: KeyRing,
  place: EncryptedPlace,
  values: readonly EncryptedValue[],
): Promise<Reencryption> {
  const result = { changed: 0, unreadable: [] as string[] };
  await shareKeys(db);
  for (const { id, value } of values) {
    const what = purpose(place, id);
    const text = keyIdOf(value) === undefined ? value : readable(keys, value, what);
    if (text === undefined) result.unreadable.push(what);
    else if (await replaceValue(db, place, { id, value }, keys.encrypt(text, what))) result.changed++;
  }
  return result;
}

function readable(keys: KeyRing, value: string, what: string): string | undefined {
  try {
    return keys.decrypt(value, what);
  } catch {
    return undefined;
  }
}
