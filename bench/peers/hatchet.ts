/** Hatchet Lite: its API and engine in one process, with PostgreSQL, and a worker in Python. */
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { type OwnPostgres, startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { slots } from "../jobs.ts";
import { builtFrom, installed } from "./installing.ts";
import type { Peer } from "./peer.ts";
import { programs, pythonClient } from "./python-client.ts";
import type { Environment, Stage } from "./stage.ts";

const virtualenv = { name: "hatchet-1.43.1", requirement: "hatchet-sdk==1.43.1 psycopg[binary]==3.3.4" };
const [lite, migrate, admin] = ["hatchet-lite", "hatchet-migrate", "hatchet-admin"] as const;
const tenant = randomUUID();

let folder = "";
let postgres: OwnPostgres | undefined;
let environment: Environment = {};

export const hatchet: Peer = {
  name: "Hatchet",
  version: "server 0.105.0, Python SDK 1.43.1, PostgreSQL 18",
  setting:
    "Hatchet Lite without its web UI, PostgreSQL as database and message queue; one worker in Python, which runs tasks in threads",
  work: "task; tasks; a workflow with tasks; `Context.log` into the log of the task",
  async install() {
    await installed(whyNoVirtualenv(virtualenv));
    folder = await builtFrom("github.com/hatchet-dev/hatchet", "0.105.0", [lite, migrate, admin]);
  },
  async prepare(stage) {
    postgres = await startOwnPostgres();
    environment = await settings(stage, await postgres.createDatabase());
    await mkdir(stage.path("static"));
    await writeFile(stage.path("static/index.html"), "");
    const config = stage.path("config");
    await stage.runToEnd([join(folder, migrate)], environment);
    const quickstart = ["quickstart", "--skip", "certs", "--generated-config-dir", config];
    await stage.runToEnd([join(folder, admin), ...quickstart], environment);
    const words = ["token", "create", "--config", config, "--tenant-id", tenant];
    const token = (await stage.runToEnd([join(folder, admin), ...words], environment)).trim();
    environment = { ...environment, HATCHET_CLIENT_TOKEN: token.split("\n").at(-1) ?? "" };
    await postgres.cluster.down();
  },
  async start(stage) {
    await postgres?.cluster.up();
    stage.run("lite", [join(folder, lite), "--config", stage.path("config")], environment);
    await stage.until(async () => (await fetch(`${environment["SERVER_URL"]}/api/ready`)).ok);
    stage.run("worker", [programIn(virtualenv, "python"), join(programs, "hatchet_work.py")], environment);
    await stage.until(async () => (await stage.outputOf("worker")).includes("waiting for tasks"));
  },
  stop: async () => postgres?.cluster.down(),
  remove: async () => postgres?.stop(),
  connect: (stage) => pythonClient(stage, programIn(virtualenv, "python"), "hatchet_driver.py", environment),
};

async function settings(stage: Stage, database: string): Promise<Environment> {
  const [api, grpc, runtime, web, health] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ]);
  const address = `127.0.0.1:${grpc}`;
  return {
    DATABASE_URL: `${database}?sslmode=disable`,
    DATABASE_MAX_CONNS: "20",
    ADMIN_PASSWORD: `${randomUUID()}aA!`,
    DEFAULT_TENANT_ID: tenant,
    SERVER_AUTH_COOKIE_DOMAIN: "localhost",
    SERVER_AUTH_COOKIE_INSECURE: "t",
    SERVER_GRPC_BIND_ADDRESS: "127.0.0.1",
    SERVER_GRPC_INSECURE: "t",
    SERVER_GRPC_BROADCAST_ADDRESS: address,
    SERVER_GRPC_PORT: String(grpc),
    SERVER_INTERNAL_CLIENT_INTERNAL_GRPC_BROADCAST_ADDRESS: address,
    SERVER_PORT: String(api),
    SERVER_URL: `http://127.0.0.1:${runtime}`,
    SERVER_HEALTHCHECK_PORT: String(health),
    SERVER_LOGGER_LEVEL: "warn",
    SERVER_MSGQUEUE_KIND: "postgres",
    LITE_STATIC_ASSET_DIR: stage.path("static"),
    LITE_FRONTEND_PORT: String(web),
    LITE_RUNTIME_PORT: String(runtime),
    HATCHET_CLIENT_HOST_PORT: address,
    HATCHET_CLIENT_SERVER_URL: `http://127.0.0.1:${runtime}`,
    HATCHET_CLIENT_TLS_STRATEGY: "none",
    // Room for all lines: the worker drops those that do not fit, and has room for 1,000 by default.
    HATCHET_CLIENT_LOG_QUEUE_SIZE: "2000000",
    SLOTS: String(slots),
    PYTHONPATH: programs,
  };
}
