/**
 * Datasets for tests of backups: created by jobs with the real library, read back with the real client, with known
 * rows.
 */
import assert from "node:assert/strict";
import { type Client, type Job, routes } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import type { TestServer } from "@millrace/testing/millrace/server.ts";
import { Datachain } from "./datachain.ts";

/** The name under which a dataset was saved determines its rows. */
const numbersOf = (name: string) => {
  const seed = [...name.replace(/_renamed$/, "_named")].reduce(
    (sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_003,
    7,
  );
  return [...Array(5).keys()].map((index) => seed + index);
};

const saveLine = (name: string) => `dc.read_values(n=${JSON.stringify(numbersOf(name))}).save(${JSON.stringify(name)})`;

const saving = (names: readonly string[], more = "") =>
  python(`import datachain as dc\n${names.map(saveLine).join("\n")}\n${more}\n`);

export async function saveDatasets(client: Client, names: readonly string[], more = ""): Promise<Job> {
  const { job, log } = await runJob(client, saving(names, more));
  assert.equal(job.status, "COMPLETE", `${job.error_message}\n${log}`);
  return job;
}

/** Short names of live datasets. */
export async function listNames(client: Client): Promise<string[]> {
  const datasets = await client.call(routes.listDatasets, { query: {} });
  return datasets.map(({ name }) => name);
}

/** Downloads each with the unmodified client into an empty folder, and checks its rows. */
export async function assertReadable(server: TestServer, token: string, names: readonly string[]): Promise<void> {
  const client = await Datachain.create({ url: server.url, token, team: "main" });
  try {
    const script = `import datachain as dc
for name in ${JSON.stringify(names)}:
    print("rows", name, *sorted(dc.read_dataset("@admin.default." + name).to_values("n")))`;
    const { code, stdout, stderr } = await client.script(script);
    assert.equal(code, 0, stdout + stderr);
    const lines = stdout.split("\n").filter((line) => line.startsWith("rows "));
    assert.deepEqual(
      lines,
      names.map((name) => `rows ${name} ${numbersOf(name).join(" ")}`),
    );
  } finally {
    await client.dispose();
  }
}

/** Jobs that save datasets, remove and rename them, until stopped. */
export function dataLoad(client: Client, prefix: string) {
  let stopped = false;
  /** Datasets in the registry that the load no longer changes. */
  const lasting: string[] = [];
  const works = async (worker: string) => {
    for (let round = 0; !stopped; round++) {
      const name = (what: string) => `${prefix}_${worker}_${round}_${what}`;
      const names = ["lasting", "removed", "named"].map(name);
      // The job itself removes one, so that the warehouse changes before the registry knows.
      await saveDatasets(client, names, `dc.delete_dataset(${JSON.stringify(name("removed"))})`);
      lasting.push(name("lasting"));
      const new_name = name("renamed");
      await client.request(routes.editDataset, { body: { name: name("named"), new_name } });
      await client.call(routes.removeDataset, { body: { name: new_name, force: true } });
    }
  };
  const done = Promise.all(["a", "b"].map(works));
  done.catch(() => {});
  return {
    lasting,
    async stop() {
      stopped = true;
      await done;
    },
  };
}
