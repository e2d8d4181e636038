/** Registering a version with many dependencies: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { recordAllMade } from "@millrace/testing/millrace/lineage.ts";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team } from "../../src/domain/access/principals.ts";
import { registerVersion } from "../../src/domain/datasets/register-version.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { countStore } from "../support/counted-reads.ts";
import { noQuotas } from "../support/quotas.ts";

const now = Date.UTC(2030, 0, 1);
const team: Team = { id: 1, name: "main", role: "admin" };
const via = { kind: "session", hash: "" } as const;
const principal: Principal = { userId: 1, username: "admin", isAdmin: true, via, scopes: [], teams: [team] };

export function registerConformance(storeOf: () => Store): void {
  const register = (store: Store, input: { name: string; uuid?: string; dependencies: string[] }) =>
    registerVersion(store, { team, principal, actor: operator, input, text: "{}" }, noQuotas, now);

  it("registers a version with hundreds of dependencies in a few statements, and links each of them", async () => {
    const store = storeOf();
    const names = Array.from({ length: 300 }, (_, index) => `needed-${index}`);
    const jobs = names.map((name) => ({ name, jobId: null }));
    const first = await recordAllMade(store, jobs);
    const second = await recordAllMade(store, jobs, { version: "1.1.0" });
    // Half by their numbers, half as the latest.
    const dependencies = [...names.map((name) => `${name}@1.0.0`), ...names.map((name) => `ds://${name}`), "s3://b/k"];
    const counted = countStore(store);
    const uuid = randomUUID();
    await register(counted.store, { name: "whole", uuid, dependencies });
    assert.ok(counted.statements() <= 30, `${counted.statements()} statements`);
    const needs = await store.db
      .selectFrom("dataset_dependencies")
      .innerJoin("dataset_versions as needing", "needing.id", "version_id")
      .leftJoin("dataset_versions as needed", "needed.id", "needs_version_id")
      .select(["needed.uuid", "needs_uri"])
      .where("needing.uuid", "=", uuid)
      .execute();
    assert.deepEqual(
      new Set(needs.map((need) => need.uuid ?? need.needs_uri)),
      new Set([...first.map((made) => made.uuid), ...second.map((made) => made.uuid), "s3://b/k"]),
    );
    assert.equal(needs.length, 601);
  });

  it("names the missing one of many, and repeats the answer to a repeated request, whatever was removed since", async () => {
    const store = storeOf();
    const [made] = await recordAllMade(store, [{ name: "going", jobId: null }]);
    await assert.rejects(register(store, { name: "x", dependencies: ["going", "going@3.0.0", "s3://b"] }), {
      code: "not_found",
      message: /^There is no @admin.default.going@3.0.0 in the team main. Newest versions: 1.0.0.$/,
    });
    const input = { name: "again", uuid: randomUUID(), dependencies: ["going"] };
    const answer = await register(store, input);
    await store.write((db) =>
      db
        .updateTable("dataset_versions")
        .set({ status: 8, removed_at: "2030-01-02T00:00:00.000Z" })
        .where("uuid", "=", made?.uuid ?? "")
        .execute(),
    );
    assert.deepEqual(await register(store, input), answer);
    await assert.rejects(register(store, { name: "late", dependencies: ["going"] }), { code: "not_found" });
  });
}
