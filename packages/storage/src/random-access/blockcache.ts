/** `blockcache`: reads whole blocks and keeps the most recently used ones. For random reads. */
import { Blocks } from "./blocks.ts";
import type { CacheSetup, FileCache } from "./file-cache.ts";

export function blockCache(setup: CacheSetup): FileCache {
  const blocks = new Blocks(setup);
  return { read: (start, end) => blocks.read(start, end) };
}
