/** Queries whose text is built once: building one costs several times what running it does. */
import { type Compilable, CompiledQuery } from "kysely";
import type { Db } from "./store.ts";

/** Stands in the built query where a value will be. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

type Run = (sql: string, parameters: readonly unknown[]) => { rows: unknown[]; affected: bigint };

const direct = new WeakMap<Db, Run>();

/** A store that can run a statement at once, without the query builder's way round, says so here. */
export const runDirectly = (db: Db, run: Run) => void direct.set(db, run);

interface Template {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export interface PreparedResult<Row> {
  readonly rows: Row[];
  /** Of an update or delete. */
  readonly affected: bigint;
}

/**
 * `prepared<{ id: string }>()((db, value) => db.selectFrom("jobs").selectAll().where("id", "=", value("id")))` gives a
 * function of the database and `{ id }`. The shape of the query must not depend on the values.
 */
export function prepared<Values extends object>() {
  return <Row>(
    build: (db: Db, value: <Name extends keyof Values & string>(name: Name) => Values[Name]) => Compilable<Row>,
  ) => {
    // Two stores in one process, as in tests, have two dialects; their texts differ.
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
