/**
 * The layout of the data folder. Only this file knows the names of the files and folders in the data folder. Other code
 * gets their paths from here.
 */
import { join } from "node:path";

/** The settings that locate the server's database. */
interface StoreSettings {
  readonly databaseUrl: string;
  readonly databaseTimeout?: number;
}

/** The settings that locate the server's blobs: uploads, exports and archived logs. */
interface BlobSettings {
  readonly data: { readonly blobs: string };
  readonly storageEnvironment: Readonly<Record<string, string | undefined>>;
}

export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The SQLite database file; unused with PostgreSQL. */
  get storeFile(): string {
    return join(this.path, "millrace.db");
  }

  storeLocation<S extends StoreSettings>({ databaseUrl, databaseTimeout }: S) {
    return { file: this.storeFile, databaseUrl, ...(databaseTimeout === undefined ? {} : { databaseTimeout }) };
  }

  /**
   * The lock file of the server. It is an SQLite database, so SQLite may create journal files next to it. Their names
   * begin with the name of the lock file.
   */
  get lock(): string {
    return join(this.path, "server.lock");
  }

  /**
   * File with the keys that encrypt database values; unused if MILLRACE_SECRET_KEY or MILLRACE_SECRET_KEY_FILE is set.
   */
  get keys(): string {
    return join(this.path, "secret.key");
  }

  /** File with the id of this server. Attempts store the id, so that a server recognizes its own attempts. */
  get serverId(): string {
    return join(this.path, "server-id");
  }

  /** File with the URL of the running server, for commands that print links. */
  get serverUrl(): string {
    return join(this.path, "server-url");
  }

  /** Marker file of a restore. It exists while a restore is in progress or was interrupted. */
  get unfinishedRestore(): string {
    return join(this.path, "restore.unfinished");
  }

  /** Returns where blobs are kept: at `uri` or, if that is empty, in `folders`. */
  blobs({ data: { blobs: uri }, storageEnvironment: environment }: BlobSettings) {
    return {
      uri,
      environment,
      folders: {
        files: join(this.path, "files"),
        exports: join(this.path, "exports"),
        packs: join(this.path, "packs"),
      },
      copies: join(this.path, "blob-copies"),
      mark: join(this.path, "blobs-uri"),
    };
  }

  /** Parent folder of the attempts' folders. The name of each is the key of the attempt. */
  get jobs(): string {
    return join(this.path, "jobs");
  }

  attemptFile(key: string, name: string): string {
    return join(this.jobs, key, name);
  }

  /**
   * Returns the path to which a restore writes a file of a backup. `path` is relative to the data folder, as in a
   * backup.
   */
  restored(path: string): string {
    return join(this.path, path);
  }

  /** Folder of the virtualenvs that jobs share. */
  get environments(): string {
    return join(this.path, "envs");
  }

  /** Folders that the local engine uses. */
  get engine() {
    return {
      root: this.path,
      jobs: this.jobs,
      environments: this.environments,
      /** Parent folder of the folders of interpreters that wait for a job. */
      waiting: join(this.path, "waiting"),
      /** Folder of the seccomp filter and of the files that jobs see as /etc/passwd and /etc/group. */
      accounts: join(this.path, "accounts"),
      /** File that lists the control groups that the server created. */
      cgroups: join(this.path, "cgroups"),
      isolation: join(this.path, "isolation"),
      /** Cache folder for pip and uv in jobs that run without isolation. */
      cache: join(this.path, "cache"),
      tools: join(this.path, "tools"),
    };
  }

  get warehouses() {
    return {
      /** Parent folder of the teams' warehouses. */
      teams: join(this.path, "team-stores"),
      /** Folder of Node's compile cache for the child processes that open warehouses. */
      compiled: join(this.path, "compiled"),
    };
  }
}
