/**
 * As whom the runs of a pipeline and the jobs of a task run, where that is not who made the original. Kept as JSON in
 * `run_as`; empty: nobody else.
 */
import { allScopes, permits, type Scope } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import type { ShortJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { readSpec } from "./job-documents.ts";

export interface RunAs {
  /** All of them run as this user. */
  readonly all?: number;
  /** Of whoever took them over: what the originals may do beyond that they may no longer. */
  readonly scopes?: readonly Scope[];
  /** Otherwise, by who made the original: that user's successor. */
  readonly of?: Readonly<Record<string, number>>;
}

export interface HandedOver {
  readonly run_as: string;
}

export const readRunAs = ({ run_as }: HandedOver): RunAs => (run_as === "" ? {} : (JSON.parse(run_as) as RunAs));

/** As whom a job of this user runs. */
export const runsAs = ({ all, of = {} }: RunAs, userId: number): number => all ?? of[userId] ?? userId;

/** Everything that ran as one user runs as another. */
export function succeed({ all, scopes, of = {} }: RunAs, from: number, to: number): RunAs {
  if (all !== undefined) return all === from ? { all: to } : { all, ...(scopes ? { scopes } : {}) };
  const moved = Object.entries(of).map(([maker, user]) => [maker, user === from ? to : user] as const);
  return { of: { [from]: to, ...Object.fromEntries(moved) } };
}

/** An original as it is repeated: whose it is, what it may do, and in whose namespace its short names stay. */
export async function inNameOf(db: Db, handedOver: HandedOver, job: ShortJob): Promise<ShortJob> {
  const runAs = readRunAs(handedOver);
  const user_id = runsAs(runAs, job.user_id);
  const scopes = JSON.stringify(within(JSON.parse(job.scopes) as Scope[], runAs.scopes));
  if (user_id === job.user_id) return { ...job, scopes };
  const spec = readSpec(job);
  const home = spec.home ?? (await usernameOf(db, job.user_id));
  return { ...job, user_id, scopes, spec: JSON.stringify({ ...spec, home }) };
}

const within = (own: readonly Scope[], limit: readonly Scope[] | undefined) =>
  limit === undefined ? own : allScopes.filter((scope) => permits(own, scope) && permits(limit, scope));

export async function allInNameOf(db: Db, handedOver: HandedOver, jobs: readonly ShortJob[]): Promise<ShortJob[]> {
  if (handedOver.run_as === "") return [...jobs];
  const changed: ShortJob[] = [];
  for (const job of jobs) changed.push(await inNameOf(db, handedOver, job));
  return changed;
}
