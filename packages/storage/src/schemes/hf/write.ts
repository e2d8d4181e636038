/**
 * Writes files of the hub. Small text files become part of the commit itself; all other files are uploaded to LFS
 * first.
 */
import { createHash } from "node:crypto";
import type { CallOptions, Entry, Upload, WriteCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import type { HubClient } from "./client.ts";
import type { Changes, CommitLine } from "./commit.ts";
import { etagOf, lookUp } from "./list.ts";
import { checkPath } from "./repository.ts";
import { bytesSource, type Source, Spool } from "./source.ts";
import { uploadContent } from "./upload.ts";

async function putFile(changes: Changes, key: string, source: Source, call: WriteCall): Promise<Entry> {
  checkPath(key);
  const { client } = changes;
  const condition = conditionOf(client, key, call);
  // The condition is checked before anything is sent, and again when the commit is made.
  if (condition) await condition(await client.head(call));
  const { line, etag } = await prepare(client, key, source, call);
  const version = await changes.make([line], { summary: `Upload ${key}`, condition, signal: call.signal });
  return { path: key, size: source.size, etag, version, is_latest: true, last_modified: null, type: "file" };
}

export const putBytes = (changes: Changes, key: string, bytes: Uint8Array, call: WriteCall) =>
  putFile(changes, key, bytesSource(bytes), call);

/**
 * Returns the line of the commit for a new file, and the ETag of the file. The hub decides whether the content is
 * stored in git or in LFS. Content for LFS is uploaded here.
 */
async function prepare(
  client: HubClient,
  key: string,
  source: Source,
  call: CallOptions,
): Promise<{ line: CommitLine; etag: string }> {
  const sample = Buffer.from(source.sample).toString("base64");
  const asked = { files: [{ path: key, size: source.size, sample }] };
  const plan = await client.call<Plan>(await client.apiUrl("preupload"), key, asked, call);
  const [file] = plan.files;
  if (file?.shouldIgnore) {
    throw new StorageError(
      "invalid",
      `${key} is ignored by the repository's .gitignore; choose another path`,
      client.place(key),
    );
  }
  const { sha256: oid, size } = source;
  // The hub accepts an empty file only in git.
  if (file?.uploadMode !== "lfs" || size === 0) return inline(key, await source.bytes());
  await uploadContent({ client, key, source, signal: call.signal });
  return { line: { key: "lfsFile", value: { path: key, algo: "sha256", oid, size } }, etag: oid };
}

interface Plan {
  readonly files: readonly { readonly uploadMode: "regular" | "lfs"; readonly shouldIgnore?: boolean }[];
}

/** Computes the id that git gives to a blob. */
const blobId = (bytes: Uint8Array) => createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

export const inline = (key: string, bytes: Uint8Array): { line: CommitLine; etag: string } => ({
  line: { key: "file", value: { path: key, content: Buffer.from(bytes).toString("base64"), encoding: "base64" } },
  etag: blobId(bytes),
});

function conditionOf(client: HubClient, key: string, call: WriteCall) {
  if (call.ifMatch === undefined && call.ifNoneMatch === undefined) return undefined;
  return async (commit: string) => {
    const there = await lookUp(client, key, { version: commit, signal: call.signal });
    const isRight = call.ifMatch === undefined ? !there : there !== undefined && etagOf(there) === call.ifMatch;
    if (!isRight)
      throw new StorageError(
        "precondition",
        `${key}: ${call.ifMatch === undefined ? "the file already exists" : `the file was replaced or removed: its ETag is no longer ${call.ifMatch}; read the file again`}`,
        client.place(key),
      );
  };
}

export async function beginUpload(changes: Changes, key: string, call: WriteCall): Promise<Upload> {
  checkPath(key);
  const spool = await Spool.begin();
  return {
    async put(_part, bytes) {
      call.signal?.throwIfAborted();
      await spool.add(bytes);
    },
    async finish() {
      const entry = await putFile(changes, key, await spool.source(), call);
      await spool.remove();
      return entry;
    },
    abort: () => spool.remove(),
  };
}
