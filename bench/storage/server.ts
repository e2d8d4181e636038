/** The servers for the measurements: nginx with prepared answers, so that the client is the limit, and a real one. */
import { access, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStorage } from "@millrace/storage";
import type { Dialect } from "@millrace/testing/objects/dialect.ts";
import { preparedAz, whyNoPreparedAz } from "@millrace/testing/objects/prepared-az.ts";
import { preparedGs } from "@millrace/testing/objects/prepared-gs.ts";
import { preparedS3 } from "@millrace/testing/objects/prepared-s3.ts";
import { startPrepared } from "@millrace/testing/objects/prepared-store.ts";
import { startAzurite } from "@millrace/testing/servers/azurite.ts";
import { startFakeGcsServer, whyNoFakeGcsServer } from "@millrace/testing/servers/fake-gcs-server.ts";
import { whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { inFlight } from "../bare.ts";
import type { ClientTask } from "../storage-clients/task.ts";
import type { Amounts } from "./comparison.ts";

/** What a task must know about the server. */
type Place = Pick<ClientTask, "config" | "bucket" | "objects">;

export interface BenchServer {
  readonly place: Place;
  /** A file to upload. */
  readonly source: string;
  /** Target folder of a download. */
  readonly target: string;
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  readonly scheme: ClientTask["scheme"];
  /** A real server is slower than any client: its figures only show what to expect, without a target. */
  readonly isReal: boolean;
  readonly amounts: Amounts;
  start(): Promise<BenchServer>;
}

export const serverKinds = (bytes: number): ServerKind[] => [
  prepared("s3", preparedS3, { keys: 200_000, count: 10_000, bytes }),
  prepared("gs", preparedGs, { keys: 100_000, count: 10_000, bytes }),
  // Fewer keys, because more would take minutes.
  prepared("az", preparedAz, { keys: 25_000, count: 10_000, bytes }, whyNoPreparedAz),
  real("s3", "versitygw", bytes, startS3),
  real("gs", "fake-gcs-server", bytes, startGs),
  real("az", "azurite", bytes, startAz),
];

type AnyDialect = Dialect<ClientTask["config"]>;

const prepared = (
  scheme: ClientTask["scheme"],
  dialect: AnyDialect,
  amounts: Amounts,
  whyNot: () => Promise<false | string> = whyNoNginx,
): ServerKind => ({
  name: "nginx",
  scheme,
  isReal: false,
  amounts,
  async start() {
    orThrow(await whyNot());
    return startOnNginx(dialect, amounts);
  },
});

const smallObjects = 1000;

/** In memory if the machine has such a folder, because disks differ more than clients do. */
async function startOnNginx(dialect: AnyDialect, { keys, bytes }: Amounts): Promise<BenchServer> {
  const memory = "/dev/shm";
  const before = process.env["TMPDIR"] ?? tmpdir();
  if (await access(memory).then(...yesOrNo)) process.env["TMPDIR"] = memory;
  const preparation = { folders: keys / dialect.keysInFolder, objects: smallObjects, big: bytes };
  const { config, bucket, root, stop } = await startPrepared(dialect, preparation).finally(() => {
    process.env["TMPDIR"] = before;
  });
  const place = { config, bucket, objects: smallObjects };
  return { place, source: join(root, "bucket/big"), target: join(root, "copy"), stop };
}

const yesOrNo = [() => true, () => false] as const;

function orThrow(why: false | string): void {
  if (why) throw new Error(why);
}

/** Small enough that the slow server does not dominate the total time. */
const realAmounts = (bytes: number): Amounts => ({ keys: 1000, count: 1000, bytes: Math.min(bytes, 200_000_000) });
const realObjects = 100;
const realBucket = "bench";

interface Started {
  readonly config: ClientTask["config"];
  readonly folder: string;
  stop(): Promise<void>;
}

const real = (
  scheme: ClientTask["scheme"],
  name: string,
  bytes: number,
  start: () => Promise<Started>,
): ServerKind => ({
  name,
  scheme,
  isReal: true,
  amounts: realAmounts(bytes),
  async start() {
    const { config, folder, stop } = await start();
    try {
      const source = join(folder, "source");
      await writeFile(source, "");
      await truncate(source, realAmounts(bytes).bytes);
      await fill(`${scheme}://${realBucket}`, config, source, realAmounts(bytes).keys);
      return {
        place: { config, bucket: realBucket, objects: realObjects },
        source,
        target: join(folder, "copy"),
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  },
});

/** Has the same objects as the prepared ones, but fewer. */
async function fill(uri: string, config: Started["config"], source: string, keys: number): Promise<void> {
  await using storage = openStorage(uri, config);
  const content = Buffer.alloc(1024);
  const paths = [
    ...Array.from({ length: keys }, (_, index) => `data/${index % 4}/${index}`),
    ...Array.from({ length: realObjects }, (_, index) => `small/${index}`),
  ].values();
  await inFlight(keys + realObjects, 16, () => storage.write(paths.next().value as string, content));
  await storage.upload(source, "big");
}

async function startS3(): Promise<Started> {
  orThrow(await whyNoVersitygw());
  const { config, folder, stop, makeBucket } = await startVersitygw();
  await makeBucket(realBucket);
  return { config, folder, stop };
}

async function startGs(): Promise<Started> {
  orThrow(await whyNoFakeGcsServer());
  const { endpoint_url, folder, stop } = await startFakeGcsServer();
  await makeBucket("gs", { endpoint_url, token: "raw-token", project: "p" });
  return { config: { endpoint_url, token: "anon" }, folder, stop };
}

async function startAz(): Promise<Started> {
  const { connection_string, folder, stop } = await startAzurite();
  await makeBucket("az", { connection_string });
  return { config: { connection_string }, folder, stop };
}

async function makeBucket(scheme: ClientTask["scheme"], config: ClientTask["config"]): Promise<void> {
  await using storage = openStorage(`${scheme}://${realBucket}`, config);
  await storage.createBucket();
}
