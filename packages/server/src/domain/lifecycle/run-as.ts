/**
 * Decides which user's rights the runs of a pipeline, or the jobs of a task, have after a handover to another user.
 * Each run or job repeats an earlier job, here called its original. The column `run_as` stores a `RunAs` as JSON. If
 * the column is empty, each run or job has the rights of the user who created its original.
 */
import { allScopes, permits, type Scope } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import type { ShortJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { readSpec } from "./job-documents.ts";

export interface RunAs {
  /** Id of the user whose rights all jobs have. If `all` is undefined, see `of`. */
  readonly all?: number;
  /**
   * Scopes of the token with which the new owner took over. The jobs get no other scopes. If `scopes` is undefined, the
   * jobs keep the scopes of the jobs that they repeat.
   */
  readonly scopes?: readonly Scope[];
  /**
   * Used if `all` is undefined. The key is the id of a user who created jobs. The value is the id of the user whose
   * rights repetitions of these jobs have. If a user has no entry, repetitions have the rights of that user.
   */
  readonly of?: Readonly<Record<string, number>>;
}

/** A pipeline or a task, which may have been handed over to another user. */
export interface HandedOver {
  readonly run_as: string;
}

export const readRunAs = ({ run_as }: HandedOver): RunAs => (run_as === "" ? {} : (JSON.parse(run_as) as RunAs));

/** Returns the id of the user whose rights repetitions of a job have. `userId` is the user who created the job. */
export const runsAs = ({ all, of = {} }: RunAs, userId: number): number => all ?? of[userId] ?? userId;

/** Returns the ids of the users whose jobs are repeated with the rights of `userId`, if `all` is undefined. */
export const makersWho = ({ of = {} }: RunAs, userId: number): number[] => [
  ...(runsAs({ of }, userId) === userId ? [userId] : []),
  ...Object.entries(of).flatMap(([maker, user]) =>
    user === userId && Number(maker) !== userId ? [Number(maker)] : [],
  ),
];

/**
 * Returns a new `RunAs` in which the user `to` replaces the user `from`. Jobs that run as other users do not change.
 */
export function succeed({ all, scopes, of = {} }: RunAs, from: number, to: number): RunAs {
  if (all !== undefined) return all === from ? { all: to } : { all, ...(scopes ? { scopes } : {}) };
  const moved = Object.entries(of).map(([maker, user]) => [maker, user === from ? to : user] as const);
  return { of: { [from]: to, ...Object.fromEntries(moved) } };
}

/**
 * Returns a copy of the job, with the user and the scopes with which it is repeated after a handover. If the user
 * changes, short dataset names in the script still refer to the namespace of the user who created the job (`home`).
 */
export const inNameOf = (db: Db, handedOver: HandedOver, job: ShortJob): Promise<ShortJob> =>
  renamer(db, handedOver)(job);

function renamer(db: Db, handedOver: HandedOver): (job: ShortJob) => Promise<ShortJob> {
  const runAs = readRunAs(handedOver);
  const names = new Map<number, string>();
  const nameOf = async (id: number) => {
    const name = names.get(id) ?? (await usernameOf(db, id));
    names.set(id, name);
    return name;
  };
  return async (job) => {
    const user_id = runsAs(runAs, job.user_id);
    const scopes = JSON.stringify(within(JSON.parse(job.scopes) as Scope[], runAs.scopes));
    if (user_id === job.user_id) return { ...job, scopes };
    const spec = readSpec(job);
    const home = spec.home ?? (await nameOf(job.user_id));
    return { ...job, user_id, scopes, spec: JSON.stringify({ ...spec, home }) };
  };
}

const within = (own: readonly Scope[], limit: readonly Scope[] | undefined) =>
  limit === undefined ? own : allScopes.filter((scope) => permits(own, scope) && permits(limit, scope));

/** Jobs that are changed before other work gets the event loop. */
const atOnce = 100;

export async function allInNameOf(db: Db, handedOver: HandedOver, jobs: readonly ShortJob[]): Promise<ShortJob[]> {
  if (handedOver.run_as === "") return [...jobs];
  const inName = renamer(db, handedOver);
  const changed: ShortJob[] = [];
  const change = async (part: readonly ShortJob[]) => {
    for (const job of part) changed.push(await inName(job));
  };
  await eachPart(jobs, change, atOnce);
  return changed;
}
