/** No-op jobs on a real Kubernetes cluster, compared with Jobs of the same image that run the same Python process. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { whyNoKubernetes } from "@millrace/testing/programs/kubernetes/kubernetes.ts";
import { jobsNamespace, makeNamespace } from "@millrace/testing/servers/kubernetes/jobs-namespace.ts";
import { Kubernetes } from "@millrace/testing/servers/kubernetes/kubernetes.ts";
import { CuttingProxy } from "../e2e/support/cutting-proxy.ts";
import { KubernetesApi } from "../packages/server/src/engines/kubernetes/kubernetes-api.ts";
import { inFlight } from "./bare.ts";
import { jobRates } from "./cluster-jobs.ts";
import { compare, type Measurement } from "./measure.ts";

const jobs = 20;
const image = "local.test/python:1";
const resources = { cpu: "10m", memory: "256Mi" };
const jobsPath = `/apis/batch/v1/namespaces/${jobsNamespace}/jobs`;
const podsPath = `/api/v1/namespaces/${jobsNamespace}/pods`;

export async function measureKubernetes(): Promise<Measurement[]> {
  if (await whyNoKubernetes()) return [];
  const cluster = await Kubernetes.start();
  const kubeconfig = await makeNamespace(cluster);
  const api = new KubernetesApi({ kubeconfig, context: "" });
  // The server listens on this machine only; pods reach it here.
  const gateway = await CuttingProxy.start(0, cluster.hostAddress);
  try {
    const kubernetes = { image, image_pull_policy: "Never", resources } as const;
    const [ours, other] = await jobRates({
      ...{ jobs, rounds: 3, added: { engine: "kubernetes", max_workers: jobs, kubernetes, secrets: { kubeconfig } } },
      connect(port) {
        gateway.pointAt(port);
        return gateway.url;
      },
      runBare: () => runBare(api),
      untilIdle: () => untilEmpty(api),
    });
    const sides = { ours, other, unit: "jobs/s", otherIs: "Jobs of python3 -c pass" };
    return [compare("no-op PYTHON jobs on a Kubernetes node", ">= 0.8", sides)];
  } finally {
    await gateway.stop();
    await api.close();
    await cluster.stop();
  }
}

/** Creates the Jobs, waits until they have succeeded, and deletes them. */
async function runBare(api: KubernetesApi): Promise<void> {
  const names = new Set<string>();
  await inFlight(jobs, 8, async () => {
    const name = `bare-${randomUUID()}`;
    names.add(name);
    await api.call("POST", jobsPath, { body: bareJob(name) });
  });
  while (names.size > 0) {
    // Polls as rarely as `runMany`.
    await pause(50);
    for (const { metadata, status } of (await api.list<BareJob>(jobsPath, {})).items) {
      if (status?.failed) throw new Error(`the bare Job ${metadata.name} failed`);
      if (status?.succeeded && names.delete(metadata.name))
        await api.call("DELETE", `${jobsPath}/${metadata.name}`, { query: { propagationPolicy: "Background" } });
    }
  }
}

interface BareJob {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly succeeded?: number; readonly failed?: number };
}

const bareJob = (name: string) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: {
    backoffLimit: 0,
    template: {
      spec: {
        restartPolicy: "Never",
        terminationGracePeriodSeconds: 5,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
        containers: [
          {
            ...{ name: "bare", image, imagePullPolicy: "Never", command: ["python3", "-c", "pass"] },
            resources: { requests: resources, limits: { memory: resources.memory } },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
          },
        ],
      },
    },
  },
});

/** Waits until no Job and no pod is left. */
async function untilEmpty(api: KubernetesApi): Promise<void> {
  for (const path of [jobsPath, podsPath]) while ((await api.list(path, {})).items.length > 0) await pause(50);
}
