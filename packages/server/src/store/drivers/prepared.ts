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
 * Like `prepared`, for a query that has several shapes, such as the columns that it sets. Each shape is compiled once, so
 * a shape contains no values: callers use few shapes.
 */
export function preparedByShape<Shape, Values extends object>() {
  return <Row>(
    build: (
      db: Db,
      value: <Name extends keyof Values & string>(name: Name) => Values[Name],
      shape: Shape,
    ) => Compilable<Row>,
  ) => {
    const compiled = new Map<string, (db: Db, values: Values) => Promise<PreparedResult<Row>>>();
    return (db: Db, shape: Shape, values: Values): Promise<PreparedResult<Row>> => {
      const key = JSON.stringify(shape);
      let run = compiled.get(key);
      if (!run) {
        run = prepared<Values>()((db, value) => build(db, value, shape));
        compiled.set(key, run);
      }
      return run(db, values);
    };
  };
}

/** Returns the names of the columns that a row or a change sets, for the shape of a query. */
export const columnsOf = (values: object): string[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : name));

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
