/** Prefect: its server with SQLite, and `serve`, which starts a process for every flow run. */
import { join } from "node:path";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { slots } from "../jobs.ts";
import { installed } from "./installing.ts";
import type { Peer } from "./peer.ts";
import { programs, pythonClient } from "./python-client.ts";
import type { Stage } from "./stage.ts";

// This release calls FastAPI in a way that FastAPI 0.140 has removed.
const virtualenv = { name: "prefect-3.8.8", requirement: "prefect==3.8.8 fastapi<0.140" };
let port = 0;

const environment = (stage: Stage) => ({
  PREFECT_HOME: stage.path("prefect"),
  PREFECT_API_URL: `http://127.0.0.1:${port}/api`,
  // Every 10 s by default, which would be most of what is measured.
  PREFECT_RUNNER_POLL_FREQUENCY: "1",
  PREFECT_SERVER_ANALYTICS_ENABLED: "false",
  PYTHONUNBUFFERED: "1",
  SLOTS: String(slots),
  PYTHONPATH: programs,
});

export const prefect: Peer = {
  name: "Prefect",
  version: "3.8.8",
  setting: "server with SQLite; `serve` looks for work every second and starts a process for each flow run",
  work: "flow run of a deployment; flow runs; a flow with tasks; `print` into the log of the flow run",
  install: () => installed(whyNoVirtualenv(virtualenv)),
  async prepare() {
    port = await freePort();
  },
  async start(stage) {
    const env = environment(stage);
    const words = ["server", "start", "--host", "127.0.0.1", "--port", String(port)];
    stage.run("server", [programIn(virtualenv, "prefect"), ...words], env);
    await stage.until(async () => (await fetch(`${env.PREFECT_API_URL}/health`)).ok);
    stage.run("serve", [programIn(virtualenv, "python"), join(programs, "prefect_work.py")], env);
    await stage.until(async () => (await stage.outputOf("serve")).includes("polling for scheduled runs"));
  },
  connect: (stage) => pythonClient(stage, programIn(virtualenv, "python"), "prefect_driver.py", environment(stage)),
};
