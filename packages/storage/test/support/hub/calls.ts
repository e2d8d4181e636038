/** What our own hub does for each call on a repository, after authorization. */
import type { ServerResponse } from "node:http";
import { type HubRequest, refuse, sendBytes, sendJson } from "./exchange.ts";
import { cdnOf, type HubObjects } from "./objects.ts";
import type { Commit, CommitLine, HubRepository } from "./repository.ts";
import { itemAt, itemsOf } from "./tree.ts";

export type RepositoryType = "models" | "datasets" | "spaces";

interface Scope {
  readonly request: HubRequest;
  readonly response: ServerResponse;
  readonly type: RepositoryType;
  readonly repository: HubRepository;
  readonly revision: string;
  readonly commit: Commit;
  readonly path: string;
  readonly objects: HubObjects;
  readonly pageSize: number;
}

export type Call = (scope: Scope) => ServerResponse;

/** Calls below `/api/`. */
export const apiCalls: Readonly<Record<string, Call>> = {
  "": tellRepository,
  revision: tellRepository,
  tree: listTree,
  "paths-info": tellPaths,
  preupload: planUpload,
  commit: makeCommit,
};

/** Calls at the public addresses, too. */
export const fileCalls: Readonly<Record<string, Call>> = {
  resolve: resolveFile,
  raw: resolveFile,
  info: ({ request, response, objects }) => objects.batch(request, response),
};

function tellRepository({ response, repository, commit }: Scope): ServerResponse {
  const { id, isPrivate } = repository;
  const siblings = [...commit.files.keys()].map((rfilename) => ({ rfilename }));
  const told = { id, _id: id, sha: commit.id, private: isPrivate, gated: false, tags: [], siblings };
  return sendJson(response, 200, { ...told, lastModified: commit.date, downloads: 0, likes: 0 });
}

const isTrue = (text: string | null) => text === "true" || text === "True" || text === "1";

function listTree({ request, response, commit, path, pageSize }: Scope): ServerResponse {
  const expand = isTrue(request.query.get("expand"));
  const items = itemsOf(commit, path, isTrue(request.query.get("recursive")), expand);
  if (!items) return refuse(response, 404, "EntryNotFound", "Entry not found");
  const start = Number(request.query.get("cursor") ?? 0);
  const next = new URL(request.url, request.origin);
  next.searchParams.set("cursor", String(start + pageSize));
  const link = start + pageSize < items.length ? { link: `<${next}>; rel="next"` } : {};
  return sendJson(response, 200, items.slice(start, start + pageSize), { ...link } as Record<string, string>);
}

/** Clients send JSON, or a form. */
function tellPaths({ request, response, commit }: Scope): ServerResponse {
  const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  const form = new URLSearchParams(request.body.toString());
  const asked = isForm
    ? { paths: form.getAll("paths"), expand: isTrue(form.get("expand")) }
    : (JSON.parse(request.body.toString()) as { paths: string[]; expand?: boolean });
  const items = asked.paths.map((path) => itemAt(commit, path, asked.expand ?? false));
  return sendJson(
    response,
    200,
    items.filter((item) => item !== undefined),
  );
}

/** Text is stored in git; larger and binary contents in LFS. */
function planUpload({ request, response }: Scope): ServerResponse {
  const { files } = JSON.parse(request.body.toString()) as {
    files: { path: string; size: number; sample: string }[];
  };
  const planned = files.map(({ path, size, sample }) => {
    const isText = size < 1_000_000 && !Buffer.from(sample, "base64").includes(0) && !/\.(bin|parquet)$/.test(path);
    return { path, uploadMode: isText ? "regular" : "lfs", shouldIgnore: false };
  });
  return sendJson(response, 200, { files: planned });
}

function makeCommit({ request, response, type, repository, revision, objects }: Scope): ServerResponse {
  const lines = request.body
    .toString()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as CommitLine);
  const made = repository.commit(revision, lines, objects.contents);
  if (typeof made === "string") return refuse(response, made.includes("since") ? 412 : 400, "", made);
  const prefix = type === "models" ? "" : `${type}/`;
  const commitUrl = `${request.origin}/${prefix}${repository.id}/commit/${made.id}`;
  return sendJson(response, 200, { success: true, commitOid: made.id, commitUrl, hookOutput: "" });
}

function resolveFile({ request, response, commit, path, objects }: Scope): ServerResponse {
  const file = commit.files.get(path);
  if (!file) return refuse(response, 404, "EntryNotFound", "Entry not found");
  const headers = { "x-repo-commit": commit.id, "content-type": "application/octet-stream" };
  if (file.sha256 === undefined) return sendBytes(request, response, file.bytes, { ...headers, etag: `"${file.oid}"` });
  objects.contents.set(file.sha256, file.bytes);
  const linked = { "x-linked-etag": `"${file.sha256}"`, "x-linked-size": String(file.bytes.length) };
  const location = `${cdnOf(request.origin)}/lfs/${file.sha256}`;
  return response.writeHead(302, { ...headers, ...linked, location, "content-length": "0" }).end();
}
