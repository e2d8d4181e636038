/** The chart in deploy/helm: Helm accepts it, and a real API server accepts its objects. No pod is started from it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { helm, whyNoHelm } from "@millrace/testing/programs/helm.ts";
import { whyNoKubernetes } from "@millrace/testing/programs/kubernetes/kubernetes.ts";
import { repository } from "@millrace/testing/repository.ts";
import { jobsNamespace } from "@millrace/testing/servers/kubernetes/jobs-namespace.ts";
import { Kubernetes } from "@millrace/testing/servers/kubernetes/kubernetes.ts";

const noKubernetes = await whyNoKubernetes();
const chart = join(repository, "deploy/helm/millrace");
const url = "publicUrl=https://millrace.example.com";

/** Values that use everything that the chart has. */
const everything = [
  ...[url, "setup=true", "image.pullPolicy=Always", "image.pullSecrets[0]=registry", "settingsSecret=settings"],
  ...["settings.MILLRACE_MAX_WORKERS=4", "persistence.storageClass=fast", "service.type=NodePort"],
  ...["ingress.enabled=true", "ingress.className=nginx", "ingress.tlsSecret=certificate", "nodeSelector.disk=ssd"],
  ...["ingress.annotations.example\\.com/body-size=10g", "tolerations[0].key=x", "tolerations[0].operator=Exists"],
];

/** Objects of the chart with these values, as YAML. */
async function objectsOf(...values: string[]): Promise<string[]> {
  const text = await helm("template", "millrace", chart, ...values.flatMap((value) => ["--set", value]));
  return text.split(/^---$/m).filter((object) => object.trim() !== "");
}
const kindOf = (object: string) => /^kind: (\w+)$/m.exec(object)?.[1] ?? "";
const find = (objects: readonly string[], kind: string) => objects.find((object) => kindOf(object) === kind) ?? "";

/** Paths of the API at which objects are created. */
const paths: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  Service: "/api/v1/namespaces/default/services",
  ServiceAccount: "/api/v1/namespaces/default/serviceaccounts",
  Secret: "/api/v1/namespaces/default/secrets",
  StatefulSet: "/apis/apps/v1/namespaces/default/statefulsets",
  Ingress: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
  Role: `/apis/rbac.authorization.k8s.io/v1/namespaces/${jobsNamespace}/roles`,
  RoleBinding: `/apis/rbac.authorization.k8s.io/v1/namespaces/${jobsNamespace}/rolebindings`,
};

describe("the Helm chart", { skip: await whyNoHelm() }, () => {
  it("passes Helm's own check, and asks for the URL that it needs", async () => {
    assert.match(await helm("lint", "--strict", chart, "--set", url), /0 chart\(s\) failed/);
    await assert.rejects(helm("template", "millrace", chart), /publicUrl is missing/);
    await assert.rejects(objectsOf("publicUrl=millrace.example.com"), /publicUrl must begin with http/);
  });

  it("gives the server the rights of deploy/kubernetes/jobs.yaml, and no others", async () => {
    const rulesOf = (object: string) => object.slice(object.indexOf("\nrules:")).trim();
    const file = (await readFile(join(repository, "deploy/kubernetes/jobs.yaml"), "utf8")).split("\n---\n");
    const objects = await objectsOf(url);
    assert.equal(rulesOf(find(objects, "Role")), rulesOf(find(file, "Role")));
    const without = await objectsOf(url, "jobs.enabled=false");
    assert.deepEqual(without.map(kindOf).sort(), ["Secret", "Service", "ServiceAccount", "StatefulSet"]);
    assert.doesNotMatch(find(without, "StatefulSet"), /serviceAccountToken/);
  });

  it("makes a key of 32 bytes, unless there is one", async () => {
    const [, data = ""] = /MILLRACE_SECRET_KEY: (\S+)/.exec(find(await objectsOf(url), "Secret")) ?? [];
    assert.equal(Buffer.from(atob(data), "base64").length, 32);
    const own = await objectsOf(url, "secretKey.existingSecret=mine");
    assert.equal(find(own, "Secret"), "");
    assert.match(find(own, "StatefulSet"), /secretKeyRef:\n +name: mine\n/);
  });

  describe("on a real API server", { skip: noKubernetes }, () => {
    let cluster: Kubernetes;
    before(async () => {
      cluster = await Kubernetes.start();
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: jobsNamespace } };
      await cluster.request("POST", "/api/v1/namespaces", JSON.stringify(namespace));
    });
    after(() => cluster.stop());

    for (const [name, values] of [
      ["few values", [url]],
      ["all values", everything],
    ] as const)
      it(`is accepted with ${name}, with no field that Kubernetes does not know`, async () => {
        const objects = await objectsOf(...values);
        // What `kubectl apply --dry-run=server` asks: everything but the writing is done.
        for (const object of objects) {
          const kind = kindOf(object);
          if (kind === "Namespace") continue;
          const query = "?dryRun=All&fieldValidation=Strict";
          const made = await cluster.request<{ kind: string }>("POST", `${paths[kind]}${query}`, object);
          assert.equal(made.kind, kind);
        }
        assert.equal(objects.length, name === "few values" ? 7 : 8);
        const wrong = find(objects, "StatefulSet").replace("replicas: 1", "replicas: 1\n  replica: 1");
        const path = `${paths["StatefulSet"]}?dryRun=All&fieldValidation=Strict`;
        await assert.rejects(cluster.request("POST", path, wrong), /unknown field .*replica/);
      });
  });
});
