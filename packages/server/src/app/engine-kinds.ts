/**
 * Opens the engines of managed clusters: each kind has its placer, and all share the rest. A placer is imported with the
 * first cluster of its kind: most servers have none, and HTTP clients take megabytes.
 */
import type {
  KubernetesOptions,
  KubernetesSecrets,
  RayOptions,
  RaySecrets,
  RunnerOptions,
  SlurmOptions,
} from "@millrace/contract";
import type { RemoteLimits } from "../engines/limit-words.ts";
import type { EngineSettings, OpenEngine } from "../engines/registry.ts";
import type { Placer } from "../engines/runners/placer.ts";
import { RunnerEngine, type RunnerEngineOptions } from "../engines/runners/runner-engine.ts";

const byRunner =
  (isolation: "none" | "container", placerOf: (settings: EngineSettings) => Promise<Placer>): OpenEngine =>
  async ({ runners, jobsDir, url, limits, ...settings }) =>
    RunnerEngine.open({
      ...{ isolation, runners, jobsDir, url },
      ...termsOf(settings.options as RunnerOptions, limits),
      placer: await placerOf(settings),
    });

const gibibyte = 1024 ** 3;

/** What the options of all kinds say. A limit of the cluster replaces the server's. */
export function termsOf(options: RunnerOptions, limits: RemoteLimits): Partial<RunnerEngineOptions> {
  const { job_seconds, job_memory, start_seconds, lease_seconds } = options;
  const { environments, environments_days, environments_size, environments_packed } = options;
  const own = {
    ...(job_seconds === 0 ? {} : { seconds: job_seconds }),
    ...(job_memory === 0 ? {} : { memory: Math.round(job_memory * gibibyte) }),
  };
  const names = Object.keys(own).map((limit) => [limit, `option job_${limit} of its cluster`]);
  return {
    startSeconds: start_seconds,
    leaseSeconds: lease_seconds,
    ...(environments === ""
      ? {}
      : { environments: { folder: environments, days: environments_days, bytes: environments_size * gibibyte } }),
    ...(environments_packed ? { packs: true } : {}),
    limits: { ...limits, ...own },
    limitSettings: Object.fromEntries(names),
  };
}

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
