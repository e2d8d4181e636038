/** Adds, changes, shows and removes clusters, for administrators of the server. */
import {
  ApiError,
  defaultOptions,
  type EngineKindName,
  engineKinds,
  invalid,
  localEngine,
  type ManagedCluster,
  type RouteInput,
  type routes,
} from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { busySlots, lockClaims, teamsOnCluster } from "../../store/queries/jobs/attempts.ts";
import {
  allClusters,
  type ClusterRow,
  clusterTeams,
  insertCluster,
  nameOfRemoved,
  setClusterTeams,
  setDefaultCluster,
  setDefaultOf,
  teamDefaults,
  updateCluster,
} from "../../store/queries/jobs/clusters.ts";
import { countWaiting } from "../../store/queries/jobs/queue.ts";
import { findTeam } from "../../store/queries/people/teams.ts";
import { type Actor, audit } from "../access/audit.ts";
import { checkName } from "../access/names.ts";
import { decryptCluster, encryptCluster } from "../secrets/encryption.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import type { ClusterSight } from "./cluster-status.ts";
import { showCluster } from "./clusters.ts";

type NewCluster = RouteInput<typeof routes.createCluster>["body"];
type Changes = RouteInput<typeof routes.updateCluster>["body"];
type Settings = Omit<Changes, "state">;

interface ClusterContext {
  readonly store: Store;
  readonly keys: KeyRing;
}

const isKind = (engine: string): engine is EngineKindName => Object.hasOwn(engineKinds, engine);

export async function listManaged({ store: { db }, keys }: ClusterContext, sight: ClusterSight) {
  const rows = (await allClusters(db)).filter(({ is_active }) => is_active === 1);
  return Promise.all(rows.map((row) => showManaged(db, keys, row, sight)));
}

export async function readManaged({ store: { db }, keys }: ClusterContext, name: string, sight: ClusterSight) {
  return showManaged(db, keys, await existingCluster(db, name), sight);
}

async function showManaged(db: Db, keys: KeyRing, row: ClusterRow, sight: ClusterSight): Promise<ManagedCluster> {
  const teams = (await clusterTeams(db)).filter(({ cluster_id }) => cluster_id === row.id);
  const defaults = (await teamDefaults(db)).filter(({ default_cluster_id }) => default_cluster_id === row.id);
  return {
    ...(await showCluster(db, row, sight)),
    engine: row.engine,
    state: row.state,
    options: allOptions(row),
    secrets: Object.keys(secretsOf(keys, row)),
    teams: row.is_shared === 1 ? null : teams.map(({ name }) => name),
    default_of: defaults.map(({ name }) => name),
    shares_unisolated: row.shares_unisolated === 1,
  };
}

/** Returns the options of a cluster. Options that are newer than the cluster have their defaults. */
export function allOptions({ engine, options }: ClusterRow): Record<string, unknown> {
  const given = JSON.parse(options) as Record<string, unknown>;
  return isKind(engine) ? { ...defaultOptions(engine), ...given } : given;
}

/** Decrypts the secrets of a cluster. */
export const secretsOf = (keys: KeyRing, { id, secrets }: ClusterRow): Record<string, string> =>
  secrets === "" ? {} : (JSON.parse(decryptCluster(keys, id, secrets)) as Record<string, string>);

/** Returns the cluster with this name. Throws if there is none, or if it was removed. */
export async function existingCluster(db: Db, name: string): Promise<ClusterRow> {
  const found = (await allClusters(db)).find((row) => row.name === name && row.is_active === 1);
  if (!found) throw new ApiError("not_found", `There is no cluster ${name}.`);
  return found;
}

export function createCluster(
  { store, keys }: ClusterContext,
  actor: Actor,
  { name, engine, ...settings }: NewCluster,
  now: number,
): Promise<ClusterRow> {
  const { max_workers } = settings;
  return store.write(async (db) => {
    const row = await insertCluster(db, {
      ...{ name: checkName("name", name), engine, max_workers, is_active: 1, is_default: 0 },
      isolation: engineKinds[engine].isolation,
      options: JSON.stringify(defaultOptions(engine)),
    });
    if (!row) throw new ApiError("wrong_state", `There is already a cluster ${name}. Choose another name.`);
    await applySettings(db, keys, row, settings);
    await audit(db, actor, { action: "cluster.create", target: name, detail: detailOf({ engine, ...settings }) }, now);
    return row;
  });
}

export function changeCluster(
  { store, keys }: ClusterContext,
  actor: Actor,
  name: string,
  { state, ...settings }: Changes,
  now: number,
): Promise<void> {
  return store.write(async (db) => {
    // No job is claimed meanwhile, perhaps for a team that may no longer use the cluster.
    await lockClaims(db);
    const row = await existingCluster(db, name);
    if (row.engine === localEngine && settings.max_workers != null)
      throw invalid(
        "max_workers",
        "absent for the machine of the server: its slots are set in the server's configuration (MILLRACE_MAX_WORKERS)",
      );
    if (state != null) await updateCluster(db, row.id, { state });
    await applySettings(db, keys, row, settings);
    await audit(db, actor, { action: "cluster.update", target: name, detail: detailOf({ state, ...settings }) }, now);
  });
}

/** The changed settings in words, with the names of secrets and without their values. */
const detailOf = ({ secrets, ...rest }: Readonly<Record<string, unknown>>) =>
  JSON.stringify({ ...rest, ...(secrets == null ? {} : { secrets: Object.keys(secrets) }) });

