/** Why a pod has not started yet, and how it ended, in words for the job's owner. */
import type { KubernetesEvent, Pod } from "./objects.ts";

/** States of a container that cannot start because of its image. */
const imageTroubles = new Set(["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"]);

/** States of a container in which nothing is wrong so far. */
const usualStates = new Set(["ContainerCreating", "PodInitializing"]);

const oneLine = (text: string) => text.replace(/\s+/g, " ").trim().slice(0, 500);

/** Returns why the pod waits; empty if its status does not say so. */
export function pendingReason({ status = {} }: Pod): string {
  const { reason = "", message = "" } = status.containerStatuses?.[0]?.state?.waiting ?? {};
  if (imageTroubles.has(reason)) return imageTrouble(reason, message);
  if (reason !== "" && !usualStates.has(reason)) return oneLine(`Kubernetes: ${reason}: ${message}`);
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False") return "";
  // The advice on preemption that follows changes often, and concerns no owner of a job.
  return oneLine(`Kubernetes has no node for this job: ${(scheduled.message ?? "").split(" preemption:")[0]}`);
}

/** A node alternates between trying and waiting; without the words of waiting the reason stays the same. */
const imageTrouble = (reason: string, message: string) =>
  oneLine(`Kubernetes cannot get the image: ${message.split("ErrImagePull: ").at(-1) || reason}`);

/** Returns how a pod ended: why it was killed, or the exit code of the runner. */
export function howEnded({ metadata, status = {} }: Pod): string {
  const { reason = "", message = "", exitCode } = status.containerStatuses?.[0]?.state?.terminated ?? {};
  if (status.reason) return oneLine(`Kubernetes: ${status.reason}: ${status.message ?? ""}`);
  if (reason === "OOMKilled") return "Kubernetes: its pod used more memory than its limit";
  if (reason === "StartError") return oneLine(`Kubernetes could not start its container: ${message}`);
  if (exitCode !== undefined) return `Kubernetes: its pod ended with exit code ${exitCode}`;
  return `Kubernetes: its pod ${metadata.name} is gone with its node`;
}

/**
 * Returns the newest failure about each object, by its kind and name. Other warnings do not keep a pod from starting,
 * for example that a node has no name server for pods.
 */
export function warningsOf(events: readonly KubernetesEvent[]): Map<string, string> {
  const failures = events.filter(({ reason = "" }) => reason.startsWith("Failed"));
  const sorted = failures.toSorted((a, b) => timeOf(a) - timeOf(b));
  return new Map(
    sorted.map(({ involvedObject: { kind = "", name = "" }, reason = "", message = "" }) => [
      `${kind}/${name}`,
      oneLine(`Kubernetes: ${reason}: ${message}`),
    ]),
  );
}

const timeOf = ({ lastTimestamp, eventTime }: KubernetesEvent) => Date.parse(lastTimestamp ?? eventTime ?? "") || 0;
