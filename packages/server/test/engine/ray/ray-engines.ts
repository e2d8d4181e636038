/** Engines on a real Ray cluster, beside a server. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultOptions, type RayOptions } from "@millrace/contract";
import { type RayCluster, rayPython } from "@millrace/testing/servers/ray.ts";
import { RayPlacer } from "../../../src/engines/ray/ray-placer.ts";
import { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process.ts";

/** The options of a cluster with their defaults. */
const rayOptions = (given: Partial<RayOptions>): RayOptions => ({
  ...(defaultOptions("ray") as RayOptions),
  python: rayPython(),
  ...given,
});

export class RayEngines {
  readonly server: InProcessServer;
  readonly folder: string;
  readonly #cluster: RayCluster;

  readonly #silenceMs: number;

  /** `silenceMs`: an attempt that Ray no longer lists is lost after this time without a beat of its runner. */
  static async beside(cluster: RayCluster, silenceMs: number): Promise<RayEngines> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-ray-jobs-"));
    return new RayEngines(cluster, silenceMs, await startInProcess(), folder);
  }

  private constructor(cluster: RayCluster, silenceMs: number, server: InProcessServer, folder: string) {
    this.#cluster = cluster;
    this.#silenceMs = silenceMs;
    this.server = server;
    this.folder = folder;
  }

  /** Opens a placer; the files of its jobs are in a folder of ours. */
  placer = ({ token = this.#cluster.token, ...options }: Partial<RayOptions> & { token?: string } = {}) =>
    RayPlacer.open(rayOptions({ address: this.#cluster.address, folder: this.folder, ...options }), { token });

  /** Opens an engine whose runners reach the server at this URL. */
  open = async (options: Partial<RayOptions> & { token?: string } = {}, url = this.server.url): Promise<RunnerEngine> =>
    RunnerEngine.open({
      isolation: "none",
      jobsDir: join(this.server.dataDir, "jobs"),
      runners: this.server.runners,
      placer: await this.placer(options),
      url: () => url,
      silenceMs: this.#silenceMs,
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
