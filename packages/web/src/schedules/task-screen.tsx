/** The page of a task: when it creates jobs, which it has created, its times. */
import { routes, type Task } from "@millrace/contract";
import { useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { useAction, useApi, useApiPages } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { JobTable } from "../jobs/job-table.tsx";
import { Button } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Icon } from "../look/icon.tsx";
import { More } from "../look/more.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty, NotRead, Read } from "../look/states.tsx";
import { jobPath } from "../paths/job-paths.ts";
import "./firing-calendar.css";
import { schedulesPath } from "../paths/schedule-paths.ts";
import { copyTask } from "./copy-schedule.ts";
import { NextRuns } from "./next-runs.tsx";
import { PauseTask } from "./pause-task.tsx";
import { RunTask } from "./run-task.tsx";
import "./schedules.css";
import { TakeOverTask } from "./take-over.tsx";
import { TaskHealth } from "./task-list.tsx";
import { TaskSettings } from "./task-settings.tsx";
import { When } from "./when.tsx";

export default function TaskScreen() {
  const { id = "" } = useParams();
  const team = useTeam();
  const found = useApi(routes.getTask, { params: { job_id: id }, query: {} });
  // The page of another task must not stay while this one is read.
  if (found.data?.id === id) return <TaskPage task={found.data} />;
  return (
    <Screen title="Task">
      <NotRead from={found} list={{ href: schedulesPath(team, "tasks"), title: "All tasks" }} />
    </Screen>
  );
}

function TaskPage({ task }: { task: Task }) {
  const [edits, setEdits] = useState(false);
  const refusal = useRefusal("editor");
  return (
    <Screen
      title={task.name ?? "Task"}
      beside={<TaskHealth task={task} />}
      actions={
        <>
          <RunTask task={task} isMain={!edits} />
          <PauseTask task={task} />
          <Button icon="edit" refusal={refusal} onClick={() => setEdits(true)}>
            Edit
          </Button>
          <TakeOverTask task={task} />
          <CancelTask task={task} />
          <CopyAs actions={copyTask(task)} />
        </>
      }
    >
      {task.last_error !== null && (
        <p className="notice failing row">
          <Icon name="warning" />
          <span>The task was due, but created no job: {task.last_error}</span>
        </p>
      )}
      {edits && <TaskSettings task={task} onClose={() => setEdits(false)} />}
      <div className="two-columns">
        <section className="card stack tight">
          <h2>{edits ? "Next runs as saved" : "Next runs"}</h2>
          <NextRuns runs={task.next_runs} timezone={task.timezone} />
        </section>
        <section className="card stack tight">
          <h2>About</h2>
          <Facts task={task} />
        </section>
      </div>
      <h2>Jobs that it created</h2>
      <TaskJobs id={task.id} />
    </Screen>
  );
}

function Facts({ task }: { task: Task }) {
  const team = useTeam();
  return (
    <dl className="facts">
      <dt>When</dt>
      <dd>
        <When times={task} />
        {task.cron_expression !== null && <span className="mono soft"> {task.cron_expression}</span>}
      </dd>
      <dt>Jobs</dt>
      <dd>
        {task.fired} created, {task.skipped} skipped
      </dd>
      <dt>Owner</dt>
      <dd>{task.owner}</dd>
      <dt>Repeats</dt>
      <dd>
        <Link href={jobPath(team, task.id)}>The job with its script and settings</Link>
      </dd>
    </dl>
  );
}

function TaskJobs({ id }: { id: string }) {
  const jobs = useApiPages(routes.listJobs, { query: { parent_job_id: id, limit: 20 } }, (list) => list);
  return (
    <Read from={jobs}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items);
        if (items.length === 0)
          return (
            <Empty title="No jobs yet">
              <p>The first job appears here when the task is due.</p>
            </Empty>
          );
        return (
          <>
            <JobTable jobs={items} label="Jobs that the task created" />
            <More of={jobs}>Show older jobs</More>
          </>
        );
      }}
    </Read>
  );
}

function CancelTask({ task }: { task: Task }) {
  const [asks, setAsks] = useState(false);
  const refusal = useRefusal("editor");
  const team = useTeam();
  const [, go] = useLocation();
  const cancel = useAction(routes.cancelJob, () => go(schedulesPath(team, "tasks")));
  return (
    <>
      <Button kind="danger" icon="stop" refusal={refusal} onClick={() => setAsks(true)}>
        Cancel task
      </Button>
      {asks && (
        <AskFirst
          title={`Cancel ${task.name ?? "the task"}?`}
          action="Cancel the task"
          busy={cancel.isPending}
          error={cancel.error}
          onConfirm={() => cancel.mutate({ params: { job_id: task.id }, body: {} })}
          onClose={() => setAsks(false)}
        >
          <p>The task creates no more jobs. Jobs that it has created continue. This cannot be undone.</p>
        </AskFirst>
      )}
    </>
  );
}
