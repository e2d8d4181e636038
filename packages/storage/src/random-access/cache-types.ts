/** The names of the caches. They are in a separate file because parameter tables need the names but not the code. */

export const cacheTypes = [
  "none",
  "readahead",
  "bytes",
  "first",
  "blockcache",
  "background",
  "mmap",
  "all",
  "parts",
] as const;

export type CacheType = (typeof cacheTypes)[number];
