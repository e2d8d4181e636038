/** Opens the engines of managed clusters: each kind has its placer, and all share the rest. */
import type { KubernetesOptions, KubernetesSecrets, RayOptions, RaySecrets, SlurmOptions } from "@millrace/contract";
import { KubernetesPlacer } from "../engines/kubernetes/kubernetes-placer.ts";
import { RayPlacer } from "../engines/ray/ray-placer.ts";
import type { EngineSettings, OpenEngine } from "../engines/registry.ts";
import type { Placer } from "../engines/runners/placer.ts";
import { RunnerEngine } from "../engines/runners/runner-engine.ts";
import { SlurmPlacer } from "../engines/slurm/slurm-placer.ts";

const byRunner =
  (isolation: "none" | "container", placerOf: (settings: EngineSettings) => Promise<Placer>): OpenEngine =>
  async ({ runners, jobsDir, url, limits, ...settings }) =>
    RunnerEngine.open({ isolation, runners, jobsDir, url, limits, placer: await placerOf(settings) });

/** The contract's schemas have checked options and secrets. */
export const engineOpeners: Readonly<Record<string, OpenEngine>> = {
  slurm: byRunner("none", async ({ options }) => new SlurmPlacer(options as SlurmOptions)),
  ray: byRunner("none", ({ options, secrets }) =>
    RayPlacer.open(options as RayOptions, { token: "", ...secrets } as RaySecrets),
  ),
  kubernetes: byRunner(
    "container",
    async ({ options, secrets }) =>
      new KubernetesPlacer(options as KubernetesOptions, { kubeconfig: "", ...secrets } as KubernetesSecrets),
  ),
};
