/** Errors of the server that name a field, such as `cron_expression: expected five cron fields`. */
import { ApiError } from "@millrace/contract";

/** Returns what is wrong with a field; undefined if the error is about something else. */
export function errorOf(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const [, named, reason] = /^(?:body\/|query\/)?(\w+): ([\s\S]+)$/.exec(error.message) ?? [];
  if (named !== field || reason === undefined) return undefined;
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

/** Returns the error unless it is shown beside one of these fields. */
export const otherError = (error: unknown, fields: readonly string[]): unknown =>
  fields.some((field) => errorOf(error, field) !== undefined) ? undefined : error;
