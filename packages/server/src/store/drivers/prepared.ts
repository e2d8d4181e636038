/** Queries that are compiled once, because compiling a query takes several times as long as running it. */
import { type Compilable, CompiledQuery } from "kysely";
import type { Db } from "./store.ts";

/** Marks the position of a parameter in the compiled query. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

type Run = (sql: string, parameters: readonly unknown[]) => { rows: unknown[]; affected: bigint };

const direct = new WeakMap<Db, Run>();

/** Registers a function that runs SQL on this store directly, bypassing the query builder. */
export const runDirectly = (db: Db, run: Run) => void direct.set(db, run);

interface Template {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export interface PreparedResult<Row> {
  readonly rows: Row[];
  /** Number of rows that an update or delete changed. */
  readonly affected: bigint;
}

/**
 * Compiles a query once, at its first use. Returns a function that takes the database and the values, and runs the
 * query. The shape of the query must not depend on the values. For example:
 * `prepared<{ id: string }>()((db, value) => db.selectFrom("jobs").selectAll().where("id", "=", value("id")))`
 */
export function prepared<Values extends object>() {
  return <Row>(
    build: (db: Db, value: <Name extends keyof Values & string>(name: Name) => Values[Name]) => Compilable<Row>,
  ) => {
    // One template per SQL dialect, because tests open stores of both dialects in one process.
    const templates = new WeakMap<object, Template>();
    return async (db: Db, values: Values): Promise<PreparedResult<Row>> => {
      const dialect = db.getExecutor().adapter;
      let template = templates.get(dialect);
      if (!template) {
        template = build(db, (name) => new Placeholder(name) as never).compile();
        templates.set(dialect, template);
      }
      const parameters = template.parameters.map((p) =>
        p instanceof Placeholder ? values[p.name as keyof Values] : p,
      );
      const run = direct.get(db);
      if (run) return run(template.sql, parameters) as PreparedResult<Row>;
      const { rows, numAffectedRows } = await db.executeQuery<Row>(CompiledQuery.raw(template.sql, parameters));
      return { rows, affected: numAffectedRows ?? 0n };
    };
  };
}
