import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCodes, openapiDocument, type Route, routes } from "@millrace/contract";

const all = Object.values(routes) as Route[];
const document = openapiDocument(all) as {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, unknown> };
};

describe("the OpenAPI document", () => {
  it("is of version 3.1 and describes interface version 1.0.0", () => {
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

  it("says 401 of every route that needs a token, and of no other", () => {
    for (const route of all) {
      const operation = document.paths[route.path]?.[route.method.toLowerCase()];
      assert.equal("401" in (operation?.responses ?? {}), route.access.kind !== "public", route.id);
    }
  });
});

it("every error code has a status that tells whose fault it is, and a meaning", () => {
  for (const [code, { status, meaning }] of Object.entries(errorCodes)) {
    assert.ok(status >= 400 && status < 600, code);
    assert.ok(meaning.endsWith("."), code);
  }
});
