/**
 * Every read of the store has a bound, because a statement on SQLite holds up the whole server, and one on PostgreSQL
 * takes one of a few connections. A read without a limit in its statement has an entry here with the reason why its
 * number of rows is bounded nevertheless.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

const queries = join(import.meta.dirname, "../../src/store/queries");

/** Declarations whose reads have no limit in the statement, by the reason why the number of rows is bounded. */
const bounded: Readonly<Record<string, readonly string[]>> = {
  "one row: the columns are a unique key": [
    "datasets/dataset-versions.ts byUuid",
    "datasets/datasets.ts byName",
    "jobs/attempts.ts ownerOfOpen",
    "jobs/attempts.ts sumOfSlots",
    "jobs/job-lists.ts userNamed",
    "people/team-usage.ts ofTeam",
    "pipelines/pipelines.ts byName",
    "pipelines/pipelines.ts edgeCounts",
    "schedules/tasks.ts held",
    "schedules/tasks.ts next",
  ],
  "a lock, which reads no row of a table": ["jobs/attempts.ts lockClaims"],
  "the beginning of queries: each use adds a limit, takes one row, or selects rows by their ids": [
    "datasets/dataset-versions.ts shownVersions",
    "datasets/datasets.ts placed",
    "jobs/job-lists.ts matching",
    "jobs/job-lists.ts shownJobs",
    "jobs/job-moves.ts freeJobs",
    "jobs/queue.ts free",
    "people/audit.ts shown",
    "people/invitations.ts open",
    "people/tokens.ts working",
    "pipelines/pipeline-lists.ts shown",
    "schedules/tasks.ts shown",
  ],
  "ids of the caller, of which one statement gets a part: a page of a list, or `parts` and `eachPart`": [
    "datasets/dataset-versions.ts schemasOf",
    "datasets/dataset-versions.ts textsOf",
    "datasets/lineage.ts lineageVersions",
    "datasets/live-versions.ts query",
    "jobs/file-waits.ts notRunningYet",
    "jobs/job-texts.ts refsOf",
    "jobs/jobs.ts bytesBefore",
    "jobs/jobs.ts getShortJobs",
    "jobs/jobs.ts teamsOfJobs",
    "jobs/old-texts.ts neededAgain",
    "jobs/queue.ts holdQueued",
    "jobs/texts.ts holdTexts",
    "jobs/texts.ts removeUnused",
    "people/teams.ts namesOfTeams",
    "people/users.ts lockUsers",
    "people/users.ts standingsIn",
    "people/users.ts usersByIds",
    "people/work.ts namesInJobs",
    "pipelines/pipeline-sources.ts makersOf",
    "pipelines/pipeline-sources.ts newestOf",
    "pipelines/pipelines.ts lockPipelines",
    "pipelines/pipelines.ts lockPipelinesOf",
    "schedules/firings.ts newestFirings",
    "schedules/schedule-notices.ts triggersOfPart",
    "schedules/schedule-scripts.ts namesOfDatasets",
    "schedules/schedule-scripts.ts originsOf",
  ],
  "limit of files of a job (docs/limits.md)": ["jobs/files.ts filesByIds"],
  "limit of retries of a job (docs/limits.md)": ["jobs/ended-attempts.ts endedAttempts"],
  "connections limit how many jobs are followed": ["jobs/jobs.ts getJobStates"],
  "limit of runs and dependencies of a pipeline (docs/limits.md, `mostNeeds`)": [
    "people/work.ts draftsOf",
    "people/work.ts repeatedBy",
    "pipelines/pipelines.ts allEdges",
    "pipelines/pipelines.ts allRuns",
    "pipelines/pipelines.ts deleteRun",
    "pipelines/pipelines.ts runsWithJob",
  ],
  "runs of a few pipelines, each with a limit, and a pause before the next few": [
    "people/work.ts makersOfRuns",
    "schedules/schedule-scripts.ts runsOfTemplates",
  ],
  "versions of a few jobs, each with a limit (docs/limits.md), and a pause before the next few": [
    "schedules/schedule-notices.ts datasetsMadeBy",
  ],
  "limit of moments of a backfill, and of running backfills of a team (docs/limits.md)": [
    "schedules/backfills.ts counted",
    "schedules/backfills.ts moments",
    "schedules/backfills.ts running",
    "schedules/backfills.ts runningBackfillsOf",
  ],
  "quota of schedules of a team (max_schedules)": [
    "schedules/schedule-notices.ts schedulesFiredBy",
    "schedules/schedule-notices.ts triggeredSchedules",
  ],
  "limit of webhooks and e-mail addresses of a team (`webhookLimits`)": [
    "events/deliveries.ts receiversOf",
    "events/receivers.ts enabledReceivers",
    "events/receivers.ts listReceivers",
    "events/receivers.ts receiverCounts",
  ],
  "pages of limited size, one for each receiver and status": ["events/deliveries.ts newestIds"],
  "limit of sets of credentials of a team or a user (docs/limits.md)": ["jobs/credentials.ts ownedBy"],
  "limit of members of a team (docs/limits.md)": ["people/memberships.ts members"],
  "an export is used again while it is kept, for some hours": ["datasets/exports.ts markExportsRemovedOf"],
  "slots limit the open attempts, and operators set the slots": [
    "jobs/attempts.ts allAttempts",
    "jobs/attempts.ts countsByTeam",
    "jobs/attempts.ts foreignAttempts",
    "jobs/attempts.ts open",
    "jobs/attempts.ts slotsByTeam",
    "jobs/attempts.ts teamsOnCluster",
  ],
  "only administrators create clusters, and set the teams that use them": [
    "jobs/clusters.ts active",
    "jobs/clusters.ts allClusters",
    "jobs/clusters.ts clusterTeams",
    "jobs/clusters.ts forTeam",
    "jobs/clusters.ts teamDefaults",
    "jobs/clusters.ts teamsOfCluster",
  ],
  "only administrators create teams: a row for each team": [
    "datasets/exports.ts teamsWithOpenExports",
    "datasets/warehouses.ts allWarehouses",
    "datasets/warehouses.ts paused",
    "datasets/warehouses.ts warehousesToCopy",
    "datasets/warehouses.ts warehousesToTidy",
    "events/deliveries.ts teamsWithDueDeliveries",
    "events/outbox.ts filled",
    "jobs/queue.ts headOfQueueWithout",
    "jobs/queue.ts waitingByTeam",
    "people/memberships.ts teamsOf",
    "people/memberships.ts teamsOfUsers",
    "people/team-usage.ts allUsage",
    "people/teams.ts allQuotas",
    "people/teams.ts listTeams",
    "people/teams.ts teamNames",
    "people/teams.ts withQuota",
    "people/tokens.ts live",
    "schedules/schedules.ts teamsWithDue",
    "schedules/tasks.ts teamsWithDue",
  ],
  "users who signed in with one browser: each needs a password": ["people/browsers.ts usersOfBrowser"],
  "a command of the operator, while no server uses the store": ["jobs/queue.ts allWaiting"],
};

