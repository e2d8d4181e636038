/** The objects that bring a runner to a node: a Secret with the runner and its code, and a Job with one pod. */
import { hash } from "node:crypto";
import type { KubernetesOptions } from "@millrace/contract";
import type { Placement } from "../runners/placer.ts";

/** Label of all objects that Millrace makes. */
const ourLabel = { "app.kubernetes.io/managed-by": "millrace" } as const;
export const ourSelector = Object.entries(ourLabel)
  .map(([name, value]) => `${name}=${value}`)
  .join(",");

/** Annotation with the key of the attempt: a key is not always a valid name, nor a valid label. */
export const keyAnnotation = "millrace/attempt";

/** Folders in the pod. */
const folders = { runner: "/millrace/runner", work: "/millrace/work", tmp: "/tmp" } as const;

/** Seconds after which the cluster removes a finished Job by itself: a net, because the server removes it earlier. */
const dayOfSeconds = 24 * 60 * 60;

/** Seconds between TERM and KILL when a pod is deleted. The runner cancels its job before the pod is ever deleted. */
const graceSeconds = 5;

/** The name of the Job and of the Secret. The same key always has the same name, so no attempt gets two Jobs. */
export function nameOf(key: string): string {
  const name = `millrace-${key.replace(".", "-")}`;
  // Kubernetes appends to the name of a Job to name its pods, and puts it into a label of 63 characters at most.
  return /^[a-z0-9-]{1,57}$/.test(name) ? name : `millrace-${hash("sha256", key).slice(0, 40)}`;
}

const metadataOf = (key: string) => ({
  name: nameOf(key),
  labels: ourLabel,
  annotations: { [keyAnnotation]: key },
});

/** The Secret. Only here is the code of the runner; the Job refers to it. */
export const secretOf = ({ key, runner, variables }: Placement) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: metadataOf(key),
  immutable: true,
  stringData: { ...variables, "runner.py": runner },
});

/** The Job. It never repeats its pod: whether there is another attempt is decided by the server. */
export const jobOf = (placement: Placement, options: KubernetesOptions) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: metadataOf(placement.key),
  spec: {
    backoffLimit: 0,
    completions: 1,
    parallelism: 1,
    podReplacementPolicy: "Failed",
    ttlSecondsAfterFinished: dayOfSeconds,
    template: {
      metadata: {
        labels: ourLabel,
        annotations: {
          // An autoscaler that removes an idle node must not end a job for it.
          "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
          ...options.annotations,
          [keyAnnotation]: placement.key,
        },
      },
      spec: podOf(placement, options),
    },
  },
});

function podOf(placement: Placement, options: KubernetesOptions) {
  const { user, node_selector, tolerations, image_pull_secrets, priority_class, runtime_class } = options;
  return {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: graceSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      seccompProfile: { type: "RuntimeDefault" },
    },
    nodeSelector: node_selector,
    tolerations,
    imagePullSecrets: image_pull_secrets.map((name) => ({ name })),
    ...(priority_class === "" ? {} : { priorityClassName: priority_class }),
    ...(runtime_class === "" ? {} : { runtimeClassName: runtime_class }),
    containers: [containerOf(placement, options)],
    volumes: [
      {
        name: "runner",
        secret: { secretName: nameOf(placement.key), items: [{ key: "runner.py", path: "runner.py" }] },
      },
      { name: "work", emptyDir: options.work_size === "" ? {} : { sizeLimit: options.work_size } },
      { name: "tmp", emptyDir: options.work_size === "" ? {} : { sizeLimit: options.work_size } },
      ...options.volumes.map(({ source }, index) => ({ ...source, name: `volume-${index}` })),
    ],
  };
}

function containerOf({ key, variables, workers }: Placement, options: KubernetesOptions) {
  const secret = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: nameOf(key), key: name } } });
  return {
    name: "runner",
    image: options.image,
    ...(options.image_pull_policy === "" ? {} : { imagePullPolicy: options.image_pull_policy }),
    command: [options.python, "-I", "-S", `${folders.runner}/runner.py`],
    workingDir: folders.work,
    env: [
      { name: "MILLRACE_RUNNER_FOLDER", value: folders.work },
      { name: "HOME", value: folders.work },
      ...Object.keys(variables).map(secret),
    ],
    resources: resourcesOf(options.resources, workers),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: options.read_only_root,
    },
    volumeMounts: [
      { name: "runner", mountPath: folders.runner, readOnly: true },
      { name: "work", mountPath: folders.work },
      { name: "tmp", mountPath: folders.tmp },
      ...options.volumes.map(({ mount_path, read_only = false }, index) => ({
        name: `volume-${index}`,
        mountPath: mount_path,
        readOnly: read_only,
      })),
    ],
  };
}

/** Processor time is not limited: what others leave unused would be wasted. Everything else is limited. */
function resourcesOf(perWorker: KubernetesOptions["resources"], workers: number) {
  const requests = Object.fromEntries(
    Object.entries(perWorker).map(([name, quantity]) => [name, times(quantity, workers)]),
  );
  const { cpu: _, ...limits } = requests;
  return { requests, limits };
}

/** Multiplies a quantity such as `500m` or `1.5Gi`. */
export function times(quantity: string, factor: number): string {
  const [, number = "", unit = ""] = /^([0-9.]+)(.*)$/.exec(quantity) ?? [];
  const decimals = number.split(".")[1]?.length ?? 0;
  return `${(Number(number) * factor).toFixed(decimals)}${unit}`;
}
