/**
 * Builds all loops of a server, and the part that runs them. The loops start together. Stopping waits for their current
 * runs.
 */
import type { Logger } from "pino";
import { type Loop, startLoop } from "../loops/loop.ts";
import { eventLoops } from "./event-loops.ts";
import { jobLoops } from "./job-loops.ts";
import { opened, type Part } from "./part.ts";
import { scheduleLoops } from "./schedule-loops.ts";
import { upkeepLoops } from "./upkeep-loops.ts";
import type { Wiring } from "./wiring.ts";

export function allLoops({ config, machinery, folder, exports, publicUrl, readiness }: Wiring): Loop[] {
  const { execution } = machinery;
  const { jobs, quotas, webhooks, mail, retention } = config;
  const { stopping } = readiness;
  return [
    ...eventLoops({ execution, webhooks, mail, publicUrl, stopping }),
    ...jobLoops({ machinery, jobs, quotas, publicUrl }),
    ...scheduleLoops(execution, quotas),
    ...upkeepLoops({ machinery, folder, exports, keeping: config.warehouses, retention, quotas }),
  ];
}

export const runningLoops = (loops: readonly Loop[], log: Logger): Part<unknown> =>
  opened(
    async () => loops.map((loop) => startLoop(loop, log)),
    (stops) => Promise.all(stops.map((stop) => stop())),
  );
