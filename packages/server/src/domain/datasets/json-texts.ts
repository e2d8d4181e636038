/** Passes JSON from a team's warehouse through to the API unchanged, so that large numbers keep all digits. */
import { replaceBareNumbers } from "@millrace/contract";

/**
 * Returns the text as standard JSON, with null for NaN and Infinity. Returns undefined unless it is valid and begins
 * with `opening`.
 */
const usual = (text: string | null, opening: "{" | "["): string | undefined => {
  if (text === null) return undefined;
  const json = replaceBareNumbers(text, () => "null").trim();
  try {
    // Parsed only to check the syntax.
    JSON.parse(json);
    return json.startsWith(opening) ? json : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Returns the JSON of an object; an empty object if the text is anything else, since scripts can write any text into
 * the warehouse.
 */
export const objectText = (text: string | null): string => usual(text, "{") ?? "{}";

/** Returns the JSON of an array; undefined if the text is anything else. */
export const arrayText = (text: string | null): string | undefined => usual(text, "[");
