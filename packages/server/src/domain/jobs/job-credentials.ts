/** The credentials that a job names, and the variables that it gets of them when it begins. */
import { invalid, type JobInput } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import {
  type CredentialsRow,
  defaultCredentialsOf,
  findOwned,
  listOwned,
} from "../../store/queries/jobs/credentials.ts";
import type { JobSpecFields } from "../lifecycle/job-documents.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { namesOf, ofTeam, ofUser, valuesOf } from "./credentials.ts";

/** For whom credentials are looked up: the user's own set wins over the team's of the same name. */
export interface Holder {
  readonly team_id: number;
  readonly user_id: number;
}

const findFor = async (db: Db, holder: Holder, name: string) =>
  (await findOwned(db, ofUser(holder.user_id), name)) ?? (await findOwned(db, ofTeam({ id: holder.team_id }), name));

type CredentialsFields = Pick<JobSpecFields, "credentials_name" | "credentials_names">;

/** How a job carries the names of its sets: the first alone where that is all, as clients know it. */
const credentialsFields = (names: readonly string[]): CredentialsFields => ({
  credentials_name: names[0] ?? null,
  ...(names.length > 1 ? { credentials_names: [...names] } : {}),
});

/** The sets that a new job carries: those asked for, or the team's default; an empty name or list is none. */
export async function resolveCredentials(db: Db, holder: Holder, input: JobInput): Promise<CredentialsFields> {
  const { credentials_name: name, credentials_names: names } = input;
  if (name != null && names != null) throw invalid("credentials_names", "not together with credentials_name", names);
  if (names != null) return credentialsFields(await requireCredentials(db, holder, names, "credentials_names"));
  if (name === "") return credentialsFields([]);
  // The client takes one name only. Names have no commas, so that one text can hold several.
  if (name != null) return credentialsFields(await requireCredentials(db, holder, name.split(","), "credentials_name"));
  const usual = await defaultCredentialsOf(db, holder.team_id);
  return credentialsFields(usual === undefined ? [] : [usual]);
}

/** Each must be there, and no two may have a variable in common. Returns each name once. */
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
    if (!row) throw invalid(field, `credentials of this team or of your own (${await known(db, holder)})`, name);
    const clash = clashOf(sources, row);
    if (clash) throw invalid(field, `sets without a variable in common. ${clash}`);
  }
  return names;
}

async function known(db: Db, { team_id, user_id }: Holder): Promise<string> {
  const rows = [...(await listOwned(db, ofUser(user_id))), ...(await listOwned(db, ofTeam({ id: team_id })))];
  return [...new Set(rows.map(({ name }) => name))].join(", ") || "none so far";
}

/** Notes which set brings each variable. Returns what is wrong where another set brought one of them before. */
function clashOf(sources: Map<string, string>, row: CredentialsRow): string | undefined {
  const { name } = row;
  const variables = namesOf(row).all;
  const shared = variables.find((variable) => sources.has(variable));
  if (shared !== undefined)
    return `Both ${sources.get(shared)} and ${name} have ${shared}: name one of the two, or take the variable out of one.`;
  for (const variable of variables) sources.set(variable, name);
  return undefined;
}

/** A set that a job names is gone, cannot be read, or clashes with another: its message is for the job's owner. */
export class CredentialsUnavailable extends Error {}

/** What a job gets of its credentials. */
export interface Gathered {
  readonly variables: Readonly<Record<string, string>>;
  /** Values that the job's log must not show: all but those marked as not secret. */
  readonly secrets: readonly string[];
  /** Whether a set of the user's own is among them. */
  readonly personal: boolean;
}

/** The variables of all these sets. Read when a job begins, so that new values are used; so clashes are sought again. */
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
      throw new CredentialsUnavailable(`The credentials ${name} are gone: they were deleted before the job began.`);
    const clash = clashOf(sources, row);
    if (clash) throw new CredentialsUnavailable(`The job's credentials clash. ${clash}`);
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
