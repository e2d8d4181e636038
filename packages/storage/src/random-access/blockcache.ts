/** `blockcache`: whole blocks only, of which those used last are kept. For reading here and there. */
import { Blocks } from "./blocks.ts";
import type { CacheSetup, FileCache } from "./file-cache.ts";

export function blockCache(setup: CacheSetup): FileCache {
  const blocks = new Blocks(setup);
  return { read: (start, end) => blocks.read(start, end) };
}
