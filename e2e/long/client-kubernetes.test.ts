/** The job contract on a real Kubernetes cluster, through the unmodified client. */
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { whyNoKubernetes } from "@millrace/testing/programs/kubernetes/kubernetes.ts";
import { jobsNamespace, makeNamespace } from "@millrace/testing/servers/kubernetes/jobs-namespace.ts";
import { Kubernetes } from "@millrace/testing/servers/kubernetes/kubernetes.ts";
import { clusterContract } from "../support/cluster-contract.ts";
import { CuttingProxy } from "../support/cutting-proxy.ts";

const core = `/api/v1/namespaces/${jobsNamespace}`;
const quota = {
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "none" },
  spec: { hard: { pods: "0" } },
};

clusterContract({
  kind: "kubernetes",
  title: "Kubernetes",
  skip: (await whyNoDatachain()) || (await whyNoKubernetes()),
  async start() {
    const kubernetes = await Kubernetes.start();
    const kubeconfig = await makeNamespace(kubernetes);
    // The server listens on this machine only; pods reach it here.
    const gateway = await CuttingProxy.start(0, kubernetes.hostAddress);
    const shown = ["jobs", "pods", "events"].map((kind) =>
      kind === "jobs" ? `/apis/batch/v1/namespaces/${jobsNamespace}/jobs` : `${core}/${kind}`,
    );
    const list = async (path: string) => kubernetes.request<{ items: { metadata: { name: string } }[] }>("GET", path);
    return {
      address: kubernetes.hostAddress,
      env: { MILLRACE_PUBLIC_URL: gateway.url },
      connect: (port) => gateway.pointAt(port),
      options: {
        image: "local.test/python:1",
        image_pull_policy: "Never",
        resources: JSON.stringify({ cpu: "10m", memory: "256Mi" }),
      },
      secrets: { kubeconfig },
      where: { line: "uname -n", output: /^millrace-/ },
      hold: () => kubernetes.request("POST", `${core}/resourcequotas`, JSON.stringify(quota)),
      release: () => kubernetes.request("DELETE", `${core}/resourcequotas/none`),
      listings: async () => JSON.stringify(await Promise.all(shown.map(list))),
      async left() {
        const [jobs, pods] = await Promise.all(shown.slice(0, 2).map(list));
        return [jobs, pods].flatMap((of) => of?.items.map(({ metadata }) => metadata.name) ?? []).join(" ");
      },
      async stop() {
        await gateway.stop();
        await kubernetes.stop();
      },
    };
  },
});
