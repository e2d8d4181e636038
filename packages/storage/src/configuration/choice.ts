/** Validates an option that must be one of several words, because callers without TypeScript may pass anything. */
import { StorageError } from "../errors.ts";
import { suggest } from "./suggestion.ts";

export function checkChoice<Choice extends string>(option: string, given: unknown, choices: readonly Choice[]): Choice {
  const choice = choices.find((known) => known === given);
  if (choice !== undefined) return choice;
  const hint = suggest(String(given), choices);
  const message = `${option}: expected one of ${choices.join(", ")}, got ${JSON.stringify(given)}${hint}`;
  throw new StorageError("invalid", message);
}
