/**
 * Valid requests for every route of the contract, about real objects of one team, for the tests that walk all routes.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import { type Client, createClient, type Route, routes } from "@millrace/contract";
import { recordMade } from "@millrace/testing/millrace/lineage.ts";
import { packName } from "../../src/blobs/blob-names.ts";
import { putVersion } from "./datasets.ts";
import { blobsIn } from "./folder-blobs.ts";
import type { InProcessServer } from "./in-process.ts";
import { addPerson, addTeam, type Person } from "./people.ts";

/** Part of the name of everything that belongs to the team: nobody outside may ever read it. */
export const mark = "markedalpha";
/** A folder that jobs may use, so that it can be listed. */
export const sourceFolder = "/usr/share";
const password = "correct horse battery";

/** Values of fields by name: ids of real objects, values that pass every check. */
export type Known = Readonly<Record<string, unknown>>;

export interface Fixture {
  readonly team: string;
  readonly admin: Person;
  readonly viewer: Person;
  readonly known: Known;
  /** The same without codes that only a link or a screen shows, because knowing a code is a proof of access. */
  readonly knownToStrangers: Known;
}

/**
 * Creates a team with a job, a pipeline, a schedule, a backfill, a file, an invitation, a pending login, tokens and
 * members.
 */
export async function makeFixture(server: InProcessServer, suffix = ""): Promise<Fixture> {
  const team = `${mark}${suffix}`;
  await addTeam(server, team);
  const admin = await addPerson(server, `${team}-admin`, { team, role: "admin", password });
  const viewer = await addPerson(server, `${team}-viewer`, { team, role: "viewer" });
  const { client } = admin;
  const job = await client.call(routes.createJob, {
    body: { query: `echo ${mark}`, query_type: "SHELL", query_name: `${mark}.sh`, cron_expression: "@yearly" },
  });
  const file = await client.upload(routes.uploadFile, new Blob([mark]), `${mark}.txt`);
  const token = await client.call(routes.createToken, { body: { name: `${mark} token` } });
  const name = `walk${suffix || "er"}`;
  const set = { body: { team_name: team, name, values: { SETTING: mark } } };
  await client.call(routes.setTeamCredentials, set);
  await client.call(routes.setOwnCredentials, set);
  const made = {
    ...(await makeDataset(server, team, name)),
    ...(await makePipeline(server, client, job.id, name)),
  };
  const scheduled = await makeSchedule(client, made.pipeline_name);
  const backfilled = await makeBackfill(client, made.pipeline_name);
  const hooked = await makeWebhook(client);
  const service = await makeServiceAccount(client, team);
  const knownToStrangers: Known = {
    ...made,
    ...scheduled,
    ...backfilled,
    ...hooked,
    ...service,
    cluster_name: "local",
    shares_unisolated: true,
    team_name: team,
    team_names: [team],
    job_id: job.id,
    files: [String(file.id)],
    username: viewer.username,
    admin: viewer.username,
    token_id: String(token.id),
    invitation_id: "1",
    name,
    values: { SETTING: mark },
    query: "true",
    query_type: "SHELL",
    password,
    text: mark,
    code: "not-a-code",
    user_code: "AAAA-AAAA",
    ...ofRunners,
    key: `${job.id}.9`,
    ticket: "not-a-ticket",
  };
  const known = { ...knownToStrangers, current_password: password, ...(await secretsOf(client, team)) };
  return { team, admin, viewer, known, knownToStrangers: { ...knownToStrangers, invitation_id: known.invitation_id } };
}

/** A runner that has not heard its orders. */
const ofRunners = {
  ...{ instance: randomUUID(), orders: { cancel: false, force: false }, over_limit: null, usage: null },
  virtualenv: "e".repeat(40),
};

