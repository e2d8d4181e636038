/** Dagster: webserver, daemon and one code server, with SQLite and a queue for the runs. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { slots } from "../jobs.ts";
import { installed } from "./installing.ts";
import type { Peer } from "./peer.ts";
import { programs, pythonClient } from "./python-client.ts";
import type { Stage } from "./stage.ts";

const virtualenv = { name: "dagster-1.13.27", requirement: "dagster==1.13.27 dagster-webserver==1.13.27" };
const ports = { web: 0, code: 0 };

// The daemon looks into the queue every 5 s by default, which would be most of what is measured.
const instance = `
telemetry: { enabled: false }
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
  config: { max_concurrent_runs: ${slots}, dequeue_interval_seconds: 1 }
`;
const workspace = (port: number) => `
load_from:
  - grpc_server: { host: 127.0.0.1, port: ${port}, location_name: work }
`;

const environment = (stage: Stage) => ({
  DAGSTER_HOME: stage.path("dagster"),
  GRAPHQL: `http://127.0.0.1:${ports.web}/graphql`,
  PYTHONPATH: programs,
});

export const dagster: Peer = {
  name: "Dagster",
  version: "1.13.27",
  setting:
    "webserver, daemon and code server, SQLite; the daemon looks into the queue every second and starts a process for each run",
  work: "run of a job; runs; a job with ops, all in the process of the run; `print` into the log of the run",
  install: () => installed(whyNoVirtualenv(virtualenv)),
  async prepare(stage) {
    ports.web = await freePort();
    ports.code = await freePort();
    await mkdir(stage.path("dagster"));
    await writeFile(stage.path("dagster/dagster.yaml"), instance);
    await writeFile(stage.path("workspace.yaml"), workspace(ports.code));
  },
  async start(stage) {
    const env = environment(stage);
    const code = ["api", "grpc", "--python-file", join(programs, "dagster_work.py")];
    const local = ["--host", "127.0.0.1", "--port"];
    stage.run("code", [programIn(virtualenv, "dagster"), ...code, ...local, String(ports.code)], env);
    await stage.until(async () => (await stage.outputOf("code")).includes("Started Dagster code server"));
    const shared = ["--workspace", stage.path("workspace.yaml")];
    stage.run("daemon", [programIn(virtualenv, "dagster-daemon"), "run", ...shared], env);
    stage.run("web", [programIn(virtualenv, "dagster-webserver"), ...shared, ...local, String(ports.web)], env);
    await stage.until(async () => (await stage.outputOf("daemon")).includes("with the following daemons"));
    await stage.until(async () => (await fetch(env.GRAPHQL.replace("graphql", "server_info"))).ok);
  },
  connect: (stage) => pythonClient(stage, programIn(virtualenv, "python"), "dagster_driver.py", environment(stage)),
};
