/** The job contract on a real Ray cluster, through the unmodified client; whole in the long form. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { RayCluster, rayPython, whyNoRay } from "@millrace/testing/servers/ray.ts";
import { clusterContract } from "./support/cluster-contract.ts";
import type { Millrace } from "./support/millrace.ts";

const token = "test-token-".repeat(4);

clusterContract({
  kind: "ray",
  title: "Ray",
  skip: (await whyNoDatachain()) || (await whyNoRay()),
  isSlow: true,
  async start() {
    const ray = await RayCluster.start({ token, cpusPerNode: 4 });
    const folder = await mkdtemp(join(tmpdir(), "millrace-ray-jobs-"));
    const ask = async (path: string) => {
      const answer = await fetch(ray.address + path, { headers: { authorization: `Bearer ${token}` } });
      return answer.text();
    };
    const needing = (resources: string) => (cli: Millrace) =>
      cli.print("cluster", "set", "ray", "--option", `resources=${resources}`);
    return {
      address: "127.0.0.1",
      options: { address: ray.address, python: rayPython(), folder },
      secrets: { token },
      environments: join(folder, "environments"),
      where: { line: "pwd", output: new RegExp(`^${folder}/`) },
      // No node has this resource.
      hold: needing("moon=1"),
      release: needing(""),
      listings: async () =>
        (
          await Promise.all(["/api/jobs/", "/api/v0/actors?detail=true", "/api/v0/runtime_envs?detail=true"].map(ask))
        ).join("\n"),
      // Ray cannot take back a job that waits; it must not run it.
      left: async () => {
        const jobs = JSON.parse(await ask("/api/jobs/")) as { status: string; submission_id: string }[];
        return jobs
          .filter(({ status }) => status === "RUNNING")
          .map(({ submission_id }) => submission_id)
          .join(" ");
      },
      async stop() {
        await ray.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
