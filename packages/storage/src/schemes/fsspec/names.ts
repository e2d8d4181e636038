/**
 * Schemes of the file systems that are part of fsspec. With this list, a mistyped scheme is recognised without starting
 * Python.
 */

export const fsspecNames = [
  "abfss",
  "adl",
  "arrow_hdfs",
  "asynclocal",
  "box",
  "dask",
  "data",
  "dbfs",
  "dropbox",
  "dvc",
  "gdrive",
  "generic",
  "gist",
  "git",
  "github",
  "hdfs",
  "jlab",
  "jupyter",
  "lakefs",
  "libarchive",
  "oci",
  "ocilake",
  "oss",
  "pyscript",
  "reference",
  "root",
  "s3a",
  "smb",
  "ssh",
  "tos",
  "tosfs",
  "wandb",
  "webhdfs",
] as const;

/**
 * Schemes that occur only in chains such as `simplecache::s3://bucket/a`. They cache or transform the files of the
 * scheme that follows.
 */
export const chainingNames = [
  "simplecache",
  "filecache",
  "blockcache",
  "cached",
  "dir",
  "async_wrapper",
  "asyncwrapper",
] as const;

/** Object stores. They have no folders, and an object becomes visible only when its upload is complete. */
const objectStores = ["s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "ocilake", "tos", "tosfs"];

export const isObjectStore = (name: string) => objectStores.includes(name);
