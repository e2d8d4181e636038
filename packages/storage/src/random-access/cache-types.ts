/** The names of the caches, apart from their code: parameter tables need only the names. */

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
