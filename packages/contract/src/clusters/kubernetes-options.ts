/** Options and secrets of a cluster whose jobs run on Kubernetes. */
import type { Static } from "typebox";
import { oneOf } from "../schema.ts";
import { Type } from "../type.ts";
import { runnerOptions } from "./runner-options.ts";

const Quantity = Type.String({ pattern: "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$" });
const Path = Type.String({ pattern: "^/[^:]*$", maxLength: 255 });

const Volume = Type.Object(
  {
    mount_path: Path,
    read_only: Type.Optional(Type.Boolean()),
    source: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
);

export const KubernetesOptions = Type.Object(
  {
    context: Type.String({ default: "", maxLength: 255, description: "context of the kubeconfig; empty for its own" }),
    namespace: Type.String({
      default: "",
      pattern: "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$",
      description: "namespace of the jobs; empty for that of the context, or of the server's own pod",
    }),
    image: Type.String({
      default: "python:3.13",
      minLength: 1,
      maxLength: 512,
      description: "image of the pods; it needs Python 3.9 or newer and a shell, and git for jobs with a repository",
    }),
    image_pull_policy: oneOf(["", "Always", "IfNotPresent", "Never"], {
      default: "",
      description: "when nodes pull the image; empty for the rule of Kubernetes",
    }),
    image_pull_secrets: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
      default: [],
      maxItems: 16,
      description: "names of secrets in the namespace with which nodes pull the image",
    }),
    python: Type.String({
      default: "python3",
      minLength: 1,
      maxLength: 255,
      description: "interpreter in the image that runs the runner, and jobs that ask for no version",
    }),
    resources: Type.Record(Type.String(), Quantity, {
      default: { cpu: "1", memory: "2Gi" },
      maxProperties: 16,
      description:
        "what one worker gets, as quantities of Kubernetes; requested for each worker of a job, and all but `cpu` is also the limit",
    }),
    node_selector: Type.Record(Type.String(), Type.String({ maxLength: 63 }), {
      default: {},
      maxProperties: 32,
      description: "labels that a node must have",
    }),
    tolerations: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      default: [],
      maxItems: 32,
      description: "tolerations of the pods, as in a pod's `tolerations`",
    }),
    volumes: Type.Array(Volume, {
      default: [],
      maxItems: 16,
      description:
        "further volumes, each with `mount_path`, `source` (as in a pod's `volumes`, without the name) and perhaps `read_only`",
    }),
    work_size: Type.String({
      default: "",
      pattern: "^([0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?)?$",
      description: "the most that a job's own files may occupy; empty for no limit but the node's",
    }),
    user: Type.Integer({
      default: 1000,
      minimum: 1,
      maximum: 2_147_483_647,
      description: "user id and group id of the processes in a pod; never 0",
    }),
    read_only_root: Type.Boolean({
      default: true,
      description: "whether the files of the image are read-only; jobs write to their own folder and to /tmp",
    }),
    priority_class: Type.String({ default: "", maxLength: 253, description: "priority class of the pods" }),
    runtime_class: Type.String({
      default: "",
      maxLength: 253,
      description: "runtime class of the pods, for example of a sandbox",
    }),
    annotations: Type.Record(Type.String(), Type.String({ maxLength: 10_000 }), {
      default: {},
      maxProperties: 32,
      description: "further annotations of the pods",
    }),
    ...runnerOptions,
  },
  { $id: "KubernetesOptions", additionalProperties: false },
);
export type KubernetesOptions = Static<typeof KubernetesOptions>;

export const KubernetesSecrets = Type.Object(
  {
    kubeconfig: Type.String({
      default: "",
      maxLength: 1_000_000,
      description:
        "a kubeconfig as JSON with its certificates in it; empty if the server itself runs in the Kubernetes cluster",
    }),
  },
  { additionalProperties: false },
);
export type KubernetesSecrets = Static<typeof KubernetesSecrets>;
