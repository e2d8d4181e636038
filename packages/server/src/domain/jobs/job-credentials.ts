/** Looks up the credentials that a job names, and decrypts their variables when the job begins. */
import { ApiError, invalid, type JobInput } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import {
  type CredentialsRow,
  defaultCredentialsOf,
  findOwned,
  listOwned,
} from "../../store/queries/jobs/credentials.ts";
import { getShortJob } from "../../store/queries/jobs/jobs.ts";
import type { Principal } from "../access/principals.ts";
import { type JobSpecFields, readSpec } from "../lifecycle/job-documents.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { namesOf, ofTeam, ofUser, valuesOf } from "./credentials.ts";

/**
 * The user and the team whose credentials a job may use. If both have a set with the same name, the job gets the user's
 * set.
 */
export interface Holder {
  readonly team_id: number;
  readonly user_id: number;
}

const findFor = async (db: Db, holder: Holder, name: string) =>
  (await findOwned(db, ofUser(holder.user_id), name)) ?? (await findOwned(db, ofTeam({ id: holder.team_id }), name));

type CredentialsFields = Pick<JobSpecFields, "credentials_name" | "credentials_names">;

/**
 * Returns the fields that name the credentials of a job. `credentials_name` has the first name; `credentials_names` has
 * all names, and is left out if there are fewer than two.
 */
const credentialsFields = (names: readonly string[]): CredentialsFields => ({
  credentials_name: names[0] ?? null,
  ...(names.length > 1 ? { credentials_names: [...names] } : {}),
});

/**
 * Returns the fields that name the credentials of a new job: those in the input, or the team's default if the input
 * names none. With an empty name or an empty list, the job gets no credentials.
 */
export async function resolveCredentials(db: Db, holder: Holder, input: JobInput): Promise<CredentialsFields> {
  const { credentials_name: name, credentials_names: names } = input;
  if (name != null && names != null)
    throw invalid("credentials_names", "only one of credentials_name and credentials_names, got both");
  if (names != null) return credentialsFields(await requireCredentials(db, holder, names, "credentials_names"));
  if (name === "") return credentialsFields([]);
  // `credentials_name` is a single text, but it may list several names: names contain no commas.
  if (name != null) return credentialsFields(await requireCredentials(db, holder, name.split(","), "credentials_name"));
  const usual = await defaultCredentialsOf(db, holder.team_id);
  return credentialsFields(usual === undefined ? [] : [usual]);
}

/** Returns the names of the credential sets that a job uses. */
export const namesIn = ({ credentials_name: name, credentials_names: names }: CredentialsFields): readonly string[] =>
  names ?? (name === null || name === undefined ? [] : [name]);

/**
 * Throws if the caller is a job, and one of these sets is its creator's own and not among the job's own sets. Otherwise
 * code that came into the job with a package, which a colleague may have built, would get all secrets of the creator.
 */
export async function requireNamedByJob(
  db: Db,
  { via, userId }: Pick<Principal, "via" | "userId">,
  names: readonly string[],
): Promise<void> {
  if (via.kind !== "job" || names.length === 0) return;
  const job = await getShortJob(db, via.jobId);
  const own = job ? namesIn(readSpec(job)) : [];
  for (const name of names) {
    if (own.includes(name) || !(await findOwned(db, ofUser(userId), name))) continue;
    throw new ApiError(
      "forbidden",
      `A job's own token may use your own credentials ${name} only if the job itself has them. Name ${name} for the job, too, or use the token of a person.`,
      { hint: "sign_in" },
    );
  }
}

/**
 * Throws if a set of credentials does not exist, or if two sets define the same variable. Returns the names without
 * duplicates.
 */
export async function requireCredentials(
  db: Db,
  holder: Holder,
  asked: readonly string[],
  field: string,
): Promise<string[]> {
  const names = [...new Set(asked.map((name) => name.trim()))];
  const sources = new Map<string, string>();
  for (const name of names) {
    const row = await findFor(db, holder, name);
    if (!row)
      throw invalid(field, `the name of credentials of this team or of your own (${await known(db, holder)})`, name);
    const clash = clashOf(sources, row);
    if (clash) throw invalid(field, `credential sets that have no variable in common. ${clash}`);
  }
  return names;
}

async function known(db: Db, { team_id, user_id }: Holder): Promise<string> {
  const rows = [...(await listOwned(db, ofUser(user_id))), ...(await listOwned(db, ofTeam({ id: team_id })))];
  return [...new Set(rows.map(({ name }) => name))].join(", ") || "there are none yet";
}

/**
 * Returns an error text if an earlier credential set defines one of the variables of this set. Otherwise adds the
 * variables to `sources`, each with the name of this set, and returns undefined.
 */
function clashOf(sources: Map<string, string>, row: CredentialsRow): string | undefined {
  const { name } = row;
  const variables = namesOf(row).all;
  const shared = variables.find((variable) => sources.has(variable));
  if (shared !== undefined)
    return `Both ${sources.get(shared)} and ${name} have ${shared}: name only one of the two, or remove the variable from one.`;
  for (const variable of variables) sources.set(variable, name);
  return undefined;
}

/**
 * Thrown if credentials of a job were deleted or cannot be decrypted, or if two sets define the same variable. The
 * message is for the job's owner.
 */
export class CredentialsUnavailable extends Error {}

/** The variables of all credentials of a job. */
export interface Gathered {
  readonly variables: Readonly<Record<string, string>>;
  /** Values to mask in the job's log: all except those that are marked as plain. */
  readonly secrets: readonly string[];
  /** Whether some of the credentials belong to the user, not to the team. */
  readonly personal: boolean;
}

/**
 * Returns the decrypted variables of all these credentials. Called when the job begins, so that the job gets the
 * current values. The sets may have changed since the job was created, so this checks again that no two sets define the
 * same variable.
 */
export async function gatherCredentials(
  db: Db,
  keys: KeyRing,
  holder: Holder,
  names: readonly string[],
): Promise<Gathered> {
  const variables: Record<string, string> = {};
  const secrets: string[] = [];
  const sources = new Map<string, string>();
  let personal = false;
  for (const name of new Set(names)) {
    const row = await findFor(db, holder, name);
    if (!row)
      throw new CredentialsUnavailable(
        `The credentials ${name} were deleted before the job began. Create them again, then run the job again.`,
      );
    const clash = clashOf(sources, row);
    if (clash) throw new CredentialsUnavailable(`Two of the job's credential sets define the same variable. ${clash}`);
    const values = open(keys, row);
    const { plain } = namesOf(row);
    Object.assign(variables, values);
    for (const [variable, value] of Object.entries(values)) if (!plain.includes(variable)) secrets.push(value);
    personal ||= row.user_id !== null;
  }
  return { variables, secrets, personal };
}

function open(keys: KeyRing, row: CredentialsRow): Readonly<Record<string, string>> {
  try {
    return valuesOf(keys, row);
  } catch {
    throw new CredentialsUnavailable(`The credentials ${row.name} cannot be decrypted. Set their values again.`);
  }
}
