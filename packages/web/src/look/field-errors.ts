/** Errors of the server that name a field, such as `cron_expression: expected five cron fields`. */
import { ApiError } from "@millrace/contract";

function split(error: unknown): readonly [string, string] | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const [, field, reason] = /^(?:body\/|query\/)?(\w+): ([\s\S]+)$/.exec(error.message) ?? [];
  if (field === undefined || reason === undefined) return undefined;
  return [field, reason.charAt(0).toUpperCase() + reason.slice(1)];
}

/** Returns the name of the field that an error is about; undefined if it is about something else. */
export const fieldOf = (error: unknown): string | undefined => split(error)?.[0];

/** Returns what is wrong with a field; undefined if the error is about something else. */
export function errorOf(error: unknown, field: string): string | undefined {
  const [named, reason] = split(error) ?? [];
  return named === field ? reason : undefined;
}

/** Returns the error unless it is shown beside one of these fields. */
export const otherError = (error: unknown, fields: readonly string[]): unknown =>
  fields.some((field) => errorOf(error, field) !== undefined) ? undefined : error;
