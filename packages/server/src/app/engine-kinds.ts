/** Opens the engines of managed clusters: each kind has its placer, and all share the rest. */
import { type EngineKindName, engineKinds, type KubernetesOptions } from "@millrace/contract";
import { KubernetesPlacer } from "../engines/kubernetes/kubernetes-placer.ts";
import type { EngineSettings, OpenEngine } from "../engines/registry.ts";
import type { Placer } from "../engines/runners/placer.ts";
import { RunnerEngine } from "../engines/runners/runner-engine.ts";

/** Opens an engine whose runners this placer places. */
const withPlacer =
  (kind: EngineKindName, placerOf: (settings: EngineSettings) => Placer): OpenEngine =>
  ({ runners, jobsDir, url, ...settings }) =>
    RunnerEngine.open({ isolation: engineKinds[kind].isolation, jobsDir, runners, placer: placerOf(settings), url });

export const engineOpeners: Readonly<Record<string, OpenEngine>> = {
  kubernetes: withPlacer(
    "kubernetes",
    ({ options, secrets }) => new KubernetesPlacer(options as KubernetesOptions, secrets),
  ),
};
