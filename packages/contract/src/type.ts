/**
 * The few schema builders that the contract uses: they have the types of TypeBox, but our own implementation. Importing
 * TypeBox would add 75 ms to every start of the server or a command, and only plain JSON Schema is needed here.
 */
import type { Type as TypeBox } from "typebox";

type Builders = Pick<
  typeof TypeBox,
  "Array" | "Boolean" | "Integer" | "Number" | "Object" | "Optional" | "Record" | "String" | "Unknown" | "Unsafe"
>;

/** Marks a property as optional. It is a symbol, so that it does not appear in the serialized schema. */
const optional = Symbol("optional");

type Json = Record<PropertyKey, unknown>;

const builders = {
  Array: (items: Json, options?: object) => ({ type: "array", items, ...options }),
  Boolean: (options?: object) => ({ type: "boolean", ...options }),
  Integer: (options?: object) => ({ type: "integer", ...options }),
  Number: (options?: object) => ({ type: "number", ...options }),
  Object: (properties: Record<string, Json>, options?: object) => {
    const required = Object.keys(properties).filter((name) => !properties[name]?.[optional]);
    return { type: "object", ...(required.length > 0 ? { required } : {}), properties, ...options };
  },
  Optional: (schema: Json) => Object.defineProperty({ ...schema }, optional, { value: true }),
  Record: (_key: Json, value: Json, options?: object) => ({ type: "object", additionalProperties: value, ...options }),
  String: (options?: object) => ({ type: "string", ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: Json) => ({ ...schema }),
};

export const Type = builders as unknown as Builders;
