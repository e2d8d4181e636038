/** Parses answers of a store. Any parse error becomes an error that says that the answer is malformed. */
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

export function parseAnswer<T>(place: ErrorPlace, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const message = `${describePlace(place)}: cannot parse the store's answer: ${(error as Error).message}`;
    throw new StorageError("failed", message, { ...place, cause: error });
  }
}

/** Parses a JSON answer. Throws if the JSON is neither an object nor a list, because stores send nothing else. */
export async function parseJson<T>(answer: HttpAnswer, place: ErrorPlace): Promise<T> {
  const text = await answer.text();
  return parseAnswer(place, () => {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) throw new Error("expected a JSON object or list");
    return value as T;
  });
}
