/** /metrics: text that a strict parser accepts, correct numbers, and no access without rights. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import WebSocket from "ws";
import { Counter, Histogram } from "../../src/metrics/series.ts";
import { writeText } from "../../src/metrics/text.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the format strictly: everything that its description does not allow is an error. */
function parse(text: string): { types: Map<string, string>; samples: Sample[] } {
  assert.ok(text.endsWith("\n"), "ends with a line end");
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const samples: Sample[] = [];
  let current = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const about = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (about) {
      const [, kind, name = "", rest = ""] = about;
      if (kind === "HELP") assert.ok(!helps.has(name), `${name} is described twice`);
      else assert.match(rest, /^(counter|gauge|histogram)$/);
      if (kind === "HELP") helps.add(name);
      else types.set(name, rest);
      current = name;
      continue;
    }
    const sample = readSample(line);
    const base = types.get(current) === "histogram" ? sample.name.replace(/_(bucket|sum|count)$/, "") : sample.name;
    assert.equal(base, current, `${line} stands below ${current}`);
    samples.push(sample);
  }
  assert.deepEqual([...types.keys()], [...helps], "every name has HELP and TYPE");
  const keys = samples.map(({ name, labels }) => JSON.stringify([name, labels]));
  assert.equal(new Set(keys).size, keys.length, "no sample comes twice");
  return { types, samples };
}

function readSample(line: string): Sample {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/.exec(line);
  assert.ok(match, `not a sample: ${line}`);
  const [, name = "", list = "", value = ""] = match;
  const labels: Record<string, string> = {};
  let rest = list;
  while (rest !== "") {
    const pair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/.exec(rest);
    assert.ok(pair, `not a label: ${rest}`);
    labels[pair[1] ?? ""] = (pair[2] ?? "").replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    rest = rest.slice(pair[0].length);
  }
  return { name, labels, value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value) };
}

/** Buckets only grow, the last one has everything, and it equals the count. */
function checkHistograms({ types, samples }: ReturnType<typeof parse>): void {
  for (const [name, type] of types) {
    if (type !== "histogram") continue;
    const groups = new Map<string, Sample[]>();
    for (const sample of samples.filter((one) => one.name === `${name}_bucket`)) {
      const { le: _, ...labels } = sample.labels;
      const key = JSON.stringify(labels);
      groups.set(key, [...(groups.get(key) ?? []), sample]);
    }
    for (const [key, buckets] of groups) {
      const bounds = buckets.map(({ labels }) => (labels["le"] === "+Inf" ? Infinity : Number(labels["le"])));
      assert.deepEqual(
        bounds,
        [...bounds].sort((a, b) => a - b),
      );
      const values = buckets.map(({ value }) => value);
      assert.deepEqual(
        values,
        [...values].sort((a, b) => a - b),
        `${name} is cumulative`,
      );
      const count = samples.find((one) => one.name === `${name}_count` && JSON.stringify(one.labels) === key);
      assert.deepEqual([bounds.at(-1), values.at(-1)], [Infinity, count?.value]);
    }
  }
}

describe("the text of metrics", () => {
  it("escapes quotes, backslashes and line ends in labels and help", () => {
    const counter = new Counter("odd_total", 'help with \\ and\na line end and "quotes"');
    const label = 'a "quoted" \\ back\nslash, }';
    counter.add({ team: label });
    counter.add({ team: label });
    const endless = { name: "g", help: "g", type: "gauge", samples: [{ labels: {}, value: Infinity }] } as const;
    assert.match(writeText([endless]), /^g \+Inf$/m);
    const { samples } = parse(writeText([counter.family()]));
    assert.deepEqual(samples, [{ name: "odd_total", labels: { team: label }, value: 2 }]);
  });

  it("counts a value on a bound below it, and a value beyond all bounds in the last bucket", () => {
    const histogram = new Histogram("h", "h", [1, 2]);
    for (const value of [0.5, 1, 1.5, 99]) histogram.observe({}, value);
    const text = writeText([histogram.family()]);
    checkHistograms(parse(text));
    assert.match(text, /h_bucket\{le="1"\} 2\nh_bucket\{le="2"\} 3\nh_bucket\{le="\+Inf"\} 4\nh_sum 102\nh_count 4\n/);
  });
});

