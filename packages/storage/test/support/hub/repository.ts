/** A repository of the hub in memory: commits, each with all its files, as git would have them. */
import { createHash } from "node:crypto";

export interface HubFile {
  readonly bytes: Buffer;
  /** The id of the blob in git; for LFS content that of the pointer. */
  readonly oid: string;
  /** SHA-256 of the content, if it is in LFS. */
  readonly sha256: string | undefined;
  /** The commit that last changed it. */
  readonly commit: CommitInfo;
}

interface CommitInfo {
  readonly id: string;
  readonly title: string;
  readonly date: string;
}

export interface Commit extends CommitInfo {
  readonly files: ReadonlyMap<string, HubFile>;
}

export interface CommitLine {
  readonly key: "header" | "file" | "lfsFile" | "deletedFile" | "deletedFolder";
  readonly value: {
    readonly path: string;
    readonly content?: string;
    readonly encoding?: string;
    readonly oid?: string;
    readonly summary?: string;
    readonly parentCommit?: string;
  };
}

const sha1 = (text: string | Buffer) => createHash("sha1").update(text).digest("hex");
const blobId = (bytes: Buffer) => sha1(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]));
export const pointerOf = (sha256: string, size: number) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${size}\n`;

export class HubRepository {
  readonly id: string;
  readonly isPrivate: boolean;
  readonly isGated: boolean;
  /** Oldest first, of all branches. */
  readonly commits: Commit[] = [];
  readonly #branches = new Map<string, string>();

  constructor(id: string, options: { isPrivate?: boolean; isGated?: boolean } = {}) {
    this.id = id;
    this.isPrivate = options.isPrivate ?? false;
    this.isGated = options.isGated ?? false;
    this.#add("main", "initial commit", new Map());
  }

  /** The commit of a branch, or of an id. */
  at(revision: string): Commit | undefined {
    const id = this.#branches.get(revision) ?? revision;
    return this.commits.find((commit) => commit.id === id);
  }

  branch(name: string, from = "main"): void {
    this.#branches.set(name, this.at(from)?.id as string);
  }

  /** Returns an error, or the new commit. `objects` are the uploaded LFS contents. */
  commit(branch: string, lines: readonly CommitLine[], objects: ReadonlyMap<string, Buffer>): Commit | string {
    const head = this.at(branch) as Commit;
    const header = lines.find((line) => line.key === "header")?.value;
    if (header?.parentCommit !== undefined && header.parentCommit !== head.id) return "a commit has happened since";
    const files = new Map(head.files);
    const info = this.#info(header?.summary ?? "");
    for (const line of lines) {
      const wrong = apply(files, line, info, objects);
      if (wrong !== undefined) return wrong;
    }
    return this.#add(branch, info.title, files, info);
  }

  #info(title: string): CommitInfo {
    return { id: sha1(`${this.id} ${this.commits.length}`), title, date: new Date().toISOString() };
  }

  #add(branch: string, title: string, files: ReadonlyMap<string, HubFile>, info = this.#info(title)): Commit {
    const commit = { ...info, files };
    this.commits.push(commit);
    this.#branches.set(branch, commit.id);
    return commit;
  }
}

function apply(
  files: Map<string, HubFile>,
  { key, value }: CommitLine,
  commit: CommitInfo,
  objects: ReadonlyMap<string, Buffer>,
): string | undefined {
  const { path } = value;
  if (key === "header") return undefined;
  if (key === "deletedFile") return files.delete(path) ? undefined : `there is no file ${path}`;
  if (key === "deletedFolder") {
    for (const name of [...files.keys()]) if (name.startsWith(`${path}/`)) files.delete(name);
    return undefined;
  }
  if (cannotBe(files, path)) return `${path} cannot be a path`;
  if (key === "file") {
    const bytes = Buffer.from(value.content ?? "", value.encoding === "base64" ? "base64" : "utf8");
    files.set(path, { bytes, oid: blobId(bytes), sha256: undefined, commit });
    return undefined;
  }
  const bytes = objects.get(value.oid ?? "");
  if (bytes === undefined) return `${path}: its content was not uploaded`;
  const oid = blobId(Buffer.from(pointerOf(value.oid as string, bytes.length)));
  files.set(path, { bytes, oid, sha256: value.oid, commit });
  return undefined;
}

/** A git tree has no empty names, and a name is a file or a folder. */
function cannotBe(files: ReadonlyMap<string, HubFile>, path: string): boolean {
  const names = path.split("/");
  if (names.some((name) => ["", ".", "..", ".git"].includes(name))) return true;
  const folders = names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
  return folders.some((folder) => files.has(folder)) || [...files.keys()].some((name) => name.startsWith(`${path}/`));
}
