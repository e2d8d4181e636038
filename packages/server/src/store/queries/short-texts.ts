/** Shortens texts for lists, so that long ones are not read from the store. */
import { answerLimits } from "@millrace/contract";
import { sql } from "kysely";

/** SQL for the text, or null if it is too long for a list. */
export const ifShort = (column: string, most: number = answerLimits.listed) =>
  sql<string | null>`case when octet_length(${sql.ref(column)}) <= ${sql.lit(most)} then ${sql.ref(column)} end`;

/**
 * SQL for the beginning of a text. It has one character more than a list shows, so that the caller can tell whether the
 * text was cut.
 */
export const beginning = <Text extends string | null = string>(column: string, most: number = answerLimits.listed) =>
  sql<Text>`substr(${sql.ref(column)}, 1, ${sql.lit(most + 1)})`;

/** Shortens a text to what lists show, without cutting a surrogate pair in two. */
export function beginningOf(text: string, most: number = answerLimits.listed): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
