/** Uploads over HTTP: streamed to disk, on disk before they are acknowledged. */
import { createHash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import multipart from "@fastify/multipart";
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
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
  const { store, clock, requests, filePath } = context;
  const limits = { fileSize: requests.uploadLimit, files: 1, fields: 10, fieldSize: 1024, parts: 11, headerPairs: 20 };
  await app.register(multipart, { limits });

  const underWay = new UploadsUnderWay();

  register(app, context, routes.uploadFile, async ({ principal, actor, team, request }) => {
    const requireRoom = async () => {
      await context.disk.requireRoom();
      await requireRoomForUpload(store.db, team, underWay.of(team.id) + 1, context.quotas);
    };
    // Before anything is read: over the quota not even a byte is taken.
    await requireRoom();
    const blob = randomUUID();
    const arriving = underWay.begin(team.id);
    const check = async (bytes: number) => {
      if (arriving.add(bytes)) await requireRoom();
    };
    const { filename, size, sha256 } = await receive(request, filePath(blob), requests.uploadLimit, check).finally(
      arriving.end,
    );
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
        // Where the answer of the database was lost, the row may be there: then the next start removes what nobody names.
        if (!isUnavailable(error)) await rm(filePath(blob), { force: true });
        throw error;
      });
    return { id, filename, size, state: "uploaded" as const, error: "" };
  });
}

/** Asked of every piece before it is written: a rejection ends the upload. */
type Check = (bytes: number) => Promise<void>;

async function receive(request: FastifyRequest, destination: string, limit: number, check: Check) {
  if (!request.isMultipart())
    throw new ApiError("unsupported_media_type", "The file must come as multipart/form-data, in a part `file`.");
  const part = await request.file().catch(unreadable);
  if (!part) throw new ApiError("bad_request", "file: expected a multipart part with this name, got none");
  const draft = `${destination}.part`;
  await mkdir(dirname(destination), { recursive: true, mode: 0o700 });
  try {
    if (part.fieldname !== "file")
      throw new ApiError("bad_request", `file: expected a multipart part with this name, got ${part.fieldname}`);
    const { hash, size, meter } = measure(check);
    await pipeline(part.file, meter, createWriteStream(draft, { mode: 0o444 })).catch(unreadable);
    if (part.file.truncated)
      throw new ApiError(
        "too_large",
        `The file is larger than ${limit} bytes, the limit of this server (MILLRACE_UPLOAD_LIMIT).`,
      );
    await sync(draft);
    await rename(draft, destination);
    await sync(dirname(destination));
    return { filename: safeFilename(part.filename), size: size(), sha256: hash.digest("hex") };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** What the reader of uploads stumbles over is the sender's doing; what the disk says is not. */
function unreadable(error: Error & { statusCode?: number; syscall?: string }): never {
  if (error instanceof ApiError || error.statusCode !== undefined || error.syscall !== undefined) throw error;
  throw new ApiError("bad_request", `The upload cannot be read: ${error.message}.`);
}

function measure(check: Check) {
  const hash = createHash("sha256");
  let size = 0;
  const meter = new Transform({
    transform(bytes: Buffer, _encoding, done) {
      hash.update(bytes);
      size += bytes.length;
      check(bytes.length).then(() => done(null, bytes), done);
    },
  });
  return { hash, meter, size: () => size };
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  await file.sync().finally(() => file.close());
}
