/**
 * Compiles the schema of a route at its first request. Compiling all of them took a third of a server's start, and most
 * servers use few of their routes.
 */
import { AjvCompiler } from "@fastify/ajv-compiler";
import type { FastifySchemaCompiler } from "fastify";

type Validate = ReturnType<FastifySchemaCompiler<unknown>>;

const ajv = {
  customOptions: {
    coerceTypes: false,
    useDefaults: false,
    removeAdditional: false,
    strict: false,
    // The error message needs the schema that was violated.
    verbose: true,
  },
};

export function lazySchemas(): FastifySchemaCompiler<unknown> {
  const compile = AjvCompiler()({}, ajv) as FastifySchemaCompiler<unknown>;
  return (route) => {
    let compiled: Validate | undefined;
    const validate: Validate = Object.assign(
      (value: unknown) => {
        compiled ??= compile(route);
        const met = compiled(value);
        validate.errors = compiled.errors ?? null;
        return met;
      },
      { errors: null },
    );
    return validate;
  };
}
