/** What is measured on each kind of store, compared with which clients, and the target ratio for each. */
import type { ClientTask } from "../storage-clients/task.ts";
import { adlfs, awsSdk, azureSdk, type Client, gcsfs, googleSdk, obstore, opendal, rclone, s3fs } from "./client.ts";

const mebibyte = 1024 * 1024;

type Scheme = ClientTask["scheme"];

/** Clients with the target ratio; 0: only printed. */
type Others = readonly (readonly [Client, number])[];

export interface Comparison {
  /** Name for selecting it: `s3:list`, `s3:download:defaults`. */
  readonly name: string;
  readonly what: string;
  readonly task: Pick<ClientTask, "kind" | "scheme" | "concurrency" | "block" | "count">;
  readonly others: Others;
  /** Amount of work, for a rate. */
  readonly amount: number;
  readonly unit: string;
}

/** Total amount of work. */
export interface Amounts {
  readonly keys: number;
  readonly count: number;
  readonly bytes: number;
}

const others: Record<Scheme, Record<ClientTask["kind"] | "defaults", Others>> = {
  s3: {
    list: [
      [s3fs, 8],
      [awsSdk, 5],
      [obstore, 0],
      [opendal, 0],
      [rclone, 0],
    ],
    get: [
      [s3fs, 5],
      [awsSdk, 2],
      [obstore, 0],
      [opendal, 0],
    ],
    download: [
      [awsSdk, 1.3],
      [s3fs, 2],
      [obstore, 0],
      [opendal, 0],
      [rclone, 0],
    ],
    upload: [
      [awsSdk, 1.3],
      [s3fs, 2],
      [obstore, 0],
      [opendal, 0],
      [rclone, 0],
    ],
    defaults: [
      [awsSdk, 0],
      [s3fs, 0],
    ],
  },
  gs: sameFor([gcsfs, 3], [googleSdk, 0]),
  az: sameFor([adlfs, 3], [azureSdk, 0]),
};

function sameFor(...list: Others) {
  return { list, get: list, download: list, upload: list, defaults: [] };
}

/** Servers without a target, which are slow: one round is enough. */
export const once: ReadonlySet<Client> = new Set([googleSdk, azureSdk]);

/** On s3 the large transfers are also measured with the default parameters; gs and az have none for them. */
export function comparisonsOf(scheme: Scheme, amounts: Amounts): Comparison[] {
  const large = (["download", "upload"] as const).map((kind) => transfer(scheme, kind, amounts));
  return [list(scheme, amounts), get(scheme, amounts), ...large, ...(scheme === "s3" ? withDefaults(amounts) : [])];
}

function list(scheme: Scheme, { keys, count }: Amounts): Comparison {
  const task = { kind: "list", scheme, concurrency: 16, block: 5 * mebibyte, count } as const;
  const what = `list ${keys} keys`;
  return { name: `${scheme}:list`, what, task, others: others[scheme].list, amount: keys, unit: "keys/s" };
}

function get(scheme: Scheme, { count }: Amounts): Comparison {
  const task = { kind: "get", scheme, concurrency: 64, block: 5 * mebibyte, count } as const;
  const what = `${count} GETs of 1 KiB, 64 at once`;
  return { name: `${scheme}:get`, what, task, others: others[scheme].get, amount: count, unit: "GET/s" };
}

function transfer(scheme: Scheme, kind: "download" | "upload", { bytes, count }: Amounts): Comparison {
  const task = { kind, scheme, concurrency: 8, block: 16 * mebibyte, count };
  const what = `${kind} of ${bytes / 1e9} GB, 8 at once, 16 MiB`;
  return { name: `${scheme}:${kind}`, what, task, others: others[scheme][kind], amount: bytes / 1e6, unit: "MB/s" };
}

const withDefaults = (amounts: Amounts) =>
  (["download", "upload"] as const).map((kind): Comparison => {
    const { name, task, ...rest } = transfer("s3", kind, amounts);
    return {
      ...rest,
      name: `${name}:defaults`,
      what: `${kind} of ${amounts.bytes / 1e9} GB, defaults (1 at once, 5 MiB)`,
      task: { ...task, concurrency: 1, block: 5 * mebibyte },
      others: others.s3.defaults,
    };
  });
