/** Opens the engines of managed clusters: each kind has its placer, and all share the rest. */
import type {
  KubernetesOptions,
  KubernetesSecrets,
  RayOptions,
  RaySecrets,
  RunnerOptions,
  SlurmOptions,
} from "@millrace/contract";
import { KubernetesPlacer } from "../engines/kubernetes/kubernetes-placer.ts";
import { RayPlacer } from "../engines/ray/ray-placer.ts";
import type { EngineSettings, OpenEngine } from "../engines/registry.ts";
import type { Placer } from "../engines/runners/placer.ts";
import { RunnerEngine, type RunnerEngineOptions } from "../engines/runners/runner-engine.ts";
import { SlurmPlacer } from "../engines/slurm/slurm-placer.ts";

const byRunner =
  (isolation: "none" | "container", placerOf: (settings: EngineSettings) => Promise<Placer>): OpenEngine =>
  async ({ runners, jobsDir, url, ...settings }) =>
    RunnerEngine.open({
      ...{ isolation, runners, jobsDir, url },
      ...termsOf(settings.options as RunnerOptions),
      placer: await placerOf(settings),
    });

const gibibyte = 1024 ** 3;

/** What the options of all kinds say. */
export function termsOf(options: RunnerOptions): Partial<RunnerEngineOptions> {
  const bytes = (gibibytes: number) => Math.round(gibibytes * gibibyte);
  return {
    startSeconds: options.start_seconds,
    leaseSeconds: options.lease_seconds,
    ...(options.environments === "" ? {} : { environments: options.environments }),
    limits: {
      seconds: options.job_seconds,
      memory: bytes(options.job_memory),
      disk: bytes(options.job_disk),
      log: bytes(options.job_log),
      processes: options.job_processes,
      // Nodes have their own limits of open files.
      openFiles: 0,
    },
  };
}

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
