/**
 * Places runners on Kubernetes: a Job with one pod for each attempt. The name of the Job is made from the attempt's key,
 * so that a Job whose creation was interrupted is found again. Lists are the truth; nothing depends on a watch.
 */
import type { KubernetesOptions, KubernetesSecrets } from "@millrace/contract";
import { CannotStart, EngineUnreachable } from "../engine.ts";
import type { EndedRunner, Placed, Placement, Placer } from "../runners/placer.ts";
import { KubernetesApi, Refused } from "./kubernetes-api.ts";
import type { Job, KubernetesEvent, Pod } from "./objects.ts";
import { howEnded, pendingReason, warningsOf } from "./pending-reasons.ts";
import { jobOf, keyAnnotation, nameOf, ourSelector, secretOf } from "./runner-job.ts";

/** Events are read at most this often, and only while an object waits that says nothing of why. */
const eventsMs = 10_000;

/** An object that waits for longer than this many milliseconds may have a warning. */
const usualWaitMs = 3000;

/** A pod that should have ended this many milliseconds ago is on a node that no longer answers. */
const overdueMs = 60_000;

export class KubernetesPlacer implements Placer {
  readonly #options: KubernetesOptions;
  readonly #api: KubernetesApi;
  #warnings: { readonly at: number; readonly of: ReadonlyMap<string, string> } | undefined;

  constructor(options: KubernetesOptions, { kubeconfig }: KubernetesSecrets) {
    this.#options = options;
    this.#api = new KubernetesApi({ kubeconfig, context: options.context });
  }

  async place(placement: Placement): Promise<string> {
    // The Secret comes first: a pod that finds none would wait a minute for it.
    await this.#create("secrets", "v1", secretOf(placement));
    const uid =
      (await this.#create("jobs", "batch/v1", jobOf(placement, this.#options))) ?? (await this.#adopt(placement.key));
    await this.#giveSecretTo(placement.key, uid);
    return uid;
  }

  /** Creates an object and returns its uid; undefined if there is one of that name. */
  async #create(kind: "secrets" | "jobs", version: string, body: object): Promise<string | undefined> {
    try {
      const made = await this.#api.call<Job>("POST", await this.#path(kind, version), { body });
      return made.metadata.uid;
    } catch (error) {
      if (error instanceof Refused && error.status === 409) return undefined;
      throw refusal(error);
    }
  }

