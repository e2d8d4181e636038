/** Encrypts and decrypts values of the store, and re-encrypts them when the key is rotated. */

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

/**
 * Returns the authenticated context (AAD) of a value: its table, column and row. If this text changed, no stored value
 * could be decrypted.
 */
const purpose = ({ table, column }: EncryptedPlace, id: Id) => `${table} ${column} ${id}`;

const [jobEnvironment, jobSecrets, credentials, pipelineEnvironment, receiverSecret, clusterSecrets] = encryptedPlaces;

/**
 * Returns a function that encrypts a value of this column. Call that function inside the transaction that stores the
 * value. It takes a shared lock (`shareKeys`) until the transaction ends, so that no key rotation drops the key
 * meanwhile. An empty text stays empty.
 */
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
export const encryptCluster = encryptAt(clusterSecrets);
export const decryptCluster = decryptAt(clusterSecrets);

/**
 * Throws if the store has values that are encrypted with an unknown key. The server checks this at its start, before a
 * job needs such a value.
 */
export async function checkKeys({ db }: Store, hasKey: (id: string) => boolean): Promise<void> {
  for (const id of await usedKeys(db)) {
    if (hasKey(id)) continue;
    throw new Error(
      `The store holds secrets that are encrypted with the key ${id}, and this server does not have it. The server that used this store before has the key, in its key file (secret.key in its data folder) or in MILLRACE_SECRET_KEY. Copy that file to this server's data folder; if this folder already has a secret.key, append the lines of that file to it instead. If MILLRACE_SECRET_KEY is set on this server, its key file is not read: append the key to the value of MILLRACE_SECRET_KEY, after a comma.`,
    );
  }
}

/** Returns the ids of all keys that encrypted values in the store refer to. */
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

/**
 * Yields the distinct beginnings of the values in a column. In an encrypted value, the beginning is the part that names
 * the key.
 */
async function* heads(db: Db, place: EncryptedPlace): AsyncGenerator<string> {
  for (let head = await nextHead(db, place, ""); head !== null; head = await nextHead(db, place, head)) yield head;
}

/** Number of values that one transaction re-encrypts. */
const batchSize = 200;

export interface Reencryption {
  /** Number of values that were encrypted again, with the newest key. */
  readonly changed: number;
  /** Values that cannot be decrypted, as table, column and row id. */
  readonly unreadable: readonly string[];
}

/** Encrypts the plain-text values that older versions of Millrace stored. Returns whether there were such values. */
export async function encryptPlain(store: Store, keys: KeyRing): Promise<boolean> {
  const { changed } = await encryptWhere(store, keys, (keyId) => keyId === undefined);
  // Freed database pages still contain the plain text.
  if (changed > 0) await store.compact();
  return changed > 0;
}

/** Re-encrypts every value that is not encrypted with the newest key. */
export const reencrypt = (store: Store, keys: KeyRing, onBatch: () => void): Promise<Reencryption> =>
  encryptWhere(store, keys, (keyId) => keyId !== keys.currentId, onBatch);

/**
 * Encrypts all values for which `isDue` returns true, in batches, while jobs go on. `isDue` gets the id of the value's
 * key; undefined for plain text. A value that was changed meanwhile is skipped. If the process is killed, a further
 * call encrypts the remaining values.
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

/** Decrypts a value; returns undefined if that fails. */
function readable(keys: KeyRing, value: string, what: string): string | undefined {
  try {
    return keys.decrypt(value, what);
  } catch {
    return undefined;
  }
}
