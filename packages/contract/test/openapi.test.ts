import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCodes, fieldLimits, openapiDocument, processLimits, type Route, routes } from "@millrace/contract";

const all = Object.values(routes) as Route[];
const document = openapiDocument(all) as {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, unknown> };
};

interface Schema {
  readonly type?: string | string[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly enum?: unknown[];
  readonly format?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Record<string, Schema>;
  readonly "x-max-bytes"?: number;
  readonly "x-instead"?: string;
}

describe("the OpenAPI document", () => {
  it("has version 3.1 and describes interface version 1.0.0", () => {
    assert.match(document.openapi, /^3\.1\./);
    assert.equal(document.info.version, "1.0.0");
  });

  it("has every route under its own id", () => {
    const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((o) => o.operationId));
    assert.deepEqual(ids.sort(), Object.keys(routes).sort());
    for (const [id, route] of Object.entries(routes)) assert.equal(route.id, id);
  });

  it("resolves every reference within itself", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      (m) => m[1] ?? "",
    );
    assert.ok(references.length > 10);
    for (const name of references) assert.ok(name in document.components.schemas, name);
  });

  it("has a limit for every string and every list of a request", () => {
    const unlimited: string[] = [];
    const look = (schema: Schema, path: string): void => {
      const types = [schema.type].flat();
      const isBounded = [schema.maxLength, schema.pattern, schema.enum, schema.format].some((x) => x !== undefined);
      if (types.includes("string") && !isBounded) unlimited.push(path);
      if (types.includes("array") && schema.maxItems === undefined) unlimited.push(`${path}[]`);
      if (schema.items) look(schema.items, `${path}[]`);
      if (schema.additionalProperties) look(schema.additionalProperties, `${path}.*`);
      for (const [name, field] of Object.entries(schema.properties ?? {})) look(field, `${path}.${name}`);
    };
    for (const route of all)
      for (const schema of [route.body, route.query]) if (schema) look(schema as Schema, route.id);
    assert.deepEqual(unlimited, []);
  });

  it("describes how large fields may be, and what to do instead", () => {
    const { properties } = document.components.schemas["JobInput"] as { properties: Record<string, Schema> };
    assert.equal(properties["query"]?.maxLength, fieldLimits.query);
    assert.equal(properties["params"]?.["x-max-bytes"], processLimits.params);
    assert.match(properties["environment"]?.["x-instead"] ?? "", /file/);
  });

  it("lists 401 for every route that needs a token, and for no other", () => {
    for (const route of all) {
      const operation = document.paths[route.path]?.[route.method.toLowerCase()];
      assert.equal("401" in (operation?.responses ?? {}), route.access.kind !== "public", route.id);
    }
  });
});

it("every error code has a suitable status and a meaning", () => {
  for (const [code, { status, meaning }] of Object.entries(errorCodes)) {
    assert.ok(status >= 400 && status < 600, code);
    assert.ok(meaning.endsWith("."), code);
  }
});
