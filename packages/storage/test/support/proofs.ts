/** Tests that prove the effect of parameters: each names its parameters, and a table with an unproven one fails. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { membersBelow } from "../../src/configuration/members.ts";
import { type ParameterTable, parameterKeys } from "../../src/configuration/parameters.ts";

type Test = () => void | Promise<void>;

/** The options of dicts that have an effect, including those that are another source of a parameter. */
export function workingOptions(table: ParameterTable, ...dicts: string[]): string[] {
  const options = dicts.flatMap((dict) => membersBelow(table, dict).map((name) => `${dict}.${name}`));
  const isHeld = (key: string) => options.some((other) => other.startsWith(`${key}.`));
  const works = (key: string) => !["no-op", "rejected"].includes(table[key]?.effect ?? "native");
  return options.filter((key) => works(key) && !isHeld(key));
}

export function proofsOf<Table extends ParameterTable>(table: Table, keys: readonly string[] = parameterKeys(table)) {
  const unproven = new Set(keys);
  const known = new Set(keys);
  return {
    /** Registers a test whose title begins with the parameters; the test must fail if they are ignored. */
    proves(keys: string | readonly string[], rule: string, test: Test): void {
      const named = typeof keys === "string" ? [keys] : keys;
      for (const key of named) {
        assert.ok(known.has(key), `${key} is not to be proven`);
        unproven.delete(key);
      }
      it(`${named.join(", ")} ${rule}`, { timeout: 60_000 }, test);
    },
    /** Call this last. */
    provesAll(): void {
      it("every parameter has a test that proves it", () => assert.deepEqual([...unproven], []));
    },
  };
}
