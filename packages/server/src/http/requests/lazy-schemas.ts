/**
 * Compiles the schema of a route when the route is first asked. Compiling them all took a third of a server's start, and
 * most servers are asked for few of their routes.
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
    // A refusal tells the schema that was not met.
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
