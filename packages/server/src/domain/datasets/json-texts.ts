/** Passes JSON from a team's warehouse through to the API unchanged, so that large numbers keep all digits. */
import { replaceBareNumbers } from "@millrace/contract";

/**
 * Returns the text as standard JSON, with null for NaN and Infinity. Returns undefined if the text is not valid JSON,
 * or does not begin with `opening`.
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
 * Returns the text if it is a JSON object, otherwise `{}`. The check is needed because scripts can write any text into
 * the warehouse.
 */
export const objectText = (text: string | null): string => usual(text, "{") ?? "{}";

/** Returns the text if it is a JSON array, otherwise undefined. */
export const arrayText = (text: string | null): string | undefined => usual(text, "[");