/** A declaration at the top level of a file: a function, or a constant with a query. */
interface Declaration {
  readonly name: string;
  readonly text: string;
}

const beginning = /^(?:export )?(?:async )?(?:const|function\*?) (\w+)/;

/** Returns the declarations of a file as `folder/file.ts name`, without comments. */
function declarationsOf(file: string, source: string): Declaration[] {
  const found: { name: string; text: string }[] = [];
  for (const line of source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "").split("\n")) {
    const name = beginning.exec(line)?.[1];
    if (name) found.push({ name: `${file} ${name}`, text: "" });
    const last = found.at(-1);
    if (last) last.text += `${line}\n`;
  }
  return found;
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

/** Counts the reads that begin here. A subquery belongs to the statement around it. */
const readsIn = (text: string) =>
  count(text, /\bdb\s*\.selectFrom\(/g) + count(text, /\bsql(?:<[^`]*>)?`\s*(?:with\b[^`]*?\)\s*)?select\b/g);

/** Counts what bounds a read: a limit, one row, or the primary key, which counts only where no row is taken. */
function boundsIn(text: string): number {
  const table = /\.selectFrom\("(\w+)"/.exec(text)?.[1] ?? "";
  const byKey = new RegExp(`\\.where\\("(?:${table}\\.)?id", "=",`, "g");
  const limits = count(text, /\.limit\(|\blimit (?:\$\{|\d)|\.executeTakeFirst/g);
  return limits + (text.includes("executeTakeFirst") ? 0 : count(text, byKey));
}

async function unlimited(): Promise<string[]> {
  const files = (await readdir(queries, { recursive: true })).filter((file) => file.endsWith(".ts")).sort();
  const sources = await Promise.all(
    files.map(async (file) => declarationsOf(file, await readFile(join(queries, file), "utf8"))),
  );
  return sources.flat().flatMap(({ name, text }) => (readsIn(text) > boundsIn(text) ? [name] : []));
}

describe("a read of the store", async () => {
  const found = await unlimited();
  const listed = Object.values(bounded).flat();

  it("has a limit in its statement, or a reason why it reads few rows", () => {
    assert.deepEqual(
      found.filter((name) => !listed.includes(name)),
      [],
      "add a limit, pages or stretches with pauses, and an entry with the reason",
    );
  });

  it("is listed once, and no longer than it needs to be", () => {
    assert.deepEqual(
      listed.filter((name, index) => !found.includes(name) || listed.indexOf(name) !== index),
      [],
    );
  });

  it("that has no limit is recognised", () => {
    const text = 'export const allJobs = (db: Db) => db.selectFrom("jobs").selectAll().execute();';
    const two = `${text.slice(0, -1)};\ndb.selectFrom("teams").select("id").limit(1);`;
    for (const [source, reads, bounds] of [
      [text, 1, 0],
      [two, 2, 1],
      [text.replace(".execute", ".limit(1).execute"), 1, 1],
      [text.replace(".execute", '.where("id", "=", id).execute'), 1, 1],
      [text.replace(".execute", '.where("team_id", "=", id).execute'), 1, 0],
      ["const q = sql`select id from jobs`", 1, 0],
    ] as const)
      assert.deepEqual([readsIn(source), boundsIn(source)], [reads, bounds], source);
  });
});
