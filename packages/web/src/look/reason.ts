/** Reasons that the server gives, as people read them. */

/** Leaves out the ids of jobs, which the server names beside their names: the page has a link to the job instead. */
export const withoutIds = (text: string) => text.replaceAll(/ \(job [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)/g, "");

const beforeTail = "Its log ends with: ";

/** Splits a reason into its sentence and the last lines of the log that it quotes; without those, `tail` is empty. */
export function splitReason(text: string): { readonly sentence: string; readonly tail: string } {
  const at = text.indexOf(beforeTail);
  if (at === -1) return { sentence: text, tail: "" };
  const end = at + beforeTail.length;
  return { sentence: text.slice(0, end).trimEnd(), tail: text.slice(end) };
}

/** The most telling line of a reason: the last line of the log that it quotes, or its beginning. */
export function reasonLine(text: string): string {
  const { sentence, tail } = splitReason(withoutIds(text));
  const last = tail.split("\n").findLast((line) => line.trim() !== "");
  return last?.trim() ?? sentence.split("\n")[0] ?? "";
}
