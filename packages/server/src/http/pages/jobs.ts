/** The start page and the page of a job, until there is a web UI. */
import { ApiError, isSettled, type Job } from "@millrace/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { runScript } from "../../datachain/client-commands.ts";
import { authorize, type Principal } from "../../domain/access/principals.ts";
import { getTeamJob, listTeamJobs } from "../../domain/jobs/jobs.ts";
import { openJobLog } from "../../job-logs/job-log.ts";
import { sendLog } from "../jobs/logs.ts";
import type { JobContext } from "../requests/context.ts";
import { type Html, html } from "./html.ts";
import { privatePage } from "./page-routes.ts";

const shownLog = 256 * 1024;
const access = { kind: "token", scope: "JOB:read", role: "viewer" } as const;

export function jobPages(app: FastifyInstance, context: JobContext): void {
  privatePage(app, context, { method: "GET", url: "/" }, async ({ principal }) => ({
    title: "Jobs",
    body: await jobsBody(context, principal),
    refresh: 5,
  }));

  privatePage(app, context, { method: "GET", url: "/team/:team/datasets/jobs/:id" }, async ({ request, principal }) => {
    const job = await jobOf(context, request, principal);
    const body = jobBody(job, await readLogEnd(context, job.id).catch(logGone));
    return { title: job.name ?? job.id, body, refresh: isSettled(job.status) ? undefined : 2 };
  });

  privatePage(
    app,
    context,
    { method: "GET", url: "/team/:team/datasets/jobs/:id/log" },
    async ({ request, reply, principal }) => {
      const job = await jobOf(context, request, principal);
      const { log } = await openJobLog(context, job.id);
      const size = await log.size();
      if (size > 64 * 1024 * 1024) {
        await log.close();
        throw new ApiError(
          "too_large",
          `The log has ${size} bytes and is too large for a page. Read it with \`millrace job logs ${job.id}\`.`,
        );
      }
      return sendLog(request, reply, log);
    },
  );
}

function jobOf(context: JobContext, request: FastifyRequest, principal: Principal): Promise<Job> {
  const { team, id } = request.params as { team: string; id: string };
  if (!/^[0-9a-f-]{36}$/i.test(id)) throw new ApiError("not_found", "There is no job with this id.");
  return getTeamJob(context, authorize(principal, access, team), id.toLowerCase());
}

async function jobsBody(context: JobContext, principal: Principal): Promise<Html> {
  const sections = await Promise.all(
    principal.teams.map(async (team) => {
      const { jobs: texts } = await listTeamJobs(context, team, { limit: 50 });
      const jobs = texts.map((text) => JSON.parse(text) as Job);
      return html`<h2>Team ${team.name}</h2>${jobs.length === 0 ? emptyTeam : jobTable(jobs)}`;
    }),
  );
  return html`<h1>Jobs</h1>${sections.length === 0 ? noTeam : sections}<p class="soft"><a href="/api/docs">API reference</a></p>`;
}

const noTeam = html`<p>You are not a member of any team yet. An admin of a team can add you, or send you an invitation.</p>`;

const emptyTeam = html`<p>No jobs yet. Run one:</p><pre>echo 'print("hello")' > hello.py
${runScript("hello.py")}</pre>`;

const jobTable = (jobs: Job[]) => html`<div class="scroll"><table>
<thead><tr><th>Status</th><th>Name</th><th>Created</th><th>By</th><th>Took</th></tr></thead>
<tbody>${jobs.map(
  (job) =>
    html`<tr><td>${chip(job)}</td><td><a href="${pathOf(job)}">${job.name ?? job.id}</a></td><td>${when(job.created_at)}</td><td>${job.created_by}</td><td>${took(job)}</td></tr>`,
)}</tbody></table></div>`;

const chip = (job: Job) => html`<span class="chip ${job.status}">${job.status}</span>`;
const pathOf = (job: Job) => `/team/${encodeURIComponent(job.team)}/datasets/jobs/${job.id}`;
const when = (time: string | null) => (time === null ? "" : `${time.slice(0, 19).replace("T", " ")} UTC`);

function took({ started_at, finished_at }: Pick<Job, "started_at" | "finished_at">): string {
  if (!started_at || !finished_at) return "";
  return `${((Date.parse(finished_at) - Date.parse(started_at)) / 1000).toFixed(1)} s`;
}

function jobBody(job: Job, log: { text: string; skipped: number }): Html {
  return html`<h1>${job.name ?? "Job"} ${chip(job)}</h1>
<dl>
<dt>Id</dt><dd><code>${job.id}</code></dd>
<dt>Team</dt><dd>${job.team}, by ${job.created_by}</dd>
<dt>Created</dt><dd>${when(job.created_at)}</dd>
${job.started_at && html`<dt>Started</dt><dd>${when(job.started_at)}</dd>`}
${job.finished_at && html`<dt>Finished</dt><dd>${when(job.finished_at)} (${took(job)})</dd>`}
${job.next_run && html`<dt>Next run</dt><dd>${when(job.next_run)}</dd>`}
<dt>Cluster</dt><dd>${job.compute_cluster_name}, ${job.workers} slot(s), priority ${job.priority}</dd>
${job.exit_code !== null && html`<dt>Exit code</dt><dd>${job.exit_code}</dd>`}
</dl>
${job.error_message && html`<h2>Error</h2><p class="bad">${job.error_message}</p>`}
${job.error_stack && html`<pre>${job.error_stack}</pre>`}
<h2>Log</h2>
${log.skipped > 0 && html`<p class="soft">The last ${shownLog / 1024} KiB; <a href="${pathOf(job)}/log">the whole log</a></p>`}
${log.text === "" ? html`<p class="soft">Nothing written yet.</p>` : html`<pre>${log.text}</pre>`}
${job.script && html`<p class="soft">Script: ${job.script} in ${job.repository}</p>`}
<details><summary>Query${job.cut?.includes("query") && " (only its beginning: the rest was deleted after the retention period)"}</summary><pre>${job.query}</pre></details>`;
}

/**
 * If the log was deleted after its retention period, returns the error message as text to show instead. Rethrows other
 * errors.
 */
function logGone(error: unknown): { text: string; skipped: number } {
  if (!(error instanceof ApiError)) throw error;
  return { text: error.message, skipped: 0 };
}

async function readLogEnd(context: JobContext, id: string): Promise<{ text: string; skipped: number }> {
  const { log } = await openJobLog(context, id);
  try {
    const size = await log.size();
    const skipped = Math.max(0, size - shownLog);
    return { text: (await log.read(skipped, shownLog)).toString("utf8"), skipped };
  } finally {
    await log.close();
  }
}
