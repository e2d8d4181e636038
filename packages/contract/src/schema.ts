/** Building blocks of all schemas in the contract. */
import type { Static, TSchema } from "typebox";
import { Type } from "./type.ts";

/**
 * Type of a schema that also allows null. The schema has a list of types, such as `["string", "null"]`, because a union
 * would be slower to compile and harder to read.
 */
type Nullable<T> = TSchema & { "~static-nullable": T };

/** Makes a schema nullable. The result is `T | null` in TypeScript and `type: [x, "null"]` in JSON Schema. */
export function nullable<S extends TSchema>(schema: S) {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] };
  const list = values === undefined ? {} : { enum: [...values, null] };
  return Type.Unsafe<Static<S> | null>({ ...rest, ...list, type: [type, "null"] } as unknown as Nullable<Static<S>>);
}

/** Makes a field optional and nullable. In every request body, null means the same as an absent field. */
export const maybe = <S extends TSchema>(schema: S) => Type.Optional(nullable(schema));

export const oneOf = <const V extends readonly string[]>(values: V, options: object = {}) =>
  Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });

export const Uuid = Type.String({
  pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
  description: "a UUID",
});
export const Timestamp = Type.String({ format: "date-time", description: "ISO 8601 date-time, UTC" });
export const Timezone = Type.String({ maxLength: 64, description: "an IANA name such as Europe/Berlin" });
export const TeamName = Type.String({
  maxLength: 64,
  description: "name of the team; may be absent or empty if the token is limited to one team",
});
export const JobTag = Type.String({
  pattern: "^[A-Za-z0-9._:/-]{1,64}$",
  description: "1 to 64 characters: letters, digits and - _ . : /",
});
/**
 * Name of a user or a team, which is also part of paths. It must not contain a dot, because full dataset names, which
 * may begin with `@username`, are split at dots.
 */
export const Name = Type.String({
  pattern: "^[a-z0-9][a-z0-9_-]{0,38}$",
  description: "1 to 39 lower-case letters, digits, hyphens and underscores, beginning with a letter or digit",
});
export const Email = Type.String({
  maxLength: 254,
  pattern: "^([^@\\s\\x00-\\x1f\\x7f]+@[^@\\s\\x00-\\x1f\\x7f]+)?$",
  description: "an e-mail address, or empty",
});
export const AnyMap = Type.Record(Type.String(), Type.Unknown());

/**
 * Returns the schema of a text with a maximum length. If a text is too long, the error message gives the advice in
 * `instead`.
 */
export const boundedText = (maxLength: number, description: string, instead: string, options: object = {}) =>
  Type.String({ maxLength, description, "x-instead": instead, ...options });

/** Names of the fields that an item of a list does not show in full, because they are too long for a list. */
export const Cut = Type.Optional(
  Type.Array(Type.String(), {
    description:
      "fields that are too long for a list: texts are truncated, objects are empty, lists have only their first element. Read the single item to get the complete fields. In a single job: fields that were deleted after the retention period",
  }),
);

/** Response header of a list that may have another page. */
export const nextCursor = {
  "x-next-cursor": "Pass the value as `cursor` to get the next page. Even a short or empty page may have this header.",
};

/** Returns the schema of a secret in a request. Responses and errors never contain the secret. */
export const secretText = (maxLength: number, description: string) =>
  Type.String({ maxLength, description, writeOnly: true });

export const Days = Type.Integer({ minimum: 1, maximum: 3650 });

export const ActionFeedback = Type.Object({ message: Type.String() });
export type ActionFeedback = Static<typeof ActionFeedback>;
