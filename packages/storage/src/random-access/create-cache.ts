/** Creates a cache by name. */
import { wholeFileCache } from "./all.ts";
import { backgroundCache } from "./background.ts";
import { blockCache } from "./blockcache.ts";
import { bytesCache } from "./bytes.ts";
import type { CacheType } from "./cache-types.ts";
import type { CacheSetup, FileCache } from "./file-cache.ts";
import { firstBlockCache } from "./first.ts";
import { sparseFileCache } from "./mmap.ts";
import { noCache } from "./none.ts";
import { knownPartsCache } from "./parts.ts";
import { readAheadCache } from "./readahead.ts";

type CreateCache = (setup: CacheSetup) => FileCache | Promise<FileCache>;

export const createCache: Readonly<Record<CacheType, CreateCache>> = {
  none: noCache,
  readahead: readAheadCache,
  bytes: bytesCache,
  first: firstBlockCache,
  blockcache: blockCache,
  background: backgroundCache,
  mmap: sparseFileCache,
  all: wholeFileCache,
  parts: knownPartsCache,
};
