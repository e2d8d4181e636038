/** Encrypted values wherever they lie in the store: found by the key that they name, replaced one by one. */
import { PostgresAdapter, sql } from "kysely";
import type { Db } from "../drivers/store.ts";

/** Where encrypted values lie. Every table has an `id`; an empty text is no value. */
export const encryptedPlaces = [
  { table: "jobs", column: "environment" },
  { table: "jobs", column: "secrets" },
  { table: "credentials", column: "secret" },
  { table: "pipelines", column: "environment" },
  { table: "receivers", column: "secret" },
] as const;

export type EncryptedPlace = (typeof encryptedPlaces)[number];

/** As long as the part of a value that names its key. The indexes on jobs have the same number in them. */
const head = ({ column }: EncryptedPlace) => sql`substr(${sql.ref(column)}, 1, 18)`;
const filled = ({ column }: EncryptedPlace) => sql`${sql.ref(column)} <> ''`;

/** The next of the different beginnings that values here have: a look into an index, however many values there are. */
export async function nextHead(db: Db, place: EncryptedPlace, after: string): Promise<string | null> {
  const query = sql<{ head: string | null }>`select min(${head(place)}) as head from ${sql.table(place.table)}
    where ${filled(place)} and ${head(place)} > ${after}`;
  return (await query.execute(db)).rows[0]?.head ?? null;
}

export interface EncryptedValue {
  readonly id: string | number;
  readonly value: string;
}

/** Values that begin like this, by id. */
export async function valuesWithHead(
  db: Db,
  place: EncryptedPlace,
  beginning: string,
  after: string | number | null,
  limit: number,
): Promise<EncryptedValue[]> {
  const beyond = after === null ? sql`` : sql`and id > ${after}`;
  const query = sql<EncryptedValue>`select id, ${sql.ref(place.column)} as value from ${sql.table(place.table)}
    where ${filled(place)} and ${head(place)} = ${beginning} ${beyond} order by id limit ${sql.lit(limit)}`;
  return (await query.execute(db)).rows;
}

/** False: somebody else changed it meanwhile. */
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

/** Any number that no other program on the same database is likely to take. */
const keyLock = 0x6d696c6b;

/**
 * Held to the end of a write. Who encrypts shares the keys; who exchanges them has them alone. So a key is dropped when
 * nothing uses it, and not a moment before a write that does. In the embedded store every write is alone.
 */
export async function shareKeys(db: Db): Promise<void> {
  if (sharing.has(db)) return;
  await lockKeys(db, sql`select pg_advisory_xact_lock_shared(${keyLock})`);
  sharing.add(db);
}
/** Writes that share the keys already: one may encrypt thousands of values. */
const sharing = new WeakSet<Db>();

export const takeKeys = (db: Db) => lockKeys(db, sql`select pg_advisory_xact_lock(${keyLock})`);

async function lockKeys(db: Db, lock: ReturnType<typeof sql>): Promise<void> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) await lock.execute(db);
}
