/** The output of `explainConfig()`: every parameter with its value and source, with secrets masked. */
import { type ExplainedParameter, type FoundValue, type ParameterTable, typesOf } from "./parameters.ts";

export function explainParameters(table: ParameterTable, found: ReadonlyMap<string, FoundValue>): ExplainedParameter[] {
  // A rejected parameter never has a value.
  const taken = Object.entries(table).filter(([, { effect }]) => effect !== "rejected");
  return taken.map(([key, parameter]) => ({
    key,
    value: masked(table, key, found.get(key)?.value ?? parameter.default),
    source: found.get(key)?.source ?? "default",
    effect: parameter.effect,
    reason: parameter.reason,
    help: parameter.help,
  }));
}

const mask = "********";

function masked(table: ParameterTable, key: string, value: unknown): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (isSecret(table, key)) return mask;
  if (typeof value === "function") return "(a function)";
  if (typeof value === "string") return withoutPassword(value);
  if (typeof value !== "object") return value;
  if (!isPlain(value) || isObject(table, key)) return "(an object)";
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, masked(table, `${key}.${name}`, member)]),
  );
}

/**
 * A key is secret if its own row says so, if its dict lists it in `secretMembers`, or if it is a source of a secret
 * parameter.
 */
function isSecret(table: ParameterTable, key: string): boolean {
  if (table[key]?.secret) return true;
  const dot = key.lastIndexOf(".");
  if (table[key.slice(0, dot)]?.secretMembers?.includes(key.slice(dot + 1))) return true;
  return Object.values(table).some((parameter) => parameter.secret && parameter.sources?.includes(key));
}

/**
 * Whether the value is an object that a program made, such as a client. The content of these objects is never shown.
 */
function isObject(table: ParameterTable, key: string): boolean {
  const parameter = table[key];
  return parameter !== undefined && typesOf(parameter).includes("object");
}

const isPlain = (value: object) => Object.getPrototypeOf(value) === Object.prototype;

/**
 * Matches the user and password of a URL, with or without a scheme, up to the last @, because a password may contain an
 * @. Does not take a port for a password.
 */
const password = /((?:^|:\/\/)[^\s/?#@:]*:)(?!\/\/|\d+[/?#])\S*@/g;

const withoutPassword = (text: string) => text.replace(password, `$1${mask}@`);