async function applySettings(db: Db, keys: KeyRing, row: ClusterRow, settings: Settings): Promise<void> {
  const { max_workers, teams, default_of, default: isDefault, shares_unisolated, secrets, ...kinds } = settings;
  const options = optionsOf(row, kinds);
  await updateCluster(db, row.id, {
    ...(max_workers == null ? {} : { max_workers }),
    ...(shares_unisolated == null ? {} : { shares_unisolated: Number(shares_unisolated) }),
    ...(teams == null ? {} : { is_shared: Number(teams.length === 0) }),
    options: JSON.stringify(options),
    secrets: await newSecrets(db, keys, row, secrets ?? {}),
  });
  if (teams != null) await setClusterTeams(db, row.id, await idsOf(db, "teams", teams));
  if (default_of != null) await setDefaultOf(db, row.id, await idsOf(db, "default_of", default_of));
  if (isDefault === true) await setDefaultCluster(db, row.id);
  await checkSharing(db, row.name, teams != null || shares_unisolated != null);
}

/** Returns the options after the change. Throws if the request has options of another kind of engine. */
function optionsOf(row: ClusterRow, kinds: Partial<Record<EngineKindName, object | undefined>>): object {
  const { engine } = row;
  const before = allOptions(row);
  const [other] = Object.keys(kinds).filter((kind) => kind !== engine);
  if (other !== undefined) throw invalid(other, `absent, because the engine of the cluster is ${engine}`);
  return isKind(engine) ? { ...before, ...kinds[engine] } : before;
}

async function newSecrets(db: Db, keys: KeyRing, row: ClusterRow, given: Readonly<Record<string, string>>) {
  const known = isKind(row.engine) ? Object.keys(engineKinds[row.engine].secrets.properties) : [];
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalid("secrets", known.length === 0 ? `none for the engine ${row.engine}` : `${known.join(", ")}`, unknown);
  const all = Object.entries({ ...secretsOf(keys, row), ...given }).filter(([, value]) => value !== "");
  return encryptCluster(db, keys, row.id, all.length === 0 ? "" : JSON.stringify(Object.fromEntries(all)));
}

async function idsOf(db: Db, field: string, names: readonly string[]): Promise<number[]> {
  const ids = new Set<number>();
  for (const name of names) {
    const team = await findTeam(db, name);
    if (!team) throw invalid(field, "names of teams", name);
    ids.add(team.id);
  }
  return [...ids];
}

/**
 * Throws if several teams share a cluster that does not isolate their jobs, unless an administrator wants that. If its
 * teams are new, jobs of others must not run there any more, either.
 */
async function checkSharing(db: Db, name: string, areNew: boolean): Promise<void> {
  const row = await existingCluster(db, name);
  const why = whyUnisolated(row);
  if (why === undefined || row.shares_unisolated === 1) return;
  const teams = (await clusterTeams(db)).filter(({ cluster_id }) => cluster_id === row.id);
  if (row.is_shared === 1 || teams.length > 1)
    throw invalid("teams", `one team, because ${why}. If you accept that, also send shares_unisolated`);
  if (!areNew) return;
  const others = (await teamsOnCluster(db, row.id)).filter(({ id }) => !teams.some(({ team_id }) => team_id === id));
  if (others.length > 0)
    throw new ApiError(
      "wrong_state",
      `Jobs of other teams still run on the cluster ${name} (${others.map((team) => team.name).join(", ")}), and ${why}. Let them end, or cancel them, and try again; a cluster that drains accepts no new ones.`,
    );
}

/** Returns why jobs of a cluster are not isolated from each other; undefined if they are. */
function whyUnisolated(row: ClusterRow): string | undefined {
  if (row.engine === localEngine) return undefined;
  if (row.isolation === "none")
    return `${row.engine} does not isolate jobs from each other: a job could read the files and secrets of another team's job`;
  if (allOptions(row)["environments"])
    return "its jobs share the folder of kept virtualenvs: a job could change the packages of another team's job";
  return undefined;
}

interface Removal {
  readonly name: string;
  /** Whether jobs that run or wait there are given up. The loop `keep-clusters` ends them. */
  readonly isForced: boolean;
}

/** Removes a cluster. Its row stays, because jobs refer to it; its name is free again. */
export function removeCluster(
  { store }: ClusterContext,
  actor: Actor,
  { name, isForced }: Removal,
  now: number,
): Promise<void> {
  return store.write(async (db) => {
    const row = await existingCluster(db, name);
    if (row.engine === localEngine)
      throw new ApiError("wrong_state", "The cluster of the server's own machine cannot be removed.");
    const [busy, waiting] = [await busySlots(db, row.id), await countWaiting(db, row.id, 1000)];
    if (!isForced && (busy > 0 || waiting > 0))
      throw new ApiError(
        "wrong_state",
        `The cluster ${name} is in use. Slots that jobs occupy: ${busy}; jobs that wait: ${waiting}. Let them run, or cancel them, and try again; a cluster that drains accepts no new ones. If the cluster is gone for good, remove it with force: its jobs are then lost.`,
      );
    if (row.is_default === 1)
      throw new ApiError("wrong_state", `The cluster ${name} is the default. Make another cluster the default first.`);
    await setClusterTeams(db, row.id, []);
    await setDefaultOf(db, row.id, []);
    await updateCluster(db, row.id, { is_active: 0, secrets: "", name: nameOfRemoved(row.id, name) });
    await audit(
      db,
      actor,
      { action: "cluster.remove", target: name, ...(isForced ? { detail: "with force" } : {}) },
      now,
    );
  });
}
