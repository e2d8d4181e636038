/**
 * nginx with prepared listing pages and objects. It supports as much of a store's API as clients need to list, read and
 * upload. It is fast enough that measurements show the speed of the client. It checks no signatures and discards
 * uploads.
 */
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startNginx, type WebServer } from "../servers/nginx.ts";
import { receiving } from "./answered-writes.ts";
import type { Dialect, PreparedFolder } from "./dialect.ts";
import { preparedS3 } from "./prepared-s3.ts";

export interface PreparedStore<Config> extends WebServer {
  readonly bucket: string;
  readonly config: Config;
}

export interface Preparation {
  /** Number of folders in the listing; each folder has as many keys as a page of the listing. */
  readonly folders?: number;
  /** Number of small objects of one kibibyte: `small/0`, `small/1` and so on. */
  readonly objects?: number;
  /** Size of the object `big` in bytes. */
  readonly big?: number;
}

export const { keysInFolder } = preparedS3;

export const startPreparedStore = (preparation: Preparation) => startPrepared(preparedS3, preparation);

export async function startPrepared<Config>(
  dialect: Dialect<Config>,
  { folders = 0, objects = 0, big = 0 }: Preparation,
): Promise<PreparedStore<Config>> {
  const { locations, maps, modules } = dialect.nginx(big);
  const server = await startNginx({ locations: receiving + locations, maps, ...(modules && { modules }) });
  const names = Array.from({ length: folders }, (_, index) => `data/${numberOf(index)}/`);
  await writeFiles(server.root, dialect.others?.(names, big) ?? {});
  for (let index = 0; index < folders; index += 1) {
    await writeFiles(server.root, dialect.pages(folderAt(index, names, dialect.keysInFolder)));
  }
  await mkdir(join(server.root, "bucket/small"), { recursive: true });
  for (let index = 0; index < objects; index += 1) {
    await writeFile(join(server.root, `bucket/small/${index}`), Buffer.alloc(1024, String(index)));
  }
  await writeFile(join(server.root, "bucket/big"), "");
  await truncate(join(server.root, "bucket/big"), big);
  return { ...server, bucket: "bucket", config: dialect.config(server.url) };
}

const numberOf = (index: number) => String(index).padStart(4, "0");

const folderAt = (index: number, names: readonly string[], keys: number): PreparedFolder => ({
  number: numberOf(index),
  keys: Array.from({ length: keys }, (_, file) => `${names[index]}${file + 1000}.json`),
  later: names.slice(index + 1),
  next: index + 1 < names.length ? `page-${numberOf(index + 1)}` : undefined,
});

async function writeFiles(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
}
