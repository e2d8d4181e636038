/**
 * The few schema builders that the contract uses. They have the types of TypeBox, but an implementation of our own that
 * makes plain JSON Schema. Importing TypeBox would add 75 ms to every start of the server or of a command.
 */
import type { Type as TypeBox } from "typebox";

type Builders = Pick<
  typeof TypeBox,
  "Array" | "Boolean" | "Integer" | "Number" | "Object" | "Optional" | "Record" | "String" | "Unknown" | "Unsafe"
>;

/** Key that marks a property as optional. It is a symbol, so that JSON.stringify leaves it out of the schema. */
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
