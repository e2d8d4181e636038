/** File systems that fsspec knows by itself, so that a name that is mistyped is told from theirs without a Python. */

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

/** Links of chains that keep or change what the next link has. */
export const chainingNames = [
  "simplecache",
  "filecache",
  "blockcache",
  "cached",
  "dir",
  "async_wrapper",
  "asyncwrapper",
] as const;

/** They have no folders, and show an object when its upload is complete. */
const objectStores = ["s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "ocilake", "tos", "tosfs"];

export const isObjectStore = (name: string) => objectStores.includes(name);
