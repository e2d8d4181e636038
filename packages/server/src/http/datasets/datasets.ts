/** HTTP routes for datasets. */
import { ApiError, type RouteInput, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { rowsTable } from "../../datachain/rows-table.ts";
import type { Principal, Team } from "../../domain/access/principals.ts";
import { readReference } from "../../domain/datasets/dataset-names.ts";
import { readPage } from "../../domain/datasets/dataset-rows.ts";
import {
  applyEdit,
  applyRemoval,
  getLiveVersion,
  listJobVersions,
  listTeamDatasets,
  planEdit,
  planRemoval,
  readNamed,
  showDataset,
} from "../../domain/datasets/datasets.ts";
import { readLineage } from "../../domain/datasets/lineage.ts";
import { registerVersion } from "../../domain/datasets/register-version.ts";
import { requireTeamJob } from "../../domain/jobs/jobs.ts";
import { iso } from "../../domain/time/clock.ts";
import { versionIdOf } from "../../store/queries/datasets/dataset-versions.ts";
import { makeTidyingDue } from "../../store/queries/datasets/warehouses.ts";
import type { PageRequest } from "../../warehouses/programs/read-rows.ts";
import { WarehouseUnusable } from "../../warehouses/warehouses.ts";
import type { DatasetContext } from "../requests/context.ts";
import { JsonText, register } from "../requests/route.ts";

export function datasetRoutes(app: FastifyInstance, context: DatasetContext): void {
  const { store, clock, warehouses } = context;

  register(app, context, routes.listDatasets, async ({ team, query, reply }) => {
    const { datasets, next } = await listTeamDatasets(store.db, team, query);
    if (next !== undefined) reply.header("x-next-cursor", String(next));
    return new JsonText(`[${datasets.join(",")}]`);
  });

  register(app, context, routes.getDataset, async ({ principal, team, query }) => {
    const reference = readNamed(query, principal.username);
    return new JsonText(await showDataset(store.db, team, reference, query.include_removed ?? false));
  });

  register(app, context, routes.readRows, async ({ principal, team, query, reply }) => {
    const version = await getLiveVersion(store.db, team, readNamed(query, principal.username));
    const read = (request: PageRequest) => usable(warehouses.readRows(team.id, request));
    const { next, ...page } = await readPage(store.db, version, query, read);
    if (next !== undefined) reply.header("x-next-cursor", next);
    return page;
  });

  // The warehouse is changed first: if that fails, nothing changes. If the server crashes before it changes the store,
  // the next read of the warehouse corrects the store.
  register(app, context, routes.editDataset, async ({ principal, actor, team, body }) => {
    const reference = readNamed(body, principal.username);
    const edit = await planEdit(store.db, team, reference, body);
    const { dataset, stored, reference: _, ...changes } = edit;
    if (stored) await usable(warehouses.editDataset(team.id, { version: stored, ...changes }));
    await store.write((db) => applyEdit({ db, actor, now: clock.now() }, team, edit, rowsTable));
    const name = edit.name ?? dataset.name;
    return new JsonText(await showDataset(store.db, team, { ...reference, name }, true));
  });

  register(app, context, routes.removeDataset, async ({ principal, actor, team, body }) => {
    const now = clock.now();
    const removal = await planRemoval(store.db, team, readNamed(body, principal.username), body.force ?? false);
    const versions = removal.versions.filter(({ rows_table }) => rows_table !== null).map(({ uuid }) => uuid);
    if (versions.length > 0) await usable(warehouses.removeVersions(team.id, { versions, removedAt: iso(now) }));
    await store.write(async (db) => {
      await applyRemoval({ db, actor, now }, team, removal);
      // Makes the garbage collection due soon, so that the space is freed before the next day.
      if (versions.length > 0) await makeTidyingDue(db, team.id, iso(now), iso(now - context.tidyHours * 3_600_000));
    });
    const { length } = removal.versions;
    return {
      message: length === 1 ? `Version ${removal.versions[0]?.version} is removed.` : `${length} versions are removed.`,
    };
  });

  register(app, context, routes.datasetJobVersions, async ({ team, query }) => {
    const id = query.job_id.toLowerCase();
    await requireTeamJob(context, team, id);
    return new JsonText(await listJobVersions(store.db, team, id));
  });

  register(app, context, routes.registerVersion, async ({ principal, actor, team, body, request }) => {
    await context.disk.requireRoom();
    const registration = { team, principal, actor, input: body, text: request.bodyText };
    return registerVersion(store, registration, context.quotas, clock.now());
  });

  register(app, context, routes.getLineage, async ({ principal, team, query }) => {
    const { direction = "both", depth = 10 } = query;
    const rootId = await rootOf(context, team, principal, query);
    const directions = direction === "both" ? (["upstream", "downstream"] as const) : ([direction] as const);
    return new JsonText(await readLineage(store.db, team, rootId, { directions, depth }));
  });
}

type LineageQuery = RouteInput<typeof routes.getLineage>["query"];

/**
 * Returns the id of the version whose lineage was requested. A deleted version still has a lineage, but is found only
 * by its uuid.
 */
async function rootOf({ store }: DatasetContext, team: Team, { username }: Principal, { dataset, uuid }: LineageQuery) {
  if ((dataset === undefined) === (uuid === undefined))
    throw new ApiError("invalid", "dataset: expected either `dataset` or `uuid`, got both or neither");
  if (dataset !== undefined) {
    const reference = readReference(dataset.replace(/^ds:\/\//, ""), username, "dataset");
    return (await getLiveVersion(store.db, team, reference)).id;
  }
  const id = await versionIdOf(store.db, team.id, String(uuid).toLowerCase());
  if (id === undefined)
    throw new ApiError("not_found", `There is no dataset version ${uuid} in the team ${team.name}.`);
  return id;
}

/** Turns the error for an unusable warehouse into an API error, so that the team sees the cause and can fix it. */
async function usable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WarehouseUnusable) throw new ApiError("wrong_state", error.message);
    throw error;
  }
}