/** Creates an attempt for a runner, and returns the secret that it needs for this route. */
export async function runnerSecret({ runners, dataDir }: InProcessServer, route: Route, key: string): Promise<string> {
  const folder = runners.folder(key);
  const { virtualenv } = ofRunners;
  await blobsIn(dataDir).put(packName(1, null, virtualenv), Readable.from([Buffer.from(mark)]));
  folder.make();
  folder.write("job", `{"query":"${mark}"}`);
  folder.write("file.0", mark);
  folder.writeJson("packs", { team: 1, person: null });
  // The server answers a beat at once if there is an order.
  runners.order(key, { force: false });
  const code = runners.offer(key);
  return route === routes.runnerClaim ? code : runners.claim(key, { ...ofRunners, host: "node" }).token;
}

/** Creates a dataset with rows in the registry, but in no warehouse, and an export of it. */
async function makeDataset(server: InProcessServer, team: string, name: string) {
  const [namespace, project, version] = [`@${mark}`, "default", "1.0.0"];
  const teams = await server.store.db.selectFrom("teams").select("id").where("name", "=", team).execute();
  const teamId = teams[0]?.id ?? 0;
  const uuid = await putVersion(server.store, name, { namespace, project, version, teamId });
  const { id } = await server.store.db
    .selectFrom("dataset_versions")
    .select("id")
    .where("uuid", "=", uuid)
    .executeTakeFirstOrThrow();
  const export_id = randomUUID();
  const made = {
    status: "complete",
    num_files: 0,
    files_done: 0,
    error: null,
    created_at: new Date().toISOString(),
  } as const;
  await server.store.write((db) =>
    db
      .insertInto("exports")
      .values({ id: export_id, team_id: teamId, version_id: id, ...made })
      .execute(),
  );
  return {
    namespace,
    project,
    version,
    dataset: `${namespace}.${project}.${name}@${version}`,
    export_id,
    source: `file://${sourceFolder}`,
    uri: `file://${sourceFolder}`,
  };
}

/**
 * Registers the job as the creator of a dataset, so that a pipeline would rebuild it. It has the same name as
 * everything else here.
 */
async function makePipeline(server: InProcessServer, client: Client, jobId: string, name: string) {
  const job = server.store.db.selectFrom("jobs").select("team_id").where("id", "=", jobId);
  const { team_id: teamId } = await job.executeTakeFirstOrThrow();
  await recordMade(server.store, jobId, "walked", { namespace: "shared", teamId });
  const datasets = ["shared.default.walked"];
  const { pipeline_id } = (await client.call(routes.triggerPipeline, { body: { datasets, review: true } })).pipeline;
  await server.store.write((db) => db.updateTable("pipelines").set({ name }).where("id", "=", pipeline_id).execute());
  return { datasets, pipeline_id, pipeline_name: name };
}

/** Another one can be created under another name. */
async function makeSchedule(client: Client, pipeline_name: string) {
  const body = { schedule_name: `${mark} schedule`, pipeline_name, cron_expression: "@yearly" };
  const { schedule } = await client.call(routes.createSchedule, { body });
  const other = { schedule_name: `${mark} other schedule`, cron_expression: "@yearly", pause_pipeline: true };
  return { schedule_id: schedule.id, ...other };
}

/** A user to whom work can be handed over, with a token. */
async function makeServiceAccount(client: Client, team_name: string) {
  const params = { team_name };
  const { username } = await client.call(routes.createServiceAccount, { params, body: {} });
  const token = await client.call(routes.createServiceToken, { params, body: { token_name: `${mark} service` } });
  return { owner: username, service_token_id: String(token.id) };
}

/** Canceled at once, because what it would run does not matter. */
async function makeBackfill(client: Client, pipeline_name: string) {
  const [from, to] = ["2026-01-01", "2026-01-02"];
  const { backfill } = await client.call(routes.createBackfill, { body: { pipeline_name, from, to } });
  await client.call(routes.cancelBackfill, { body: { backfill_id: backfill.id } });
  return { backfill_id: backfill.id, from, to };
}

