/** The objects that the Kubernetes engine makes, and what it reads from those of others. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultOptions, type KubernetesOptions } from "@millrace/contract";
import { pendingReason, warningsOf } from "../../src/engines/kubernetes/pending-reasons.ts";
import { jobOf, nameOf, secretOf, times } from "../../src/engines/kubernetes/runner-job.ts";

const usual = defaultOptions("kubernetes") as KubernetesOptions;

const placement = {
  key: "0b5ec5f2-0f2a-4d37-9f0d-7d1d4c1f8a11.12",
  runner: "print('hello')",
  variables: { MILLRACE_RUNNER_CODE: "the-code", MILLRACE_RUNNER_URL: "http://server" },
  workers: 3,
  priority: 5,
  isRepeated: false,
};

describe("the Job of an attempt", () => {
  it("has a name that is valid and belongs to this attempt alone", () => {
    const keys = [
      placement.key,
      "job-1.1",
      "job.11",
      "Job-1.1",
      "job_1.1",
      `${"x".repeat(64)}.1`,
      `${"x".repeat(64)}.2`,
    ];
    const names = keys.map(nameOf);
    assert.equal(new Set(names).size, keys.length);
    for (const name of names) assert.match(name, /^[a-z0-9]([a-z0-9-]{0,55}[a-z0-9])$/);
    assert.equal(names[0], "millrace-0b5ec5f2-0f2a-4d37-9f0d-7d1d4c1f8a11-12");
  });

  it("asks for the resources of all workers, and limits all but processors", () => {
    const resources = { cpu: "500m", memory: "1.5Gi", "nvidia.com/gpu": "1" };
    const { spec } = jobOf(placement, { ...usual, resources });
    assert.deepEqual(spec.template.spec.containers[0]?.resources, {
      requests: { cpu: "1500m", memory: "4.5Gi", "nvidia.com/gpu": "3" },
      limits: { memory: "4.5Gi", "nvidia.com/gpu": "3" },
    });
    assert.deepEqual([times("0.1", 3), times("2", 2), times("0.25Gi", 4)], ["0.3", "4", "1.00Gi"]);
  });

  it("does not contain the code, nor anything else that the Secret has", () => {
    const job = JSON.stringify(jobOf(placement, usual));
    assert.doesNotMatch(job, /the-code|http:\/\/server|hello/);
    assert.match(JSON.stringify(secretOf(placement)), /the-code/);
  });
});

describe("the reason why a pod waits", () => {
  const metadata = { name: "p", uid: "u", creationTimestamp: "2030-01-01T00:00:00Z" };
  const waiting = (reason: string, message: string) =>
    pendingReason({ metadata, status: { containerStatuses: [{ state: { waiting: { reason, message } } }] } });

  it("is the same whether a node pulls an image or waits to pull it again", () => {
    const cause = 'failed to resolve image "x:1": not found';
    assert.equal(waiting("ErrImagePull", cause), `Kubernetes cannot get the image: ${cause}`);
    assert.equal(
      waiting("ImagePullBackOff", `Back-off pulling image "x:1": ErrImagePull: ${cause}`),
      `Kubernetes cannot get the image: ${cause}`,
    );
  });

  it("is what the scheduler says, without what changes from second to second", () => {
    const message = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No victims.";
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
    assert.equal(
      pendingReason({ metadata, status: { conditions } }),
      "Kubernetes has no node for this job: 0/3 nodes are available: 3 Insufficient cpu.",
    );
  });

  it("is empty while nothing is wrong", () => {
    assert.equal(waiting("ContainerCreating", ""), "");
    assert.equal(pendingReason({ metadata }), "");
  });

  it("is one line, and the newest failure counts, not every warning", () => {
    const event = (lastTimestamp: string, message: string) => ({
      involvedObject: { kind: "Job", name: "j" },
      reason: "FailedCreate",
      message,
      lastTimestamp,
    });
    const events = [event("2030-01-01T00:00:02Z", "exceeded\nquota"), event("2030-01-01T00:00:01Z", "earlier")];
    events.push({ ...event("2030-01-01T00:00:03Z", "no name server"), reason: "MissingClusterDNS" });
    assert.deepEqual([...warningsOf(events)], [["Job/j", "Kubernetes: FailedCreate: exceeded quota"]]);
  });
});