describe("/metrics", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2", MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1" });
    client = await server.client();
  });
  after(() => server.dispose());

  const scrape = async () => {
    const response = await server.fetch("/metrics");
    assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const parsed = parse(await response.text());
    checkHistograms(parsed);
    const value = (name: string, labels: Record<string, string> = {}) =>
      parsed.samples.find(
        (one) => one.name === name && Object.entries(labels).every(([label, text]) => one.labels[label] === text),
      )?.value;
    return { ...parsed, value };
  };

  it("shows waiting, running and ended jobs, slots, and durations", async () => {
    await runJob(client, shell("exit 0"));
    await runJob(client, shell("exit 3"));
    for (let i = 0; i < 3; i++) await createJob(client, shell("sleep 30", { workers: 2 }));
    while ((await client.call(routes.listJobs, { query: { status: ["RUNNING"] } })).length === 0);
    const { value } = await scrape();
    assert.equal(value("millrace_jobs", { team: "main", state: "running" }), 1);
    assert.equal(value("millrace_jobs", { team: "main", state: "waiting" }), 2);
    assert.equal(value("millrace_jobs_ended_total", { team: "main", status: "COMPLETE" }), 1);
    assert.equal(value("millrace_jobs_ended_total", { team: "main", status: "FAILED" }), 1);
    assert.equal(value("millrace_queue_length", { cluster: "local" }), 2);
    assert.ok((value("millrace_queue_oldest_seconds", { cluster: "local" }) ?? 0) > 0);
    assert.equal(value("millrace_slots", { cluster: "local" }), 2);
    assert.equal(value("millrace_slots_busy", { cluster: "local" }), 2);
    assert.equal(value("millrace_job_dispatch_seconds_count", { cluster: "local" }), 3);
    assert.equal(value("millrace_job_duration_seconds_count", { status: "FAILED" }), 1);
    assert.ok((value("millrace_store_write_seconds_count") ?? 0) > 5);
  });

  it("counts requests by route, method and status, and requests for unknown paths as none", async () => {
    await server.fetch("/api/whoami");
    await server.fetch("/api/whoami", { token: "isat_wrong" });
    await server.fetch("/no/such/thing");
    const { value } = await scrape();
    assert.equal(value("millrace_http_requests_total", { route: "whoAmI", method: "GET", status: "200" }), 1);
    assert.equal(value("millrace_http_requests_total", { route: "whoAmI", method: "GET", status: "401" }), 1);
    assert.equal(value("millrace_http_requests_total", { route: "none", status: "404" }), 1);
    assert.equal(value("millrace_http_request_seconds_count", { route: "whoAmI", method: "GET" }), 2);
  });

  it("shows the process, the disk, the program and the log followers", async () => {
    const job = await createJob(client, shell("sleep 30"));
    const url = `${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${job.id}&team_name=main`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${await server.token()}` } });
    await once(socket, "message");
    const { value, samples } = await scrape();
    assert.equal(value("millrace_log_followers"), 1);
    assert.ok((value("process_resident_memory_bytes") ?? 0) > 1e6);
    assert.ok((value("process_cpu_seconds_total") ?? 0) > 0);
    assert.ok((value("millrace_disk_free_bytes") ?? 0) > 0);
    assert.equal(value("millrace_disk_low"), 0);
    assert.ok((value("nodejs_eventloop_lag_max_seconds") ?? -1) >= 0);
    assert.match(samples.find(({ name }) => name === "millrace_build_info")?.labels["version"] ?? "", /^\d+\.\d+/);
    socket.close();
    await once(socket, "close");
    while ((await scrape()).value("millrace_log_followers") !== 0);
  });

  it("shows deliveries made and waiting, and disabled webhooks", async () => {
    const receiver = await Receiver.start();
    try {
      const body = { url: receiver.url(), events: ["job.failure" as const] };
      const { id: webhook_id } = await client.call(routes.createWebhook, { body });
      const made = { team: "main", kind: "webhook", outcome: "delivered" };
      while ((await scrape()).value("millrace_deliveries_total", made) !== 1);
      await client.call(routes.updateWebhook, { body: { webhook_id, enabled: false } });
      const { value } = await scrape();
      assert.equal(value("millrace_receivers_disabled", { team: "main", kind: "webhook" }), 1);
      assert.equal(value("millrace_deliveries_waiting", { team: "main", kind: "webhook" }), 0);
    } finally {
      await receiver.stop();
    }
  });

  it("is for administrators with the scope, unless the operator opens it", async () => {
    assert.equal((await server.fetch("/metrics", { token: null })).status, 401);
    assert.equal((await server.fetch("/metrics", { token: await server.token({ scopes: ["JOB"] }) })).status, 403);
    assert.equal(
      (await server.fetch("/metrics", { token: await server.token({ scopes: ["ADMIN:read"] }) })).status,
      200,
    );
    await server.store.write((db) => db.updateTable("users").set({ is_admin: 0 }).execute());
    assert.equal((await server.fetch("/metrics")).status, 403);
    await server.store.write((db) => db.updateTable("users").set({ is_admin: 1 }).execute());
    const open = await startInProcess({ MILLRACE_METRICS_OPEN: "true" });
    try {
      const response = await open.fetch("/metrics", { token: null });
      assert.equal(response.status, 200);
      parse(await response.text());
    } finally {
      await open.dispose();
    }
  });
});
