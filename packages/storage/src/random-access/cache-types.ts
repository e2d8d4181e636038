/** The names of the caches, apart from the caches themselves: tables of parameters need only these. */

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
