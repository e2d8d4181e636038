/** Rules for every route: the tests walk all routes, each with a valid request about existing objects. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Access, openapiDocument, type Route, routes } from "@millrace/contract";
import { decode } from "@msgpack/msgpack";
import { pino } from "pino";
import { readConfig } from "../../src/configuration/config.ts";
import { buildApp } from "../../src/http/app.ts";
import type { HttpContext } from "../../src/http/requests/context.ts";
import { siteOf } from "../../src/http/requests/site.ts";
import { Changes } from "../../src/turns/changes.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { runningJob } from "../support/job-tokens.ts";
import { addPerson, type Person } from "../support/people.ts";
import {
  callRoute,
  type Fixture,
  makeFixture,
  makeStranger,
  mark,
  runnerSecret,
  sourceFolder,
  upgradeStatus,
} from "../support/walk.ts";

const all = Object.values(routes) as Route[];
const closed = all.filter((route) => route.access.kind !== "public");
const scopeOf = ({ access }: Route) => ("scope" in access ? access.scope : undefined);
const isForRunners = ({ access }: Route) => access.kind === "runner";

describe("every route", () => {
  let server: InProcessServer;
  let alpha: Fixture;
  let stranger: Person & { team: string };
  let changes: number;
  before(async () => {
    server = await startInProcess({ MILLRACE_JOB_PATHS: sourceFolder, MILLRACE_SMTP_URL: "smtp://127.0.0.1:9" });
    alpha = await makeFixture(server);
    stranger = await makeStranger(server);
    changes = await changesOf(alpha.team);
  });
  after(() => server.dispose());

  /** Audit rows of a team: if every request is refused, there are none. */
  async function changesOf(team: string): Promise<number> {
    const { id } = await server.store.db
      .selectFrom("teams")
      .select("id")
      .where("name", "=", team)
      .executeTakeFirstOrThrow();
    return (await server.store.db.selectFrom("audit").select("id").where("team_id", "=", id).execute()).length;
  }

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

  describe("without a valid token", () => {
    const bad: Record<string, string | null> = { "no token": null, "a wrong token": "isat_wrong" };
    before(async () => {
      const revoked = await server.token();
      assert.equal((await server.fetch("/api/device-logout", { method: "POST", token: revoked })).status, 200);
      const expired = await server.token({ expiresInDays: 1 });
      const past = "2020-01-01T00:00:00.000Z";
      await server.store.write((db) =>
        db.updateTable("tokens").set({ expires_at: past }).where("expires_at", "is not", null).execute(),
      );
      const disabled = await addPerson(server, "disabled", { team: alpha.team, role: "admin" });
      const params = { username: "disabled" };
      await (await server.client()).call(routes.updateUser, { params, body: { disabled: true } });
      const over = await runningJob(alpha.admin.client);
      await over.end();
      changes = await changesOf(alpha.team);
      Object.assign(bad, {
        "a job's token after its end": over.token,
        "a revoked token": revoked,
        "an expired token": expired,
        "a token of a disabled user": disabled.token,
      });
    });

    for (const route of closed)
      it(`${route.id} answers 401`, async () => {
        assert.equal(Object.keys(bad).length, 6);
        for (const [what, token] of Object.entries(bad)) {
          const response = await callRoute(server, route, token, alpha.known);
          assert.equal(response.status, 401, what);
          assertErrorShape(await readBody(response), "unauthorized");
          if (!route.socket) continue;
          const headers = token === null ? {} : { authorization: `Bearer ${token}` };
          assert.equal(await upgradeStatus(server.url + route.path, headers), 401, `${what}, as a socket`);
        }
      });
  });

  for (const route of closed.filter(scopeOf))
    it(`${route.id} answers 403 to a token without its scope`, async () => {
      const other = scopeOf(route)?.startsWith("DATASETS") ? "JOB" : "DATASETS";
      const user = route.access.kind === "admin" ? "admin" : alpha.admin.username;
      const response = await callRoute(server, route, await server.token({ user, scopes: [other] }), alpha.known);
      assert.equal(response.status, 403, await response.text());
    });

  for (const route of closed.filter((r) => scopeOf(r)?.endsWith(":write")))
    it(`${route.id} answers 403 to a token that may only read`, async () => {
      const user = route.access.kind === "admin" ? "admin" : alpha.admin.username;
      const scopes = [String(scopeOf(route)).replace(":write", ":read")];
      const response = await callRoute(server, route, await server.token({ user, scopes }), alpha.known);
      assert.equal(response.status, 403, await response.text());
    });

  describe("called by somebody of another team", () => {
    const ask = async (route: Route, known: object) => {
      // A new token for each call, because one of the routes revokes it.
      const token = await server.token({ user: stranger.username });
      const response = await callRoute(server, route, token, { ...alpha.knownToStrangers, ...known });
      const text = await response.text();
      assert.ok(response.status < 500, text);
      const told = text.replaceAll(
        /Not authorized for the team \S+|There is no (dataset |user )?\S+|No login waits for the code \S+/g,
        "",
      );
      assert.ok(!told.includes(mark), `${route.id} tells a stranger: ${text}`);
      return response.status;
    };
    /** Routes that are about the caller alone, whatever else is sent. */
    const isAboutOneself = (route: Route) =>
      route.access.kind === "signed-in" && !/\{|user_code|code|team_name|username/.test(inputsOf(route));

    for (const route of closed.filter((r) => !isAboutOneself(r) && !isForRunners(r)))
      it(`${route.id} refuses the other team`, async () => {
        const status = await ask(route, {});
        assert.ok([403, 404].includes(status), `${status}`);
        if (!route.socket) return;
        const query = new URLSearchParams({ team_name: alpha.team, job_id: String(alpha.known["job_id"]) });
        const headers = { authorization: `Bearer ${stranger.token}` };
        assert.equal(await upgradeStatus(`${server.url}${route.path}?${query}`, headers), 403);
      });

    for (const route of closed.filter(isAboutOneself))
      it(`${route.id} shows only the caller`, async () => void (await ask(route, {})));

    for (const route of closed.filter((r) => r.access.kind === "token"))
      it(`${route.id} finds nothing of the other team in the caller's own`, async () => {
        const own = { team_name: stranger.team, name: stranger.team };
        // Anyone who knows a username may add that user to their own team.
        const status = await ask(route, route.id === "addMember" ? { ...own, username: stranger.username } : own);
        assert.notEqual(status, 403, "an admin of the team may ask");
        const asksById = ["job_id", "schedule_id", "backfill_id"].some((id) => id in (route.query?.properties ?? {}));
        const hasId = /\{(?!team_name)/.test(route.path) || asksById;
        const emptyList = route.id === "listJobs" && status === 200;
        if (hasId && !route.socket && !emptyList) assert.equal(status, 404);
      });
  });

  for (const route of closed.filter(({ access }) => access.kind === "token" && access.role !== "viewer"))
    it(`${route.id} answers 403 to a viewer`, async () => {
      const response = await callRoute(server, route, alpha.viewer.token, alpha.known);
      assert.equal(response.status, 403, await response.text());
    });

  for (const route of closed.filter(({ access }) => access.kind === "admin"))
    it(`${route.id} answers 403 to an admin of a team, and to an administrator's token that is limited to teams`, async () => {
      const limited = await server.token({ team: "main" });
      for (const token of [alpha.viewer.token, alpha.admin.token, limited]) {
        const response = await callRoute(server, route, token, alpha.known);
        assert.equal(response.status, 403, await response.text());
      }
    });

  for (const route of all.filter(isForRunners))
    it(`${route.id} answers 401 to everyone but the runner of the attempt`, async () => {
      const other = await runnerSecret(server, route, "another.1");
      for (const token of [await server.token(), alpha.admin.token, other]) {
        const response = await callRoute(server, route, token, alpha.known);
        assert.equal(response.status, 401, await response.text());
      }
    });

  it("changes nothing when it is refused", async () => {
    assert.equal(await changesOf(alpha.team), changes);
  });

  it("that is for people is refused to the token of a running job", async () => {
    const { token, end } = await runningJob(alpha.admin.client);
    for (const route of closed.filter(
      ({ access }) => access.kind === "admin" || ("people" in access && access.people),
    )) {
      const response = await callRoute(server, route, token, alpha.known);
      assert.equal(response.status, 403, `${route.id} ${await response.text()}`);
    }
    await end();
  });

  for (const [index, route] of closed.entries())
    it(`${route.id} accepts an authorized caller with a documented answer, so the requests above were valid`, async () => {
      const own = await makeFixture(server, `-${index}`);
      const token = await tokenFor(route, own);
      // Uses the caller's own tokens: those of others are for administrators.
      const whose = route.id === "listTokens" ? { username: own.admin.username } : {};
      const response = await callRoute(server, route, token, { ...own.known, ...whose });
      const text = await response.text();
      // A conflict is an answer to a valid request; a socket needs an upgrade.
      if (route.socket) assert.equal(response.status, 400, text);
      else assert.ok(response.status === 200 || response.status === 409, `${response.status} ${text}`);
      assert.ok(response.status in responsesOf(route), `${response.status} is not described`);
    });

  async function tokenFor(route: Route, { admin, known }: Fixture): Promise<string> {
    if (isForRunners(route)) return runnerSecret(server, route, String(known["key"]));
    return route.access.kind === "admin" ? server.token() : admin.token;
  }

  it("that grants rights, or changes users, teams, passwords, schedules or backfills, is for people and not for jobs", () => {
    const givesRights = ({ method, access, tag }: Route) =>
      method !== "GET" &&
      (access.kind === "signed-in" ||
        tag === "Schedules" ||
        tag === "Backfills" ||
        (access.kind === "token" && access.scope === "ADMIN:write"));
    const some = closed.filter(givesRights);
    assert.ok(some.length > 10);
    for (const { id, access } of some) assert.ok("people" in access && access.people, id);
  });

  describe("that is a page", () => {
    let pages: Registered[];
    before(async () => {
      pages = (await registeredRoutes()).filter(({ routeId }) => routeId === undefined);
    });
    const visit = ({ method, url }: Registered, headers: Record<string, string>) => {
      const path = url.replace(":team", alpha.team).replace(":id", String(alpha.known["job_id"]));
      const form = { "content-type": "application/x-www-form-urlencoded" };
      const body =
        method === "POST" ? { body: "answer=approve&change=profile", headers: { ...form, ...headers } } : { headers };
      return server.fetch(path, { method, token: null, redirect: "manual", ...body });
    };

    it("redirects to the sign-in unless it is public, and shows nothing of anybody", async () => {
      const closedPages = pages.filter(({ access }) => access?.kind !== "public");
      assert.ok(closedPages.length >= 6);
      for (const page of closedPages) {
        const response = await visit(page, { origin: server.url });
        assert.equal(response.status, 401, `${page.method} ${page.url}`);
        const text = await response.text();
        assert.match(text, /<h1>Sign in<\/h1>/);
        assert.ok(!text.replace(/name="next" value="[^"]*"/, "").includes(mark));
      }
    });

    it("accepts forms from its own site only", async () => {
      const forms = pages.filter(({ method }) => method === "POST");
      assert.ok(forms.length >= 5);
      for (const page of forms)
        for (const headers of [{ origin: "https://elsewhere.example" }, { "sec-fetch-site": "cross-site" }, {}])
          assert.equal((await visit(page, headers as Record<string, string>)).status, 403, page.url);
    });
  });

  it("answers with and without a slash at the end, without a redirect", async () => {
    for (const path of [
      "/api/datachain/jobs",
      "/api/datachain/jobs/",
      "/api/datachain/clusters",
      "/api/datachain/clusters/",
    ]) {
      assert.equal((await server.fetch(`${path}?team_name=main`, { redirect: "manual" })).status, 200, path);
    }
  });

  it("accepts `Authorization: token` as well as `Bearer`", async () => {
    const token = await server.token();
    for (const scheme of ["token", "Token", "Bearer", "bearer"]) {
      const response = await server.fetch("/api/whoami", {
        token: null,
        headers: { authorization: `${scheme} ${token}` },
      });
      assert.equal(response.status, 200, scheme);
    }
  });

  it("answers an unknown page with a page for a browser and with JSON for other clients", async () => {
    const ask = async (path: string, init: RequestInit & { accept: string }) => {
      const response = await fetch(server.url + path, { ...init, headers: { accept: init.accept } });
      return { status: response.status, type: response.headers.get("content-type") ?? "", text: await response.text() };
    };
    const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const page = await ask("/teams/%3Cb%3Enowhere?token=concealed", { accept: browser });
    assert.deepEqual([page.status, page.type], [404, "text/html; charset=utf-8"]);
    assert.match(page.text, /<h1>There is no such page<\/h1>[\s\S]*<a href="\/">/);
    assert.doesNotMatch(page.text, /<b>nowhere|concealed/);
    const others: [string, RequestInit & { accept: string }][] = [
      ["/nowhere", { accept: "*/*" }],
      ["/nowhere", { accept: "application/json" }],
      ["/nowhere", { accept: browser, method: "POST", body: "x" }],
      ["/api/nowhere", { accept: browser }],
      ["/api", { accept: browser }],
    ];
    for (const [path, init] of others) {
      const { status, text } = await ask(path, init);
      assert.equal(status, 404, path);
      assertErrorShape(JSON.parse(text), "not_found");
    }
  });

  it("answers an unknown path in the standard error format", async () => {
    const response = await server.fetch("/api/nothing");
    assert.equal(response.status, 404);
    assertErrorShape(await response.json(), "not_found");
  });
});

/** Responses of the OpenAPI document, by status. */
function responsesOf(route: Route): object {
  const { paths } = openapiDocument([route]) as { paths: Record<string, Record<string, { responses: object }>> };
  return paths[route.path]?.[route.method.toLowerCase()]?.responses ?? {};
}

/** The names of all parameters of a route. */
function inputsOf({ path, query, body }: Route): string {
  const schemas = [query, body as Route["query"]];
  return [path, ...schemas.flatMap((schema) => Object.keys(schema?.properties ?? {}))].join(" ");
}

async function readBody(response: Response): Promise<unknown> {
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return isJson ? response.json() : decode(await response.arrayBuffer());
}

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

/** Builds the app again and records its registrations; nothing else of the context is used before a request. */
async function registeredRoutes(): Promise<Registered[]> {
  const seen: Registered[] = [];
  const context = {
    ...readConfig({}, {}),
    limits: {},
    changes: new Changes(),
    site: siteOf(""),
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
