/** Airflow: API server, scheduler and DAG processor, with SQLite and the LocalExecutor, as `airflow standalone`. */
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { slots } from "../jobs.ts";
import { installed } from "./installing.ts";
import type { Peer } from "./peer.ts";
import { programs, pythonClient } from "./python-client.ts";
import type { Stage } from "./stage.ts";

const virtualenv = { name: "airflow-3.3.2", requirement: "apache-airflow==3.3.2" };
let port = 0;

const environment = (stage: Stage) => ({
  AIRFLOW_HOME: stage.path("airflow"),
  AIRFLOW__CORE__DAGS_FOLDER: stage.path("dags"),
  AIRFLOW__CORE__LOAD_EXAMPLES: "False",
  AIRFLOW__CORE__EXECUTOR: "LocalExecutor",
  AIRFLOW__CORE__PARALLELISM: String(slots),
  AIRFLOW__CORE__MAX_ACTIVE_RUNS_PER_DAG: "1000",
  AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG: "1000",
  AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS: "True",
  AIRFLOW__CORE__EXECUTION_API_SERVER_URL: `http://127.0.0.1:${port}/execution/`,
  AIRFLOW__API__BASE_URL: `http://127.0.0.1:${port}`,
  AIRFLOW__API_AUTH__JWT_SECRET: "a secret of this measurement, long enough for the algorithm that signs with it",
  AIRFLOW__LOGGING__BASE_LOG_FOLDER: stage.path("logs"),
  AIRFLOW__USAGE_DATA_COLLECTION__ENABLED: "False",
  API: `http://127.0.0.1:${port}`,
});

export const airflow: Peer = {
  name: "Airflow",
  version: "3.3.2",
  setting:
    "API server, scheduler and DAG processor of `airflow standalone`, SQLite; the LocalExecutor starts a process for each task",
  work: "run of a DAG with one task; runs; a DAG with tasks, each a process of its own; `print` into the log of the task",
  install: () => installed(whyNoVirtualenv(virtualenv)),
  async prepare(stage) {
    port = await freePort();
    await mkdir(stage.path("dags"));
    await copyFile(join(programs, "airflow_work.py"), stage.path("dags/airflow_work.py"));
    await stage.runToEnd([programIn(virtualenv, "airflow"), "db", "migrate"], environment(stage));
  },
  async start(stage) {
    const begin = Date.now();
    const env = environment(stage);
    const start = (name: string, ...words: string[]) =>
      stage.run(name, [programIn(virtualenv, "airflow"), name, ...words], env);
    start("api-server", "--host", "127.0.0.1", "--port", String(port));
    start("scheduler");
    start("dag-processor");
    await stage.until(() => isAlive(env.API, begin));
    await stage.until(() => hasDags(env.API));
  },
  connect: (stage) => pythonClient(stage, programIn(virtualenv, "python"), "airflow_driver.py", environment(stage)),
};

/** Whether the scheduler and the DAG processor have given a sign of life since then; older ones are from an earlier start. */
async function isAlive(api: string, begin: number): Promise<boolean> {
  const health = await read(`${api}/api/v2/monitor/health`);
  const signs = [health.scheduler?.latest_scheduler_heartbeat, health.dag_processor?.latest_dag_processor_heartbeat];
  return signs.every((time) => time !== undefined && Date.parse(time) >= begin);
}

async function hasDags(api: string): Promise<boolean> {
  const { access_token } = await read(`${api}/auth/token`);
  const { dags } = await read(`${api}/api/v2/dags`, { authorization: `Bearer ${access_token}` });
  return dags?.length === 3;
}

/** The fields of Airflow's answers that are used here. */
interface Fields {
  readonly scheduler?: { readonly latest_scheduler_heartbeat?: string };
  readonly dag_processor?: { readonly latest_dag_processor_heartbeat?: string };
  readonly access_token?: string;
  readonly dags?: readonly unknown[];
}

const read = async (url: string, headers: Record<string, string> = {}): Promise<Fields> =>
  (await fetch(url, { headers })).json() as Promise<Fields>;
