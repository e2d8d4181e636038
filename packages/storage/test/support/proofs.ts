/** Tests that prove what parameters do: each names those that it proves, and a table with an unproven one fails. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type ParameterTable, parameterKeys } from "../../src/configuration/parameters.ts";

type Test = () => void | Promise<void>;

export function proofsOf<Table extends ParameterTable>(table: Table) {
  const unproven = new Set(parameterKeys(table));
  return {
    /** A test whose title begins with the parameters; it must fail if they were ignored. */
    proves(keys: (keyof Table & string) | readonly (keyof Table & string)[], rule: string, test: Test): void {
      const named = typeof keys === "string" ? [keys] : keys;
      for (const key of named) unproven.delete(key);
      it(`${named.join(", ")} ${rule}`, { timeout: 60_000 }, test);
    },
    /** To be called last. */
    provesAll(): void {
      it("every parameter has a test that proves it", () => assert.deepEqual([...unproven], []));
    },
  };
}
