/** Changes to a team's datasets between the rows of a backup and the copy of its warehouse; with the real library. */
import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import type { Client } from "@millrace/contract";
import { createJob, python, readLog, runJob, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { unconfined as confinement } from "@millrace/testing/millrace/unconfined.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { takeBackup } from "../../src/admin/backup/backup.ts";
import { restoreBackup } from "../../src/admin/backup/restore.ts";
import { verifyBackup } from "../../src/admin/backup/verify.ts";
import { openConfinement } from "../../src/engines/local/isolation/open-confinement.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { BackupWarehouses } from "../../src/warehouses/backup-warehouses.ts";
import { Warehouses } from "../../src/warehouses/warehouses.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { placeIn } from "../support/place-in.ts";

const skip = await whyNoDatachain();
const quiet = { onProgress: () => {}, now: Date.now };
const needsRoot = process.getuid?.() === 0 ? false : "needs root";
const unconfined = ({ warehouses }: DataFolder) => new BackupWarehouses(warehouses, () => []);

/** Changes the warehouse after the rows were written and before the warehouse is copied. */
class RacingStores extends BackupWarehouses {
  readonly #race: () => Promise<void>;

  constructor(dataDir: string, race: () => Promise<void>) {
    super(new DataFolder(dataDir).warehouses, () => []);
    this.#race = race;
  }

  override async withCopy<T>(...args: Parameters<typeof BackupWarehouses.prototype.withCopy<T>>): Promise<T> {
    await this.#race();
    return super.withCopy(...args);
  }
}

describe("between the rows of a backup and the copy of a warehouse", { skip }, () => {
  let server: InProcessServer;
  let client: Client;
  let folder: string;
  before(async () => {
    server = await startInProcess({ ...withLibrary, MILLRACE_STORE_COPIES: "0", MILLRACE_ISOLATION: "none" });
    client = await server.client();
    folder = await mkdtemp(join(tmpdir(), "millrace-racing-"));
    await chmod(folder, 0o711);
    const names = ["stays", "goes", "renamed"].map((name) => `dc.read_values(n=[1, 2]).save('${name}')`);
    const { job, log } = await runJob(client, python(`import datachain as dc\n${names.join("\n")}\n`));
    assert.equal(job.status, "COMPLETE", log);
  });
  after(async () => {
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  async function restored(name: string, stores: BackupWarehouses, open = async (data: DataFolder) => unconfined(data)) {
    const [backup, dataDir] = [join(folder, name), join(folder, `${name}-data`)];
    const location = await placeIn(server.dataDir);
    const manifest = await takeBackup(location, backup, { ...quiet, stores, keyFile: undefined });
    const openStores = (data = new DataFolder(dataDir)) => open(data);
    const { problems } = await verifyBackup(backup, { ...quiet, workDir: folder, openStores });
    assert.deepEqual(problems, [], "the backup says itself what was removed");
    await restoreBackup(await placeIn(dataDir), backup, {
      ...quiet,
      openStores,
      cancelQueued: true,
    });
    return { manifest, dataDir };
  }

  /** Registered live versions by name; true if their rows are in the warehouse. */
  async function registered(dataDir: string): Promise<Record<string, boolean>> {
    const store = await openStore(storeIn(dataDir));
    const rows = new DatabaseSync(join(dataDir, "team-stores/1/data/rows.db"), { readOnly: true });
    const versions = await store.db
      .selectFrom("dataset_versions")
      .innerJoin("datasets", "datasets.id", "dataset_versions.dataset_id")
      .select(["datasets.name", "dataset_versions.rows_table"])
      .where("dataset_versions.removed_at", "is", null)
      .orderBy("datasets.name")
      .execute();
    const count = rows.prepare("select count(*) as found from sqlite_schema where name = ?");
    const found = versions.map(({ name, rows_table }) => [name, count.get(rows_table)?.["found"] === 1] as const);
    rows.close();
    await store.close();
    return Object.fromEntries(found);
  }

  const uuidOf = async (name: string) =>
    (
      await server.store.db
        .selectFrom("dataset_versions")
        .innerJoin("datasets", "datasets.id", "dataset_versions.dataset_id")
        .select("dataset_versions.uuid")
        .where("datasets.name", "=", name)
        .executeTakeFirstOrThrow()
    ).uuid;

  it("a running job saves a version: after a restore the version is in the registry and the job is FAILED", async () => {
    const gate = join(folder, "open");
    const script = `import datachain as dc, os, time
dc.read_values(n=[1]).save('of_a_running_job')
print('saved', flush=True)
while not os.path.exists(${JSON.stringify(gate)}): time.sleep(0.05)
`;
    const { id } = await createJob(client, python(script));
    await until("it has saved", async () => (await readLog(client, id)).includes("saved\n"), 120);
    const { dataDir } = await restored("running", unconfined(new DataFolder(server.dataDir)));
    await writeFile(gate, "");
    await waitForEnd(client, id);
    assert.deepEqual(await registered(dataDir), { goes: true, of_a_running_job: true, renamed: true, stays: true });
    const metadata = new DatabaseSync(join(dataDir, "team-stores/1/data/metadata.db"), { readOnly: true });
    assert.equal(metadata.prepare("select status from jobs where id = ?").get(id)?.["status"], 6, "its store knows");
    metadata.close();
  });

  for (const wanted of ["bwrap", "uid"] as const)
    it(`at isolation ${wanted} the child process still copies, reads and places warehouses`, {
      skip: needsRoot,
    }, async () => {
      const open = async ({ warehouses, engine }: DataFolder) =>
        new BackupWarehouses(warehouses, await openConfinement({ wanted, folders: engine }));
      const { manifest, dataDir } = await restored(wanted, await open(new DataFolder(server.dataDir)), open);
      assert.deepEqual(
        manifest.stores?.map(({ from, missing }) => [from, missing]),
        [["store", []]],
      );
      assert.deepEqual(await registered(dataDir), { goes: true, of_a_running_job: true, renamed: true, stays: true });
    });

  it("a warehouse whose copy would fill the disk is omitted with a warning; the rest is backed up", async () => {
    const stores = new BackupWarehouses(new DataFolder(server.dataDir).warehouses, () => [], 2 ** 60);
    const options = { ...quiet, stores, keyFile: undefined };
    const manifest = await takeBackup(await placeIn(server.dataDir), join(folder, "full"), options);
    const [part] = manifest.stores ?? [];
    assert.deepEqual([part?.from, part?.missing.length, part?.versions], ["nothing", 4, 4]);
    assert.match(part?.why ?? "", /too little free space for a copy of the warehouse, which takes \d+\.\d GiB/);
  });

  it("a removed version is reported, and removed after the restore; a renamed dataset keeps its old name", async () => {
    const warehouses = new Warehouses(new DataFolder(server.dataDir).warehouses, confinement);
    const [goes, renamed] = [await uuidOf("goes"), await uuidOf("renamed")];
    const stores = new RacingStores(server.dataDir, async () => {
      await warehouses.removeVersions(1, { versions: [goes], removedAt: new Date().toISOString() });
      await warehouses.editDataset(1, { version: renamed, name: "renamed_meanwhile" });
    });
    const { manifest, dataDir } = await restored("raced", stores);
    warehouses.close();
    const [part] = manifest.stores ?? [];
    assert.deepEqual([part?.from, part?.missing], ["store", [goes]]);
    assert.deepEqual(await registered(dataDir), { of_a_running_job: true, renamed: true, stays: true });
  });
});
