/** Why a job failed: the message, the traceback, the way to the line in the log, and what changed since the last success. */
import { type Job, type LogHits, routes } from "@millrace/contract";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { clientOf } from "../api/client.ts";
import { Button } from "../look/button.tsx";
import { Problem } from "../look/states.tsx";
import { Time } from "../look/time.tsx";
import "./job.css";
import { jobPath } from "../paths/job-paths.ts";
import { changesInWords } from "./changes.ts";
import { FailureText } from "./failure-text.tsx";
import { useLastSuccess } from "./use-last-success.ts";

export function ErrorPanel({ job }: { job: Job }) {
  const [, go] = useLocation();
  const [problem, setProblem] = useState<unknown>();
  if (job.error_message === null && job.error_stack === null) return null;
  const jump = async () => {
    try {
      const line = await lineOf(job);
      if (line === undefined) setProblem(new Error("The log has no line that looks like this error."));
      else go(`${jobPath(job.team, job.id)}?line=${line}`);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <section className="error-panel stack tight" aria-label="Why it failed">
      <div className="row wrap apart">
        <h2>Why it failed</h2>
        <Button icon="right" onClick={() => void jump()}>
          Show in the log
        </Button>
      </div>
      <FailureText message={job.error_message} stack={job.error_stack} />
      <SinceLastSuccess job={job} />
      <Problem error={problem} />
    </section>
  );
}

/** What changed since the last success, in one line. Shows nothing if there was none. */
function SinceLastSuccess({ job }: { job: Job }) {
  const before = useLastSuccess(job);
  if (!before) return null;
  const words = changesInWords(before, job);
  return (
    <p className="small">
      {words === "" ? "Script and settings are the same as in the " : "Changed since the "}
      <Link href={`${jobPath(job.team, job.id)}?tab=runs`}>last success</Link>, <Time at={before.created_at} />
      {words === "" ? "." : `: ${words}.`}
    </p>
  );
}

/** Finds the last line of the traceback in the log; otherwise the last line that looks like an error. */
async function lineOf(job: Job): Promise<number | undefined> {
  const text = job.error_stack
    ?.split("\n")
    .map((line) => line.trim())
    .findLast((line) => line !== "")
    ?.slice(0, 200);
  const found = text ? await lastHit(job, { kind: "literal", text }) : undefined;
  return found ?? lastHit(job, { kind: "errors" });
}

async function lastHit(
  { team, id }: Job,
  what: { readonly kind: "literal"; readonly text: string } | { readonly kind: "errors" },
): Promise<number | undefined> {
  let last: number | undefined;
  for (let first_line: number | null = 1; first_line !== null; ) {
    const query = { ...what, first_line, limit: 1000 };
    const page: LogHits = await clientOf(team).call(routes.searchLog, { params: { job_id: id }, query });
    last = page.hits.at(-1)?.line ?? last;
    first_line = page.next;
  }
  return last;
}
