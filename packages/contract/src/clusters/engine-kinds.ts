/** The kinds of engines that clusters can have, besides the server's own machine: their options and secrets. */
import type { Static, TObject } from "typebox";
import type { ClusterIsolation } from "../clusters.ts";
import { Type } from "../type.ts";
import { KubernetesOptions, KubernetesSecrets } from "./kubernetes-options.ts";
import { RayOptions, RaySecrets } from "./ray-options.ts";
import { SlurmOptions } from "./slurm-options.ts";

interface EngineKind {
  readonly options: TObject;
  /** Secrets that clusters of this kind can have: texts by name. */
  readonly secrets: TObject;
  readonly isolation: ClusterIsolation;
}

export const engineKinds = {
  slurm: { options: SlurmOptions, secrets: Type.Object({}), isolation: "none" },
  ray: { options: RayOptions, secrets: RaySecrets, isolation: "none" },
  kubernetes: { options: KubernetesOptions, secrets: KubernetesSecrets, isolation: "container" },
} as const satisfies Record<string, EngineKind>;

export type EngineKindName = keyof typeof engineKinds;
export const engineKindNames = Object.keys(engineKinds) as EngineKindName[];

/** Options of an engine as a request gives them: an absent one keeps its value, or gets its default. */
const given = <S extends TObject>(schema: S) => {
  const properties = Object.entries(schema.properties).map(([name, field]) => {
    const { default: usual, ...rest } = field as { default?: unknown; description?: string };
    const description = `${rest.description ?? name}; default: ${JSON.stringify(usual)}`;
    return [name, { ...rest, description }];
  });
  return Type.Unsafe<Partial<Static<S>>>({
    type: "object",
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  });
};

/** The options of all kinds. A request has those of the cluster's kind. */
export const givenOptions = {
  slurm: Type.Optional(given(engineKinds.slurm.options)),
  ray: Type.Optional(given(engineKinds.ray.options)),
  kubernetes: Type.Optional(given(engineKinds.kubernetes.options)),
};

/** Returns the defaults of a kind's options. */
export const defaultOptions = (kind: EngineKindName): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(engineKinds[kind].options.properties).map(([name, field]) => [
      name,
      (field as { default?: unknown }).default,
    ]),
  );
