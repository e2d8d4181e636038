/** Temporal: its server as one process with SQLite, and a worker in Python. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programPath, whyNoProgram } from "@millrace/testing/programs/program.ts";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { slots } from "../jobs.ts";
import { installed } from "./installing.ts";
import type { Peer } from "./peer.ts";
import { programs, pythonClient } from "./python-client.ts";
import type { Stage } from "./stage.ts";

const virtualenv = { name: "temporal-1.35.0", requirement: "temporalio==1.35.0" };
const server = { name: "temporal-server", version: "1.32.2", source: "go.temporal.io/server/cmd/server" };
let port = 0;

const environment = () => ({ TEMPORAL: `127.0.0.1:${port}`, SLOTS: String(slots), PYTHONPATH: programs });

export const temporal: Peer = {
  name: "Temporal",
  version: "server 1.32.2, Python SDK 1.35.0",
  setting: "server as one process, SQLite; one worker in Python, which runs activities in threads",
  work: "workflow with one activity; workflows; a workflow with activities; no log per job",
  lacks: { log: "no log per job" },
  install: () => installed(whyNoVirtualenv(virtualenv), whyNoProgram(server)),
  async prepare(stage) {
    port = await freePort();
    await writeFile(stage.path("temporal.yaml"), await configuration(stage));
    await writeFile(stage.path("dynamic.yaml"), "");
  },
  async start(stage) {
    const env = environment();
    const words = ["--config-file", stage.path("temporal.yaml"), "--allow-no-auth", "start"];
    stage.run("server", [programPath(server), ...words]);
    stage.run("worker", [programIn(virtualenv, "python"), join(programs, "temporal_work.py")], env);
    await stage.until(async () => (await stage.outputOf("worker")).includes("ready"));
  },
  connect: (stage) => pythonClient(stage, programIn(virtualenv, "python"), "temporal_driver.py", environment()),
};

/** As in the server's own example for SQLite, with ports that are free and without archives and metrics. */
async function configuration(stage: Stage): Promise<string> {
  const database = {
    pluginName: "sqlite",
    databaseName: stage.path("temporal.db"),
    connectAddr: "localhost",
    connectProtocol: "tcp",
    connectAttributes: { cache: "private", setup: "true", journal_mode: "wal", synchronous: "2" },
    maxConns: 1,
    maxIdleConns: 1,
    maxConnLifetime: "1h",
  };
  const here = { enabled: true, initialFailoverVersion: 1, rpcName: "frontend", rpcAddress: `127.0.0.1:${port}` };
  const services = { frontend: port, matching: await freePort(), history: await freePort(), worker: await freePort() };
  const settings = {
    log: { stdout: true, level: "warn" },
    persistence: {
      defaultStore: "sqlite",
      visibilityStore: "visibility",
      numHistoryShards: 1,
      datastores: { sqlite: { sql: database }, visibility: { sql: database } },
    },
    global: { membership: { maxJoinDuration: "30s", broadcastAddress: "127.0.0.1" } },
    services: Object.fromEntries(
      await Promise.all(Object.entries(services).map(async ([name, grpcPort]) => [name, await service(grpcPort)])),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: "active",
      currentClusterName: "active",
      clusterInformation: { active: here },
    },
    dcRedirectionPolicy: { policy: "noop" },
    dynamicConfigClient: { filepath: stage.path("dynamic.yaml"), pollInterval: "10s" },
  };
  // YAML contains JSON.
  return JSON.stringify(settings);
}

const service = async (grpcPort: number) => ({
  rpc: { grpcPort, membershipPort: await freePort(), bindOnLocalHost: true },
});
