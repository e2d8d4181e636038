/** Finds the encrypted values in the store by the key that encrypted them, and replaces them one by one. */
import { PostgresAdapter, sql } from "kysely";
import type { Db } from "../drivers/store.ts";
import type { Page } from "../queries/pages.ts";

/** Columns with encrypted values. Each of their tables has an `id`. An empty text means that the row has no value. */
export const encryptedPlaces = [
  { table: "jobs", column: "environment" },
  { table: "jobs", column: "secrets" },
  { table: "credentials", column: "secret" },
  { table: "pipelines", column: "environment" },
  { table: "receivers", column: "secret" },
  { table: "clusters", column: "secrets" },
] as const;

export type EncryptedPlace = (typeof encryptedPlaces)[number];

/**
 * SQL for the first 18 characters of an encrypted value, which say which key encrypted it. The indexes on jobs use a
 * prefix of the same length.
 */
const head = ({ column }: EncryptedPlace) => sql`substr(${sql.ref(column)}, 1, 18)`;
const filled = ({ column }: EncryptedPlace) => sql`${sql.ref(column)} <> ''`;

/**
 * Returns the prefix (see `head`) that follows `after` in sort order, among the prefixes of all values in the column;
 * null if there is none. This takes one index lookup, regardless of the number of values.
 */
export async function nextHead(db: Db, place: EncryptedPlace, after: string): Promise<string | null> {
  const query = sql<{ head: string | null }>`select min(${head(place)}) as head from ${sql.table(place.table)}
    where ${filled(place)} and ${head(place)} > ${after}`;
  return (await query.execute(db)).rows[0]?.head ?? null;
}

export interface EncryptedValue {
  readonly id: string | number;
  readonly value: string;
}

/** Returns a page of the encrypted values with this prefix, ordered by id. The prefix says which key encrypted them. */
export async function valuesWithHead(
  db: Db,
  place: EncryptedPlace,
  beginning: string,
  { after, limit }: Page<EncryptedValue["id"]>,
): Promise<EncryptedValue[]> {
  const beyond = after === undefined ? sql`` : sql`and id > ${after}`;
  const query = sql<EncryptedValue>`select id, ${sql.ref(place.column)} as value from ${sql.table(place.table)}
    where ${filled(place)} and ${head(place)} = ${beginning} ${beyond} order by id limit ${sql.lit(limit)}`;
  return (await query.execute(db)).rows;
}

/** Replaces a value. Returns false if another write has changed the value in the meantime. */
export async function replaceValue(
  db: Db,
  { table, column }: EncryptedPlace,
  { id, value }: EncryptedValue,
  replacement: string,
): Promise<boolean> {
  const { numAffectedRows } = await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${replacement}
    where id = ${id} and ${sql.ref(column)} = ${value}`.execute(db);
  return numAffectedRows === 1n;
}

/** Advisory lock of the keys. The number is arbitrary; other programs on the same database are unlikely to use it. */
const keyLock = 0x6d696c6b;

/**
 * Locks the keys in shared mode until the write ends, for writers that encrypt values. Key rotation takes the lock
 * exclusively, so it never drops a key that a concurrent write is using. SQLite has only one writer at a time and needs
 * no lock.
 */
export async function shareKeys(db: Db): Promise<void> {
  if (sharing.has(db)) return;
  await lockKeys(db, sql`select pg_advisory_xact_lock_shared(${keyLock})`);
  sharing.add(db);
}
/**
 * Transactions that already hold the lock on the keys. With this record, a transaction that encrypts thousands of
 * values takes the lock only once.
 */
const sharing = new WeakSet<Db>();

export const takeKeys = (db: Db) => lockKeys(db, sql`select pg_advisory_xact_lock(${keyLock})`);

async function lockKeys(db: Db, lock: ReturnType<typeof sql>): Promise<void> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) await lock.execute(db);
}
