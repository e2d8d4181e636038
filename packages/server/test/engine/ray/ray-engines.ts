/** Engines on a real Ray cluster, beside a server. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RayOptions } from "@millrace/contract";
import { type RayCluster, rayPython } from "@millrace/testing/servers/ray.ts";
import { RayPlacer } from "../../../src/engines/ray/ray-placer.ts";
import { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process.ts";

/** The options of a cluster with their defaults. */
export const rayOptions = (given: Partial<RayOptions>): RayOptions => ({
  ...(Object.fromEntries(
    Object.entries(RayOptions.properties).map(([name, schema]) => [name, (schema as { default?: unknown }).default]),
  ) as RayOptions),
  python: rayPython(),
  ...given,
});

export class RayEngines {
  readonly server: InProcessServer;
  readonly folder: string;
  readonly #cluster: RayCluster;

  static async beside(cluster: RayCluster): Promise<RayEngines> {
    return new RayEngines(cluster, await startInProcess(), await mkdtemp(join(tmpdir(), "millrace-ray-jobs-")));
  }

  private constructor(cluster: RayCluster, server: InProcessServer, folder: string) {
    this.#cluster = cluster;
    this.server = server;
    this.folder = folder;
  }

  /** Opens a placer; the files of its jobs are in a folder of ours. */
  placer = ({ token = this.#cluster.token, ...options }: Partial<RayOptions> & { token?: string } = {}) =>
    RayPlacer.open(rayOptions({ address: this.#cluster.address, folder: this.folder, ...options }), { token });

  open = async (options: Partial<RayOptions> & { token?: string } = {}): Promise<RunnerEngine> =>
    RunnerEngine.open({
      isolation: "none",
      jobsDir: join(this.server.dataDir, "jobs"),
      runners: this.server.runners,
      placer: await this.placer(options),
      url: () => this.server.url,
      silenceMs: 1000,
    });

  /** Returns a Python that starts only after this many seconds. */
  async slowPython(seconds: string): Promise<string> {
    const path = join(this.folder, `python-after-${seconds}`);
    await writeFile(path, `#!/bin/sh\nsleep ${seconds}\nexec '${rayPython()}' "$@"\n`);
    await chmod(path, 0o755);
    return path;
  }

  async stop(): Promise<void> {
    await this.server.dispose();
    await rm(this.folder, { recursive: true, force: true });
  }
}
