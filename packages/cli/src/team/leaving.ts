/**
 * Shows the work that runs with a user's rights, before the user is disabled or leaves a team, and what will happen to
 * this work.
 */
import type { Work } from "@millrace/contract";
import { CliError } from "../errors.ts";
import type { Output } from "../output.ts";

export interface LeavingFlags {
  readonly "transfer-to": string | undefined;
  readonly "dry-run": boolean;
  readonly yes: boolean;
}

/**
 * Returns the part of the request that names the new owner. `force` is set, because the user of this command has
 * already seen which credentials the new owner lacks.
 */
export const transferOf = ({ "transfer-to": to }: LeavingFlags) =>
  to === undefined ? {} : { transfer_to: to, force: true };

/**
 * Shows the work that will stop or change owner, and asks for confirmation if there is any. Returns false for a dry
 * run, otherwise true. Throws if the user does not confirm.
 */
export async function agreeToLeave(
  username: string,
  work: Work,
  flags: LeavingFlags,
  output: Output,
): Promise<boolean> {
  const to = flags["transfer-to"];
  if (work.transfer_refused !== null) throw new CliError(work.transfer_refused);
  const said = [...whatRuns(username, work), ...whatBecomes(work, to)].join("\n");
  if (flags["dry-run"]) {
    output.print(said === "" ? `Nothing runs as ${username}` : said);
    return false;
  }
  const changes = work.tasks.length + work.pipelines.length + stoppable(work).length > 0;
  if (flags.yes || !changes) {
    if (said !== "") output.note(said);
    return true;
  }
  const { askToProceed } = await import("../prompt.ts");
  await askToProceed(said, { hasDryRun: true });
  return true;
}

const stoppable = ({ schedules }: Work) => schedules.filter(({ runs }) => runs > 0);
const count = (runs: number) => (runs === 1 ? "one run" : `${runs} runs`);

/** Returns a line for each schedule, task, pipeline, job and token of this user. */
function whatRuns(username: string, work: Work): string[] {
  const lines = [
    ...work.schedules.map(({ team, name, next_run, runs }) => {
      const what = runs === 0 ? "owned, but runs as others" : `${count(runs)} as ${username}`;
      return `  schedule ${name} (team ${team}, ${next_run ? `next ${next_run}` : "at no set time"}): ${what}`;
    }),
    ...work.tasks.map(
      ({ team, id, name, cron_expression, next_run }) =>
        `  task ${name ?? id} (team ${team}, ${cron_expression ?? "once"}, ${next_run ? `next ${next_run}` : "paused"})`,
    ),
    ...work.pipelines.map(
      ({ team, name, status, runs }) => `  pipeline ${name} (team ${team}, ${status}): ${count(runs)} not started`,
    ),
    ...work.jobs.map(({ team, id, name, status }) => `  job ${name ?? id} (team ${team}, ${status}): continues`),
    ...work.tokens.map(({ id, name, last_used_at }) => `  token ${id} '${name}', last used ${last_used_at ?? "never"}`),
  ];
  return lines.length === 0 ? [] : [`Running as ${username}:`, ...lines];
}

function whatBecomes(work: Work, to: string | undefined): string[] {
  const sets = work.credentials.map(({ name, team, replaced_by: then }) => {
    const whose = { own: `${to}'s own will be used`, team: "the team's will be used", missing: `${to} has none` };
    const after =
      then === null ? "" : `: ${whose[then]}${then === "missing" ? ", so runs that name them will fail" : ""}`;
    return `Own credentials ${name} (team ${team})${after}.`;
  });
  const changes = work.tasks.length + work.pipelines.length + work.schedules.length;
  if (changes === 0) return sets;
  if (to !== undefined) return [...sets, `These schedules, tasks and pipelines will belong to ${to}.`];
  const stops = work.tasks.length + work.pipelines.length + stoppable(work).length > 0;
  return stops
    ? [
        ...sets,
        "These schedules, tasks and pipelines will stop, and each will show the reason. To transfer them: --transfer-to USER.",
      ]
    : sets;
}
