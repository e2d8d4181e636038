/**
 * Opens the engines of managed clusters: each kind has its placer, and all share the rest. A placer is imported with the
 * first cluster of its kind: most servers have none, and HTTP clients take megabytes.
 */
import type { KubernetesOptions, KubernetesSecrets, RayOptions, RaySecrets, SlurmOptions } from "@millrace/contract";
import type { EngineSettings, OpenEngine } from "../engines/registry.ts";
import type { Placer } from "../engines/runners/placer.ts";
import { RunnerEngine } from "../engines/runners/runner-engine.ts";

const byRunner =
  (isolation: "none" | "container", placerOf: (settings: EngineSettings) => Promise<Placer>): OpenEngine =>
  async ({ runners, jobsDir, url, limits, ...settings }) =>
    RunnerEngine.open({ isolation, runners, jobsDir, url, limits, placer: await placerOf(settings) });

/** The contract's schemas have checked options and secrets. */
export const engineOpeners: Readonly<Record<string, OpenEngine>> = {
  slurm: byRunner("none", async ({ options }) => {
    const { SlurmPlacer } = await import("../engines/slurm/slurm-placer.ts");
    return new SlurmPlacer(options as SlurmOptions);
  }),
  ray: byRunner("none", async ({ options, secrets }) => {
    const { RayPlacer } = await import("../engines/ray/ray-placer.ts");
    return RayPlacer.open(options as RayOptions, { token: "", ...secrets } as RaySecrets);
  }),
  kubernetes: byRunner("container", async ({ options, secrets }) => {
    const { KubernetesPlacer } = await import("../engines/kubernetes/kubernetes-placer.ts");
    return new KubernetesPlacer(options as KubernetesOptions, { kubeconfig: "", ...secrets } as KubernetesSecrets);
  }),
};
