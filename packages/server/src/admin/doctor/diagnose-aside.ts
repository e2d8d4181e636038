/**
 * Diagnoses the machine in a thread of its own. Some checks wait for locks of SQLite without yielding, for up to 15
 * seconds, which inside a server would hold up all its requests.
 */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Config } from "../../configuration/config.ts";
import type { Finding } from "./finding.ts";

const fromSource = import.meta.filename.endsWith(".ts");
const script = join(import.meta.dirname, fromSource ? "doctor-thread.ts" : "doctor-thread.js");
const seconds = 60;

export async function diagnoseAside({ data, localEngine, limits, jobEnvironment }: Config): Promise<Finding[]> {
  const thread = new Worker(script, { workerData: { data, localEngine, limits, jobEnvironment } });
  // Without a listener, an error of the thread after its findings would end the server.
  thread.on("error", () => {});
  const late = new AbortController();
  try {
    return await Promise.race([
      once(thread, "message", { signal: late.signal }).then(([findings]) => findings as Finding[]),
      sleep(seconds * 1000, [tooLate], { signal: late.signal }),
    ]);
  } finally {
    late.abort();
    await thread.terminate();
  }
}

const tooLate: Finding = {
  level: "error",
  topic: "doctor",
  message: `the checks did not end within ${seconds} seconds`,
  next: "look at the load of this machine, and whether its disks and its database answer",
};
