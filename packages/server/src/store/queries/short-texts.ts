/** Texts as lists read and show them: what is long stays in the store. */
import { answerLimits } from "@millrace/contract";
import { sql } from "kysely";

/** The whole text, or null where it is too long for a list. */
export const ifShort = (column: string, most: number = answerLimits.listed) =>
  sql<string | null>`case when octet_length(${sql.ref(column)}) <= ${sql.lit(most)} then ${sql.ref(column)} end`;

/** The beginning, with one character more than a list shows where there is more. */
export const beginning = <Text extends string | null = string>(column: string, most: number = answerLimits.listed) =>
  sql<Text>`substr(${sql.ref(column)}, 1, ${sql.lit(most + 1)})`;

/** As much of a text as lists show: no character is cut in two. */
export function beginningOf(text: string, most: number = answerLimits.listed): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
