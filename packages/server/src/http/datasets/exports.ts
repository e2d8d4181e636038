/** HTTP routes for exports: requested with a token, downloaded through signed URLs. */
import { ApiError, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { exportName } from "../../blobs/blob-names.ts";
import { BlobMissing } from "../../blobs/blobs.ts";
import { getLiveVersion, readNamed } from "../../domain/datasets/datasets.ts";
import { checkSignature, exportUrls, getExport, wantExport } from "../../domain/datasets/exports.ts";
import { findExport } from "../../store/queries/datasets/exports.ts";
import type { DatasetContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function exportRoutes(app: FastifyInstance, context: DatasetContext): void {
  const { store, clock, keys, exports: rules, signals, quotas } = context;

  register(app, context, routes.exportDataset, async ({ principal, actor, team, query }) => {
    const dataset = readNamed(query, principal.username);
    const version = await getLiveVersion(store.db, team, dataset);
    await context.disk.requireRoom();
    const row = await store.write((db) =>
      wantExport({ db, actor, now: clock.now() }, { team, dataset, version }, rules, quotas),
    );
    signals.exports.wake();
    return { export_id: row.id, signed_urls: await exportUrls(keys, context.publicUrl(), row, rules) };
  });

  register(app, context, routes.exportStatus, async ({ team, query }) => {
    const { status, files_done, num_files, error } = await getExport(store.db, team, query.export_id);
    return { status, files_done, num_files, error_message: error ?? "" };
  });

  register(app, context, routes.downloadExport, async ({ params, query, reply }) => {
    const [id, file] = [params.export_id, Number(params.file)];
    checkSignature(keys, { id, file, ...query }, clock.now());
    const row = await findExport(store.db, id);
    if (!row) throw new ApiError("not_found", `The export ${id} no longer exists. Request a new export.`);
    if (row.status === "failed" || row.status === "removed")
      throw new ApiError(
        "wrong_state",
        `The export ${id} ${row.status === "failed" ? `failed: ${row.error}` : "was deleted. Request a new export."}`,
      );
    const opened = await context.blobs.open(exportName(id, file)).catch(notReady);
    reply
      .type("application/octet-stream")
      .headers({ "content-length": opened.size, "content-disposition": "attachment" });
    await reply.send(opened.stream());
    return undefined;
  });
}

/**
 * If the requested file of an export is not written yet, throws `not_found`; clients then try again. Rethrows other
 * errors.
 */
function notReady(error: unknown): never {
  if (!(error instanceof BlobMissing)) throw error;
  throw new ApiError("not_found", "This file of the export is not written yet. Try again in a moment.");
}
