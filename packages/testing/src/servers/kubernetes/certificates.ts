/** Certificates of a cluster for tests: an authority, and what it signs. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];

export class Authority {
  readonly #folder: string;

  static async make(folder: string): Promise<Authority> {
    const files = ["-keyout", join(folder, "ca.key"), "-out", join(folder, "ca.crt")];
    await run("openssl", ["req", "-x509", ...newKey, ...files, "-subj", "/CN=test-authority"]);
    return new Authority(folder);
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  path = (name: string) => join(this.#folder, name);
  read = (name: string) => readFile(this.path(name), "utf8");

  /** Makes NAME.crt and NAME.key. Kubernetes takes the user from the subject's CN and the groups from its O. */
  async sign(name: string, subject: string, addresses = ""): Promise<void> {
    const files = ["-keyout", this.path(`${name}.key`), "-out", this.path(`${name}.crt`)];
    const by = ["-CA", this.path("ca.crt"), "-CAkey", this.path("ca.key")];
    const also = addresses === "" ? [] : ["-addext", `subjectAltName=${addresses}`];
    await run("openssl", ["req", "-x509", ...by, ...newKey, ...files, "-subj", subject, ...also]);
  }

  /** A kubeconfig for the certificate NAME, as JSON with everything in it. */
  async kubeconfig(name: string, server: string, namespace = "default"): Promise<string> {
    return this.kubeconfigFor(server, namespace, {
      "client-certificate-data": btoa(await this.read(`${name}.crt`)),
      "client-key-data": btoa(await this.read(`${name}.key`)),
    });
  }

  async kubeconfigFor(server: string, namespace: string, user: object): Promise<string> {
    const cluster = { server, "certificate-authority-data": btoa(await this.read("ca.crt")) };
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster }],
      users: [{ name: "test", user }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
      "current-context": "test",
    });
  }
}
