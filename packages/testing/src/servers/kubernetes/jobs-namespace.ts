/** The namespace of the jobs on a cluster for tests: made from deploy/kubernetes/jobs.yaml, as operators make it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { repository } from "../../repository.ts";
import type { Kubernetes } from "./kubernetes.ts";

export const jobsNamespace = "millrace-jobs";
const inNamespace = `namespaces/${jobsNamespace}`;

/** Where objects of each kind are created. */
const paths: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  ServiceAccount: `/api/v1/${inNamespace}/serviceaccounts`,
  Secret: `/api/v1/${inNamespace}/secrets`,
  Role: `/apis/rbac.authorization.k8s.io/v1/${inNamespace}/roles`,
  RoleBinding: `/apis/rbac.authorization.k8s.io/v1/${inNamespace}/rolebindings`,
};

/** Makes the namespace and returns a kubeconfig with the rights that the server has there. */
export async function makeNamespace(cluster: Kubernetes): Promise<string> {
  const file = await readFile(join(repository, "deploy/kubernetes/jobs.yaml"), "utf8");
  for (const object of file.split("\n---\n")) {
    const [, kind = ""] = /^kind: (\w+)$/m.exec(object) ?? [];
    await cluster.request("POST", paths[kind] ?? "", object);
  }
  return cluster.authority.kubeconfigFor(cluster.server, jobsNamespace, { token: await tokenOf(cluster) });
}

/** Waits for the token, which a controller writes into the Secret, and for the account without which no pod starts. */
async function tokenOf(cluster: Kubernetes): Promise<string> {
  for (let tries = 0; tries < 300; tries++) {
    const secret = await cluster.request<{ data?: { token?: string } }>("GET", `${paths["Secret"]}/millrace-token`);
    const accounts = await cluster.request<{ items: { metadata: { name: string } }[] }>(
      "GET",
      paths["ServiceAccount"] ?? "",
    );
    const isComplete = accounts.items.some(({ metadata }) => metadata.name === "default");
    if (secret.data?.token !== undefined && isComplete) return atob(secret.data.token);
    await pause(100);
  }
  throw new Error("the account of the jobs got no token");
}
