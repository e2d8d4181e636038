/** Creates, renames and lists teams, and sets their quotas. */
import { ApiError, type RouteInput, type routes, type Team as TeamDocument } from "@millrace/contract";
import { checkLibraryVersion } from "../../datachain/requirements.ts";
import type { Db, Store } from "../../store/drivers/store.ts";
import { insertMembership } from "../../store/queries/people/memberships.ts";
import {
  findTeam,
  insertTeam,
  listTeams,
  type TeamQuotas,
  type TeamRetries,
  updateTeam,
} from "../../store/queries/people/teams.ts";
import { audit } from "../access/audit.ts";
import type { Call, Caller } from "../access/call.ts";
import { existingUser } from "../access/existing-user.ts";
import { checkName } from "../access/names.ts";
import type { Principal } from "../access/principals.ts";
import { iso } from "../time/clock.ts";

type NewTeam = RouteInput<typeof routes.createTeam>["body"];
type TeamChanges = RouteInput<typeof routes.updateTeam>["body"];

/** Returns the caller's teams in which the token is valid. For administrators of the server, returns all teams. */
export async function readTeams(db: Db, principal: Principal): Promise<TeamDocument[]> {
  const own = principal.teams.map(({ id }) => id);
  if (own.length === 0 && !principal.isAdmin) return [];
  const rows = await listTeams(db, principal.isAdmin ? undefined : own);
  return rows.map(({ id, ...fields }) => ({
    ...fields,
    role: principal.teams.find((team) => team.id === id)?.role ?? null,
  }));
}

export async function readTeam(db: Db, principal: Principal, teamId: number): Promise<TeamDocument> {
  const [row] = await listTeams(db, [teamId]);
  if (!row) throw new ApiError("not_found", `There is no team with the id ${teamId}.`);
  const { id, ...fields } = row;
  return { ...fields, role: principal.teams.find((team) => team.id === id)?.role ?? null };
}

export async function createTeam(
  store: Store,
  { principal, actor }: Caller,
  input: NewTeam,
  now: number,
): Promise<TeamDocument> {
  const name = checkName("name", input.name);
  const admin = input.admin ?? principal.username;
  return store.write(async (db) => {
    const user = await existingUser(db, admin);
    const id = await insertTeam(db, { name, created_at: iso(now), ...quotas(input) });
    if (id === undefined) throw nameTaken(name);
    await insertMembership(db, id, user.id, "admin");
    await audit(db, actor, { action: "team.create", team: { id }, target: name, detail: `admin ${admin}` }, now);
    const role = user.id === principal.userId ? "admin" : null;
    return { ...(await readTeam(db, principal, id)), role };
  });
}

/** Returns the given quotas as columns. 0 becomes null: the team then has the server's default. */
function quotas(input: Pick<NewTeam, keyof TeamQuotas>): Partial<TeamQuotas> {
  const { max_running, max_queued, max_tasks, max_schedules } = input;
  const { max_dataset_bytes, max_upload_bytes, max_log_bytes, max_text_bytes } = input;
  const { max_export_bytes, max_environment_bytes } = input;
  const counts = { max_running, max_queued, max_tasks, max_schedules };
  const all = {
    ...counts,
    max_dataset_bytes,
    max_upload_bytes,
    max_log_bytes,
    max_text_bytes,
    max_export_bytes,
    max_environment_bytes,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (typeof value === "number" ? [[name, value || null]] : [])),
  );
}

/** Returns the given timeout and retry settings as columns. 0 becomes null: the team then has the server's default. */
function retries({ job_timeout, job_retries, job_retry_delay }: Pick<TeamChanges, keyof TeamRetries>) {
  const all = { job_timeout, job_retries, job_retry_delay };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (typeof value === "number" ? [[name, value || null]] : [])),
  ) as Partial<TeamRetries>;
}

const nameTaken = (name: string) =>
  new ApiError("wrong_state", `There is already a team ${name}. Choose another name.`);

export async function changeTeam(
  store: Store,
  { principal, actor, team }: Call,
  input: TeamChanges,
  now: number,
): Promise<TeamDocument> {
  const name = input.name ? { name: checkName("name", input.name) } : {};
  const share = quotas(input);
  if (Object.keys(share).length > 0 && !principal.isAdmin)
    throw new ApiError(
      "forbidden",
      "Quotas are set by administrators of the server. Leave the quotas out to change the other settings.",
    );
  const { library_version: library } = input;
  const version =
    typeof library === "string" ? { library_version: checkLibraryVersion("library_version", library) || null } : {};
  const changes = { ...name, ...version, ...retries(input), ...share };
  return store.write(async (db) => {
    if (input.name && input.name !== team.name && (await findTeam(db, input.name))) throw nameTaken(input.name);
    if (Object.keys(changes).length > 0) {
      await updateTeam(db, team.id, changes);
      const detail = Object.entries(changes)
        .map(([field, value]) => `${field}=${value ?? "default"}`)
        .join(", ");
      await audit(db, actor, { action: "team.update", team, target: team.name, detail }, now);
    }
    return readTeam(db, principal, team.id);
  });
}
