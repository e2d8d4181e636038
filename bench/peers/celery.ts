/** Celery with Redis as broker and result backend, and a worker with its default pool of processes. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { slots } from "../jobs.ts";
import { installed, librariesIn, unpacked } from "./installing.ts";
import type { Peer } from "./peer.ts";
import { programs, pythonClient } from "./python-client.ts";
import type { Stage } from "./stage.ts";

const virtualenv = { name: "celery-5.7.0", requirement: "celery[redis]==5.7.0" };
const packages = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1"];
let port = 0;
let redis: readonly string[] = [];

const environment = (stage: Stage) => ({
  BROKER: `redis://127.0.0.1:${port}/0`,
  WORKER_LOG: stage.path("worker.log"),
  PYTHONPATH: programs,
});

export const celery: Peer = {
  name: "Celery",
  version: "5.7.0, Redis 7.0.15",
  setting:
    "Redis as broker and result backend; one worker with its default pool of processes, which run many jobs each",
  work: "task; `group`; `chain`; no log per job: `print` into the log file of the worker",
  async install() {
    await installed(whyNoVirtualenv(virtualenv));
    const root = await unpacked("debian-redis", packages);
    redis = ["env", `LD_LIBRARY_PATH=${await librariesIn(root)}`, join(root, "usr/bin/redis-server")];
  },
  async prepare() {
    port = await freePort();
  },
  async start(stage) {
    stage.run("redis", [...redis, "--port", String(port), "--bind", "127.0.0.1", "--dir", stage.folder]);
    const words = ["-A", "celery_work", "worker", "--concurrency", String(slots), "--loglevel", "INFO"];
    const env = environment(stage);
    await rm(env.WORKER_LOG, { force: true });
    stage.run("worker", [programIn(virtualenv, "celery"), ...words, "--logfile", env.WORKER_LOG], env);
    await stage.until(async () => (await readFile(env.WORKER_LOG, "utf8")).includes(" ready."));
  },
  connect: (stage) => pythonClient(stage, programIn(virtualenv, "python"), "celery_driver.py", environment(stage)),
};
