/** Rules that hold for every route: checked by walking them all. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Access, type Route, routes } from "@millrace/contract";
import { pino } from "pino";
import { buildApp } from "../src/http/app.ts";
import type { HttpContext } from "../src/http/context.ts";
import { type InProcessServer, startInProcess } from "./support/in-process.ts";

const all = Object.values(routes) as Route[];

describe("every route", () => {
  let server: InProcessServer;
  before(async () => {
    server = await startInProcess();
  });
  after(() => server.dispose());

  const call = (route: Route, token: string | null) => {
    const path = route.path.replace("{job_id}", "01900000-0000-7000-8000-000000000000");
    const body = route.upload ? {} : { body: "{}", headers: { "content-type": "application/json" } };
    return server.fetch(path, { method: route.method, token, ...(route.method === "GET" ? {} : body) });
  };

  it("that is registered declares who may call it, and is in the OpenAPI document or is a page", async () => {
    const registered = await registeredRoutes();
    assert.ok(registered.length > all.length);
    for (const { url, access } of registered) assert.ok(access, `${url} declares no access`);
    const api = registered
      .filter((r) => r.routeId !== undefined)
      .map((r) => `${r.method} ${r.url.replace(/:(\w+)/g, "{$1}")}`);
    const document = (await (await server.fetch("/api/openapi.json")).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((m) => `${m.toUpperCase()} ${path}`),
    );
    assert.deepEqual(api.sort(), described.sort());
  });

  for (const route of all.filter((r) => r.access.kind !== "public")) {
    it(`${route.id} answers 401 without a token, with a wrong and with a revoked one`, async () => {
      const revoked = await server.token();
      assert.equal((await server.fetch("/api/device-logout", { method: "POST", token: revoked })).status, 200);
      for (const token of [null, "isat_wrong", revoked]) {
        const response = await call(route, token);
        assert.equal(response.status, 401);
        assertErrorShape(await response.json(), "unauthorized");
      }
    });
  }

  for (const route of all.filter((r) => r.access.kind === "token")) {
    it(`${route.id} answers 403 to a token without its scope`, async () => {
      const access = route.access as Access & { kind: "token" };
      const other = access.scope.startsWith("DATASETS") ? "ADMIN" : "DATASETS";
      const response = await call(route, await server.token({ scopes: [other] }));
      const text = await response.text();
      // Bad input may be seen before the team is known, never before the token is.
      if (response.status !== 422) assert.equal(response.status, 403, text);
    });
  }

  it("answers with and without a slash at the end, without a redirect", async () => {
    for (const path of [
      "/api/datachain/jobs",
      "/api/datachain/jobs/",
      "/api/datachain/clusters",
      "/api/datachain/clusters/",
    ]) {
      assert.equal((await server.fetch(path, { redirect: "manual" })).status, 200, path);
    }
  });

  it("takes `Authorization: token` as well as `Bearer`", async () => {
    const token = await server.token();
    for (const scheme of ["token", "Token", "Bearer", "bearer"]) {
      const response = await server.fetch("/api/whoami", {
        token: null,
        headers: { authorization: `${scheme} ${token}` },
      });
      assert.equal(response.status, 200, scheme);
    }
  });

  it("refuses what is not there in the one shape of errors", async () => {
    const response = await server.fetch("/api/nothing");
    assert.equal(response.status, 404);
    assertErrorShape(await response.json(), "not_found");
  });
});

function assertErrorShape(body: unknown, code: string): void {
  const error = body as { message: string; detail: string; code: string };
  assert.equal(error.code, code);
  assert.equal(typeof error.message, "string");
  assert.equal(error.detail, error.message);
}

interface Registered {
  method: string;
  url: string;
  access: Access | undefined;
  routeId: string | undefined;
}

/** Builds the app once more with an ear on its registrations; nothing of the context is used before a request. */
async function registeredRoutes(): Promise<Registered[]> {
  const seen: Registered[] = [];
  const context = {
    config: { bodyLimit: 1024, uploadLimit: 1024, trustProxy: [] },
    limits: {},
    log: pino({ level: "silent" }),
  } as unknown as HttpContext;
  const app = await buildApp(context, (route) => {
    for (const method of [route.method].flat()) {
      if (method !== "HEAD")
        seen.push({
          method: String(method),
          url: route.url,
          access: route.config?.access,
          routeId: route.config?.routeId,
        });
    }
  });
  await app.close();
  return seen;
}
