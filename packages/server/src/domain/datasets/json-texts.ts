/** JSON that came from a team's warehouse and is answered as it came, digit by digit, if it is JSON at all. */
import { replaceBareNumbers } from "@millrace/contract";

const usual = (text: string | null, opening: "{" | "["): string | undefined => {
  if (text === null) return undefined;
  const json = replaceBareNumbers(text, () => "null").trim();
  try {
    // Read only to see that it can be: what it says is not looked at.
    JSON.parse(json);
    return json.startsWith(opening) ? json : undefined;
  } catch {
    return undefined;
  }
};

/** Anything else than an object is an empty one: a script can have written what it likes. */
export const objectText = (text: string | null): string => usual(text, "{") ?? "{}";

export const arrayText = (text: string | null): string | undefined => usual(text, "[");
