/**
 * The layout of the data folder. This is the only place that knows which file or folder has which name; every other part
 * is given the paths that it needs.
 */
import { join } from "node:path";

/** What the server needs to find its store. */
interface StoreSettings {
  readonly databaseUrl: string;
  readonly databaseTimeout?: number;
}

/** What the server needs to find its blobs. */
interface BlobSettings {
  readonly data: { readonly blobs: string };
  readonly storageEnvironment: Readonly<Record<string, string | undefined>>;
}

export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The SQLite database; not used where the store is on PostgreSQL. */
  get storeFile(): string {
    return join(this.path, "millrace.db");
  }

  storeLocation<S extends StoreSettings>({ databaseUrl, databaseTimeout }: S) {
    return { file: this.storeFile, databaseUrl, ...(databaseTimeout === undefined ? {} : { databaseTimeout }) };
  }

  /** SQLite may put files of its own beside it, which begin with the same name. */
  get lock(): string {
    return join(this.path, "server.lock");
  }

  /** The keys that encrypt values in the store, unless MILLRACE_SECRET_KEY or MILLRACE_SECRET_KEY_FILE is set. */
  get keys(): string {
    return join(this.path, "secret.key");
  }

  /** The identity of this server: its open attempts carry it. */
  get serverId(): string {
    return join(this.path, "server-id");
  }

  /** The URL of the running server, for commands that print links. */
  get serverUrl(): string {
    return join(this.path, "server-url");
  }

  /** This file is there while a restore has not finished. */
  get unfinishedRestore(): string {
    return join(this.path, "restore.unfinished");
  }

  /** Uploads and exports: here, or at a storage URI. */
  blobs({ data: { blobs: uri }, storageEnvironment: environment }: BlobSettings) {
    return {
      uri,
      environment,
      folders: { files: join(this.path, "files"), exports: join(this.path, "exports") },
      copies: join(this.path, "blob-copies"),
      mark: join(this.path, "blobs-uri"),
    };
  }

  /** A folder for each attempt, named by its key. */
  get jobs(): string {
    return join(this.path, "jobs");
  }

  attemptFile(key: string, name: string): string {
    return join(this.jobs, key, name);
  }

  /** A file of a backup, whose folder has this layout, too. */
  restored(path: string): string {
    return join(this.path, path);
  }

  /** The virtualenvs that jobs share. */
  get environments(): string {
    return join(this.path, "envs");
  }

  /** What the local engine needs. */
  get engine() {
    return {
      root: this.path,
      jobs: this.jobs,
      environments: this.environments,
      /** /etc/passwd and /etc/group as jobs see them, and the filter of system calls. */
      accounts: join(this.path, "accounts"),
      /** A list of the control groups that were made. */
      cgroups: join(this.path, "cgroups"),
      /** Of package installers, where jobs are not isolated. */
      cache: join(this.path, "cache"),
      tools: join(this.path, "tools"),
    };
  }

  get warehouses() {
    return {
      /** A folder for each team. */
      teams: join(this.path, "team-stores"),
      /** Compiled code of the programs that open warehouses. */
      compiled: join(this.path, "compiled"),
    };
  }
}
