import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clientScopes, parseScope, permits, roleIncludes } from "@millrace/contract";

describe("scopes", () => {
  it("are parsed as people type them", () => {
    assert.deepEqual(parseScope("job"), ["JOB:read", "JOB:write"]);
    assert.deepEqual(parseScope("JOBS:read"), ["JOB:read"]);
    assert.deepEqual(parseScope(" datasets "), ["DATASETS:read", "DATASETS:write"]);
    assert.deepEqual(parseScope("cluster:write"), ["CLUSTERS:write"]);
  });

  it("of the client's login that this server does not know grant what running jobs needs", () => {
    assert.deepEqual(parseScope("EXPERIMENTS"), clientScopes);
    assert.deepEqual(parseScope("models"), clientScopes);
    assert.ok(permits(clientScopes, "JOB:write"));
  });

  it("that do not exist are refused", () => {
    assert.equal(parseScope("everything"), undefined);
    assert.equal(parseScope("JOB:own"), undefined);
    assert.equal(parseScope(""), undefined);
  });

  it("with write access include read access, not the other way round", () => {
    assert.equal(permits(["JOB:write"], "JOB:read"), true);
    assert.equal(permits(["JOB:read"], "JOB:write"), false);
    assert.equal(permits(["JOB:write"], "CLUSTERS:read"), false);
  });
});

it("a role includes the ones below it", () => {
  assert.equal(roleIncludes("admin", "viewer"), true);
  assert.equal(roleIncludes("viewer", "editor"), false);
});
