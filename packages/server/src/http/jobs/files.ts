/**
 * HTTP routes for uploads. A file is streamed to the blob storage. The request is answered only after the file is
 * stored.
 */
import { randomUUID } from "node:crypto";
import multipart, { type MultipartFile } from "@fastify/multipart";
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { uploadName } from "../../blobs/blob-names.ts";
import { type Blobs, BlobsUnavailable } from "../../blobs/blobs.ts";
import { audit } from "../../domain/access/audit.ts";
import { requireRoomForUpload } from "../../domain/access/quotas.ts";
import { safeFilename } from "../../domain/jobs/files.ts";
import { iso } from "../../domain/time/clock.ts";
import { isUnavailable } from "../../store/drivers/unavailable.ts";
import { insertFile, uploadBytes } from "../../store/queries/jobs/files.ts";
import { UploadsUnderWay } from "../connections/uploads-under-way.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export async function fileRoutes(app: FastifyInstance, context: JobContext): Promise<void> {
  const { store, clock, requests, blobs } = context;
  const limits = { fileSize: requests.uploadLimit, files: 1, fields: 10, fieldSize: 1024, parts: 11, headerPairs: 20 };
  await app.register(multipart, { limits });

  const underWay = new UploadsUnderWay();

  register(app, context, routes.uploadFile, async ({ principal, actor, team, request }) => {
    const requireRoom = async () => {
      await context.disk.requireRoom();
      await requireRoomForUpload(store.db, team, underWay.of(team.id) + 1, context.quotas);
    };
    // Checked before the body is read, so that a team over its quota cannot upload anything.
    await requireRoom();
    const blob = randomUUID();
    const arriving = underWay.begin(team.id);
    const check = async (bytes: number) => {
      if (arriving.add(bytes)) await requireRoom();
    };
    const name = uploadName(blob);
    const { filename, size, sha256 } = await receive(request, {
      blobs,
      name,
      limit: requests.uploadLimit,
      owner: team.id,
      check,
    }).finally(arriving.end);
    const row = {
      team_id: team.id,
      user_id: principal.userId,
      filename,
      size,
      sha256,
      blob,
      created_at: iso(clock.now()),
      attached_at: null,
    };
    const id = await store
      .write(async (db) => {
        await requireRoomForUpload(db, team, uploadBytes(size), context.quotas);
        const id = await insertFile(db, row);
        await audit(db, actor, { action: "file.upload", team, target: String(id), detail: filename }, clock.now());
        return id;
      })
      .catch(async (error) => {
        // If the database connection was lost, the row may exist, so the file stays. The next start deletes files
        // without a row.
        if (!isUnavailable(error)) await blobs.remove(name).catch(() => {});
        throw error;
      });
    return { id, filename, size, state: "uploaded" as const, error: "" };
  });
}

/** Called for each chunk before it is written; a rejection ends the upload. */
type Check = (bytes: number) => Promise<void>;

interface Upload {
  readonly blobs: Blobs;
  readonly name: string;
  readonly limit: number;
  readonly owner: number;
  readonly check: Check;
}

async function receive(request: FastifyRequest, { blobs, name, limit, owner, check }: Upload) {
  if (!request.isMultipart())
    throw new ApiError(
      "unsupported_media_type",
      "The upload is not multipart/form-data. Send the file as multipart/form-data, in a part named `file`.",
    );
  const part = await request.file().catch(unreadable);
  if (!part) throw new ApiError("bad_request", "file: expected a multipart part named `file`, got none");
  if (part.fieldname !== "file")
    throw new ApiError("bad_request", `file: expected a multipart part named \`file\`, got ${part.fieldname}`);
  const measured = await blobs.put(name, checked(part.file, limit, check), { owner }).catch(unreadable);
  return { filename: safeFilename(part.filename), ...measured };
}

/**
 * Yields the chunks of an upload, after calling `check` for each. The multipart parser silently truncates a file at the
 * limit, so this function throws at the end of a truncated file.
 */
async function* checked(file: MultipartFile["file"], limit: number, check: Check): AsyncGenerator<Uint8Array> {
  for await (const bytes of file as AsyncIterable<Buffer>) {
    await check(bytes.length);
    yield bytes;
  }
  if (file.truncated)
    throw new ApiError(
      "too_large",
      `The file is larger than ${limit} bytes, the limit of this server (MILLRACE_UPLOAD_LIMIT).`,
    );
}

/** Turns errors of the multipart parser into a bad request. Errors of the disk or the storage are rethrown. */
function unreadable(error: Error & { statusCode?: number; syscall?: string }): never {
  const isOurs = error instanceof ApiError || error instanceof BlobsUnavailable;
  if (isOurs || error.statusCode !== undefined || error.syscall !== undefined) throw error;
  throw new ApiError("bad_request", `The multipart body of the upload is invalid: ${error.message}.`);
}
