/** The logs of attempts whose cluster has no engine now, for example because it was removed. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { LogFile } from "./log-file.ts";
import type { KeptLogs } from "./registry.ts";

export const keptLogs = (jobsDir: string): KeptLogs => ({
  openLog: async (key) => new LogFile(join(jobsDir, key, "log")),
  logBytes: async (key) => ((await stat(join(jobsDir, key, "log")).catch(() => undefined))?.blocks ?? 0) * 512,
  forget: (key) => rm(join(jobsDir, key), { recursive: true, force: true }),
});
