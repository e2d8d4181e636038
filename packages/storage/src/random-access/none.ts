/** `none`: every read requests exactly its bytes. */
import type { CacheSetup, FileCache } from "./file-cache.ts";

export const noCache = ({ fetch }: CacheSetup): FileCache => ({ read: fetch, sharesReads: true });
