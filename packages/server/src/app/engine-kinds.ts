/** Opens the engines of managed clusters: each kind has its placer, and all share the rest. */
import { type EngineKindName, engineKinds, type RayOptions } from "@millrace/contract";
import { RayPlacer } from "../engines/ray/ray-placer.ts";
import type { EngineSettings, OpenEngine } from "../engines/registry.ts";
import type { Placer } from "../engines/runners/placer.ts";
import { RunnerEngine } from "../engines/runners/runner-engine.ts";

type OpenPlacer = (settings: EngineSettings) => Promise<Placer>;

/** Returns a function that opens an engine whose runners this placer brings to their machines. */
const withPlacer =
  (kind: EngineKindName, openPlacer: OpenPlacer): OpenEngine =>
  async ({ jobsDir, runners, url, ...settings }) => {
    const { isolation } = engineKinds[kind];
    return RunnerEngine.open({ isolation, jobsDir, runners, url, placer: await openPlacer(settings) });
  };

export const engineOpeners: Readonly<Record<string, OpenEngine>> = {
  ray: withPlacer("ray", ({ options, secrets: { token = "" } }) => RayPlacer.open(options as RayOptions, { token })),
};