  /** Returns the uid of the Job that an earlier submission of the same attempt has made. */
  async #adopt(key: string): Promise<string> {
    const name = nameOf(key);
    const { metadata } = await this.#api
      .call<Job>("GET", `${await this.#path("jobs", "batch/v1")}/${name}`)
      .catch((error) => {
        throw refusal(error);
      });
    if (metadata.annotations?.[keyAnnotation] !== key)
      throw new CannotStart(`Kubernetes has a Job ${name} that does not belong to this job.`);
    return metadata.uid;
  }

  /** Makes the Job the owner of the Secret: the cluster removes them together, should the server never do it. */
  async #giveSecretTo(key: string, uid: string): Promise<void> {
    const name = nameOf(key);
    const body = { metadata: { ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name, uid }] } };
    const path = `${await this.#path("secrets", "v1")}/${name}`;
    try {
      await this.#api.call("PATCH", path, { body, type: "application/merge-patch+json" });
    } catch (error) {
      // It is not there if the attempt was removed in between.
      if (!(error instanceof Refused && error.status === 404)) throw refusal(error);
    }
  }

  async list(): Promise<Map<string, Placed>> {
    try {
      const query = { labelSelector: ourSelector };
      const [jobs, pods] = await Promise.all([
        this.#api.list<Job>(await this.#path("jobs", "batch/v1"), query),
        this.#api.list<Pod>(await this.#path("pods", "v1"), query),
      ]);
      return await this.#placed(jobs.items, pods.items, pods.now);
    } catch (error) {
      throw error instanceof Refused ? unreachable(error) : error;
    }
  }

  /** Lists again, because a runner may have ended after the list that does not have it. */
  async ended(keys: readonly string[]): Promise<Map<string, EndedRunner>> {
    const wanted = new Set(keys);
    try {
      const pods = await this.#api.list<Pod>(await this.#path("pods", "v1"), { labelSelector: ourSelector });
      const ended = pods.items.filter((pod) => wanted.has(keyOf(pod)) && isOver(pod, pods.now));
      return new Map(ended.map((pod) => [keyOf(pod), { how: howEnded(pod), isCertain: isTerminated(pod) }]));
    } catch (error) {
      throw error instanceof Refused ? unreachable(error) : error;
    }
  }

  async #placed(jobs: readonly Job[], pods: readonly Pod[], now: number): Promise<Map<string, Placed>> {
    const placed = new Map<string, Placed>();
    const hadPod = new Set<string>();
    for (const pod of pods) {
      const key = keyOf(pod);
      hadPod.add(key);
      if (!isOver(pod, now)) placed.set(key, await this.#pod(pod, now));
    }
    for (const job of jobs)
      if (!hadPod.has(keyOf(job)) && !isFinished(job))
        placed.set(keyOf(job), { isRunning: false, reason: await this.#warning("Job", job, now) });
    return placed;
  }

  async #pod(pod: Pod, now: number): Promise<Placed> {
    if (pod.status?.phase !== "Pending") return { isRunning: true, reason: "" };
    return { isRunning: false, reason: pendingReason(pod) || (await this.#warning("Pod", pod, now)) };
  }

  /** Returns the newest warning about an object that has waited for a while. */
  async #warning(kind: "Job" | "Pod", { metadata }: Job | Pod, now: number): Promise<string> {
    if (now - Date.parse(metadata.creationTimestamp) < usualWaitMs) return "";
    if (!this.#warnings || performance.now() - this.#warnings.at >= eventsMs)
      this.#warnings = { at: performance.now(), of: warningsOf(await this.#events()) };
    return this.#warnings.of.get(`${kind}/${metadata.name}`) ?? "";
  }

  async #events(): Promise<readonly KubernetesEvent[]> {
    const query = { fieldSelector: "type=Warning" };
    try {
      return (await this.#api.list<KubernetesEvent>(await this.#path("events", "v1"), query)).items;
    } catch (error) {
      // Without the right to read events, reasons are fewer, and everything else works.
      if (error instanceof Refused && error.status === 403) return [];
      throw error;
    }
  }

  /** Removes the Job, and with it its pod, in the background. */
  async remove(key: string): Promise<void> {
    const name = nameOf(key);
    for (const path of [await this.#path("jobs", "batch/v1"), await this.#path("secrets", "v1")])
      try {
        await this.#api.call("DELETE", `${path}/${name}`, { query: { propagationPolicy: "Background" } });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.status !== 404) throw unreachable(error);
      }
  }

  close = () => this.#api.close();

  async #path(kind: "jobs" | "pods" | "secrets" | "events", version: string): Promise<string> {
    const namespace = this.#options.namespace || (await this.#api.namespace());
    return `${version === "v1" ? "/api/v1" : `/apis/${version}`}/namespaces/${namespace}/${kind}`;
  }
}

const keyOf = ({ metadata }: Job | Pod) => metadata.annotations?.[keyAnnotation] ?? "";

const isFinished = ({ metadata, status }: Job) =>
  metadata.deletionTimestamp !== undefined ||
  (status?.conditions ?? []).some(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );

/** Whether the pod has ended, or should have ended long ago on a node that no longer answers. */
const isOver = ({ metadata, status }: Pod, now: number) =>
  status?.phase === "Succeeded" ||
  status?.phase === "Failed" ||
  (metadata.deletionTimestamp !== undefined && now - Date.parse(metadata.deletionTimestamp) > overdueMs);

/** Whether the pod's node has told how its container ended. Other ends are the cluster's guess. */
const isTerminated = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.terminated !== undefined;

/** Says what a refused creation means. Only what is wrong with this very job ends it. */
function refusal(error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  const isDenied = error.status === 403 && /denied the request/.test(error.message);
  if (isDenied || [400, 413, 422].includes(error.status))
    return new CannotStart(`Kubernetes refuses this job: ${error.message}`);
  return unreachable(error);
}

/** A missing right, namespace or quota is the administrator's to repair. It costs no attempt. */
const unreachable = (error: Refused) => new EngineUnreachable(`Kubernetes: ${error.message}`, { cause: error });
