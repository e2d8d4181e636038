/** A server with a Slurm cluster `slurm` as its only one that takes jobs. SLURM_CONF is the path of slurm.conf. */
import { pino } from "pino";
import { startServer } from "../packages/server/src/app/server.ts";
import { readConfig } from "../packages/server/src/configuration/config.ts";
import { RunnerEngine } from "../packages/server/src/engines/runners/runner-engine.ts";
import { SlurmPlacer } from "../packages/server/src/engines/slurm/slurm-placer.ts";
import { slurmOptions } from "../packages/server/test/engine/slurm/slurm-options.ts";

const { SLURM_CONF = "", SLURM_WORKERS = "", ...settings } = process.env;
const placer = new SlurmPlacer(slurmOptions({ configuration: SLURM_CONF }));
const server = await startServer(readConfig({}, settings), pino({ level: "warn" }), {
  engines: { slurm: (surroundings) => RunnerEngine.open({ ...surroundings, isolation: "none", placer }) },
});
await server.store.write((db) =>
  db
    .insertInto("clusters")
    .values({
      name: "slurm",
      engine: "slurm",
      isolation: "none",
      max_workers: Number(SLURM_WORKERS),
      is_active: 1,
      is_default: 0,
    })
    .execute(),
);
process.stdout.write(`Millrace is ready at ${server.url}\n`);