/**
 * An address at an unknown host: deliveries to it fail. The server must have a configured mail server, which need not
 * exist.
 */
async function makeWebhook(client: Client) {
  const url = `https://${mark}.example/hook`;
  const { id } = await client.call(routes.createWebhook, { body: { url } });
  const [ping] = await client.call(routes.listDeliveries, { query: { webhook_id: id } });
  const address = "told@example.com";
  await client.call(routes.setNotification, { body: { address } });
  return { webhook_id: id, delivery_id: ping?.id, url: "https://hooks.example/other", address };
}

async function secretsOf(client: Client, team_name: string) {
  const params = { team_name };
  const body = { role: "viewer", email: `${mark}@example.com` } as const;
  const invitation = await client.call(routes.createInvitation, { params, body });
  const login = await client.call(routes.startDeviceLogin, { body: {} });
  return {
    invitation_id: String(invitation.id),
    code: new URL(invitation.url).searchParams.get("code"),
    user_code: login.user_code,
  };
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** All known values, and the minimum for the other required fields. */
function sample(schema: Schema, known: Known): Record<string, unknown> {
  const fields = Object.entries(schema.properties ?? {});
  const given = fields.filter(([name]) => name in known || schema.required?.includes(name));
  return Object.fromEntries(given.map(([name, field]) => [name, name in known ? known[name] : leastOf(field)]));
}

function leastOf(field: Schema): unknown {
  if (field.enum) return field.enum[0];
  const type = [field.type].flat()[0];
  if (type === "integer" || type === "number") return field.minimum ?? 1;
  if (type === "boolean") return false;
  if (type === "array") return [];
  return type === "object" ? {} : "x";
}

/** Sends a valid request for the route, with this token or none. */
export function callRoute(
  server: InProcessServer,
  route: Route,
  token: string | null,
  known: Known,
): Promise<Response> {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    assert.ok(name in known, `${route.id}: a real {${name}} is not known: add one to test/support/walk.ts`);
    return encodeURIComponent(String(known[name]));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(sample((route.query ?? {}) as Schema, known)))
    for (const item of [value].flat()) query.append(name, String(item));
  const init = { method: route.method, token, redirect: "manual" } as const;
  const url = `${path}?${query}`;
  if (route.answersAs === "text/event-stream") return beginningOf(server.fetch(url, init));
  if (route.upload) return server.fetch(url, { ...init, body: uploadForm() });
  if (route.bytes)
    return server.fetch(url, { ...init, body: mark, headers: { "content-type": "application/octet-stream" } });
  if (!route.body) return server.fetch(url, init);
  return server.fetch(url, { ...init, json: sample(route.body as Schema, known) });
}

/** Returns a response with only the first piece of a body that has no end. */
async function beginningOf(asking: Promise<Response>): Promise<Response> {
  const { status, headers, body } = await asking;
  const reader = body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new Response(value ?? null, { status, headers });
}

function uploadForm(): FormData {
  const form = new FormData();
  form.set("file", new Blob(["x"]), "walk.txt");
  return form;
}

/** The status with which a WebSocket is refused; 101 if it is opened. */
export function upgradeStatus(url: string, headers: Record<string, string>): Promise<number> {
  const socket = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const key = { "sec-websocket-key": Buffer.alloc(16).toString("base64") };
  return new Promise((resolve, reject) => {
    const asking = request(url, { headers: { ...socket, ...key, ...headers } });
    asking.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asking.on("upgrade", (_response, stream) => {
      stream.destroy();
      resolve(101);
    });
    asking.on("error", reject);
    asking.end();
  });
}

/** An admin of another team. */
export async function makeStranger(server: InProcessServer): Promise<Person & { team: string }> {
  await addTeam(server, "beta");
  const person = await addPerson(server, "bea", { team: "beta", role: "admin", password });
  return { ...person, team: "beta", client: createClient({ url: server.url, token: person.token }) };
}
